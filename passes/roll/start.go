package roll

import (
	"cmp"
	"slices"
)

// manyStarts is how many beginnings of a group are tried, in runs that allow more: each
// costs a walk over the whole run.
const manyStarts = 64

// starts returns where the first group of a run may begin: anywhere within the first
// period, as the borders of groups are not known. Of very many the likeliest are returned:
// those with most groups, and of these with the fewest bytes that go from one group to the
// next.
func (s *sequence) starts(run [2]int, period int) []int {
	var list []int
	for start := run[0]; start < run[0]+period && start+2*period <= run[1]; start++ {
		list = append(list, start)
	}
	if len(list) <= manyStarts {
		return list
	}
	crossing := s.crossing(run[0]+period, run[0]+2*period)
	slices.SortFunc(list, func(a, b int) int {
		return cmp.Or((run[1]-b)/period-(run[1]-a)/period, cmp.Compare(crossing[a-run[0]], crossing[b-run[0]]), a-b)
	})
	list = list[:manyStarts]
	slices.Sort(list)
	return list
}

// crossing returns for each position in [from, to) the bytes of values that are made
// before it and read by it or behind it, among the nodes that far around it.
func (s *sequence) crossing(from, to int) []int64 {
	sum := make([]int64, to-from+1) // differences at first
	for i := max(2*from-to, 0); i < to; i++ {
		for _, v := range s.nodes[i].Results {
			last := i
			for _, at := range s.readersOf(v) {
				if int(at) < 2*to-from {
					last = max(last, int(at))
				}
			}
			if lo, hi := max(i+1, from), min(last, to-1); lo <= hi {
				sum[lo-from] += v.MaxBytes()
				sum[hi+1-from] -= v.MaxBytes()
			}
		}
	}
	for i := 1; i < len(sum); i++ {
		sum[i] += sum[i-1]
	}
	return sum
}
