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

// periods returns likely lengths of a group, the most likely first: the most frequent distances between a node and the
// last one of its kind before it.
//
// For example, the distances for the kinds 0 1 0 2 0 1 0 2 are 2 for each 0 but the first, and 4 for the second 1 and
// the second 2. The periods are 2, which occurs 3 times, and 4, which occurs 2 times. (Groups of 2 then turn out to
// differ.)
func (s *sequence) periods() []int {
	last := make([]int, len(s.kinds))  // by kind: the number of nodes up to and with its last one; 0 for none
	count := make([]int, len(s.kinds)) // by distance
	for i, kind := range s.kinds {
		if last[kind] > 0 {
			count[i+1-last[kind]]++
		}
		last[kind] = i + 1
	}
	var list []int
	for distance, n := range count {
		// Of two groups, all nodes of the second one would count, except those with an equal node in their own group.
		// These are assumed to be at most half.
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
