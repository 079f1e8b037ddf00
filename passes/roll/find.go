package roll

import (
	"cmp"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// maxPeriods is the number of periods that are tried.
const maxPeriods = 8

// findRepeat returns the repetition that saves most nodes; nil if there is none.
func findRepeat(f *ir.Func) *repetition {
	s := newSequence(f)
	var best *repetition
	for _, period := range s.periods() {
		for _, r := range s.runs(period) {
			for _, start := range s.starts(r, period) {
				if found := s.longest(start, period, (r.to-start)/period); found != nil && (best == nil || found.better(best)) {
					best = found
				}
			}
		}
	}
	return best
}

// maxBack is the number of nodes of a kind that are looked at before a node. A model may alternate between kinds of
// layers, of which nodes of one kind are part; then a group is several layers.
const maxBack = 8

// periods returns likely lengths of a group, the most likely first: the most frequent distances between a node and the
// last ones of its kind before it.
//
// For example, the distances for the kinds 0 1 0 2 0 1 0 2 are 2, 4 and 6 for the 0s, and 4 for the second 1 and the
// second 2. The periods are 4, which occurs 4 times, and 2, which occurs 3 times. (Groups of 2 then turn out to
// differ.)
func (s *sequence) periods() []int {
	before := make([][]int, len(s.kinds)) // by kind: the last nodes of it
	count := make([]int, len(s.kinds))    // by distance
	for i, kind := range s.kinds {
		for _, j := range before[kind] {
			count[i-j]++
		}
		before[kind] = append(before[kind], i)
		before[kind] = before[kind][max(0, len(before[kind])-maxBack):]
	}
	var list []int
	for distance, n := range count {
		// Of two groups, all nodes of the second one would count, except those with too many nodes of their kind in
		// between. These are assumed to be at most half.
		if n > 0 && 2*n >= distance {
			list = append(list, distance)
		}
	}
	slices.SortFunc(list, func(a, b int) int { return cmp.Or(count[b]-count[a], a-b) })
	return list[:min(len(list), maxPeriods)]
}

// run is a range of positions, without to.
type run struct{ from, to int }

// runs returns the longest ranges in which each node is of the kind of the node one period later, as far as that is in
// the range, and into which two groups fit.
//
// For example, the runs of the kinds 5 0 1 0 1 0 1 6 with period 2 are only [1, 7).
func (s *sequence) runs(period int) []run {
	var list []run
	from := 0
	for i := 0; i+period <= len(s.kinds); i++ {
		if i+period < len(s.kinds) && s.kinds[i] == s.kinds[i+period] {
			continue
		}
		if i-from >= period {
			list = append(list, run{from, i + period})
		}
		from = i + 1
	}
	return list
}
