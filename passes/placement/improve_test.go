package placement

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// TestDescentsCountInTurn compares descents that go on side by side with the same, one after the
// other, of problems in which a single move may take more work than all that is allowed.
func TestDescentsCountInTurn(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 11))
		g := newGraph(random(r, world{nodes: 80, leaves: 1 + int(seed%20), targets: 3, shared: true, queues: seed%2 == 0, steps: 2}))
		bases := make([][]int32, fewImproved)
		for i := range bases {
			for x := range int32(g.variables()) {
				bases[i] = append(bases[i], g.labelsOf(x)[r.IntN(len(g.labelsOf(x)))])
			}
		}
		work := 10 << (seed % 12)
		s, want := ready(g, bases, work), ready(g, bases, work)
		s.descents(slices.Clone(s.found))
		want.oneByOne(slices.Clone(want.found))
		if s.done != want.done || !slices.EqualFunc(s.found, want.found, func(a, b found) bool { return a.time == b.time && slices.Equal(a.labels, b.labels) }) {
			t.Errorf("seed %d: %v s after %d changes, one by one %v s after %d", seed, s.found[0].time, s.done, want.found[0].time, want.done)
		}
	}
}

// ready returns a solver that knows some assignments.
func ready(g *graph, bases [][]int32, work int) *solver {
	s := &solver{ctx: context.Background(), g: g, clock: newClock(g), work: work}
	s.begin(bases, nil)
	slices.SortStableFunc(s.found, compare)
	return s
}

// oneByOne is what descents does.
func (s *solver) oneByOne(bases []found) {
	for _, f := range bases {
		if s.proved(s.found[0]) || s.work-s.done < 2 {
			return
		}
		d := newDescent(newState(s.g, f.labels), newGrouper(s.g), (s.work-s.done)/2, func() bool { return false })
		d.descend()
		s.done += d.work
		s.add(d.labels)
		slices.SortStableFunc(s.found, compare)
	}
}
