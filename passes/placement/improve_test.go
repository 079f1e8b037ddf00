package placement

import (
	"context"
	"math/rand/v2"
	"testing"
)

// randomSolutions returns a solver of a random problem, and judged random assignments.
func randomSolutions(seed uint64, n int) (s *solver, found []solution) {
	r := rand.New(rand.NewPCG(seed, 11))
	w := world{nodes: 80, leaves: 1 + int(seed%20), targets: 3, shared: true, queues: seed%2 == 0, steps: 2}
	g := newGraph(random(r, w))
	s = &solver{context.Background(), g, newClock(g)}
	for range n {
		var labels []int32
		for _, allowed := range g.allowed {
			labels = append(labels, allowed[r.IntN(len(allowed))])
		}
		found = append(found, s.judge(labels))
	}
	return s, found
}

// TestDescentsLeaveWorkForTheNext expects that a descent uses at most half of the work that is left, but for one move
// more, and that the result is not worse than what the descents started from.
func TestDescentsLeaveWorkForTheNext(t *testing.T) {
	const oneMove = 8 * maxGroup // labels that a move of a group changes at most, including changes that are undone
	for seed := range uint64(60) {
		s, found := randomSolutions(seed, fewImproved)
		limit := 10 << (seed % 12)
		first := found[0]
		for _, f := range found {
			first = better(first, f)
		}
		best, work := s.improve(found, 0, limit)
		if compare(best, first) > 0 {
			t.Errorf("seed %d: the best takes %v s and is %d bytes over, before %v s and %d",
				seed, best.time, best.over, first.time, first.over)
		}
		if work == 0 || work > limit-limit>>(fewImproved)+fewImproved*oneMove {
			t.Errorf("seed %d: %d labels were changed, and the limit is %d", seed, work, limit)
		}
		if _, again := s.g.descend(s.ctx, first.labels, limit/2); again > limit/2+oneMove {
			t.Errorf("seed %d: one descent changed %d labels, and the limit is %d", seed, again, limit/2)
		}
	}
}

// TestNoDescentAfterTheOptimum expects no work if a bound proves that the best is optimal, and if the context has
// ended.
func TestNoDescentAfterTheOptimum(t *testing.T) {
	s, found := randomSolutions(2, 4)
	best, _ := s.improve(found, 0, defaultWork)
	if _, work := s.improve(append(found, best), best.time, defaultWork); work != 0 {
		t.Errorf("%d labels were changed, and the best is optimal", work)
	}
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	s.ctx = ctx
	if _, work := s.improve(found, 0, defaultWork); work != 0 {
		t.Errorf("%d labels were changed, and the context has ended", work)
	}
}
