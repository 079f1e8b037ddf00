package roll

import (
	"cmp"
	"slices"
)

// manyStarts is the number of starts that are tried in a run. Each may cost a walk over the whole run.
const manyStarts = 64

// starts returns positions in a run at which the first group may start. All positions of the first period are possible,
// as only the distance of equal nodes is known. If there are very many, those with the most groups are returned, and of
// these the ones where the fewest bytes go from a group to the next one: that is what the border of a layer looks like.
//
// For example, the run of the kinds 0 1 0 1 0 with period 2 has the starts 0, with the groups 0 1 and 0 1, and 1, with
// the groups 1 0 and 1 0.
func (s *sequence) starts(r run, period int) []int {
	var list []int
	for start := r.from; start < r.from+period && start+2*period <= r.to; start++ {
		list = append(list, start)
	}
	if len(list) <= manyStarts {
		return list
	}
	crossing := s.crossing(r.from+period, r.from+2*period) // by the first node of a group, one period later
	slices.SortFunc(list, func(a, b int) int {
		return cmp.Or((r.to-b)/period-(r.to-a)/period, cmp.Compare(crossing[a-r.from], crossing[b-r.from]), a-b)
	})
	list = list[:manyStarts]
	slices.Sort(list)
	return list
}

// crossing returns for each position in [from, to) the bytes of the values that are made before it and read there or
// later. It looks at the nodes from one length of the range before it to one length after it.
func (s *sequence) crossing(from, to int) []int64 {
	end := to + (to - from)
	bytes := make([]int64, to-from+1) // changes from one position to the next
	for i := max(from-(to-from), 0); i < to; i++ {
		for _, v := range s.nodes[i].Results {
			last := i // reader in the range
			for _, at := range s.readers[v.ID] {
				if int(at) < end {
					last = max(last, int(at))
				}
			}
			if lo, hi := max(i+1, from), min(last, to-1); lo <= hi {
				bytes[lo-from] += v.MaxBytes()
				bytes[hi+1-from] -= v.MaxBytes()
			}
		}
	}
	for i := 1; i < len(bytes); i++ {
		bytes[i] += bytes[i-1]
	}
	return bytes
}
