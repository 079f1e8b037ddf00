package placement

import "slices"

const (
	maxExact  = 18        // variables with several labels in a problem that is searched completely
	exactWork = 4_000_000 // nodes that the clock may walk over for that
)

// exact is a search of all assignments, depth first, that prunes partial assignments which cannot become better than
// the best so far.
//
// It decides variables in the order of the nodes, each leaf before the first node that reads it. A partial assignment
// then has a time: that of the nodes that are decided. What is left of the step takes at least the longest chain
// of nodes that follow, and the later steps take at least their bounds.
//
// Example: nodes 0, 1 and 2 form a chain. The least times of 1 and 2 are 2 s and 3 s. The best assignment so far takes
// 8 s.
//
//	node 0 on the GPU: done at 1 s, 1 + 2 + 3 < 8, so visit node 1
//	    node 1 on the GPU: done at 3 s, 3 + 3 < 8, so visit node 2
//	    node 1 on the CPU: done at 6 s, 6 + 3 > 8, so prune
//	node 0 on the CPU: done at 4 s, 4 + 2 + 3 > 8, so prune
type exact struct {
	g     *graph
	clock *clock
	order []int32 // of variables
	least leastTimes

	labels []int32 // of the visited assignment; valid for the variables that are decided
	used   []int64 // by space: bytes of leaves that are decided
	work   int     // nodes that the clock has walked over

	best     []int32
	bestTime float64
}

// leastTimes are lower bounds of what is still to be decided.
type leastTimes struct {
	chain []float64 // by node: see followers
	all   []float64 // by node: see followers
	steps []float64 // by step: weighted time of this step and all later ones
}

// searchAll returns the best assignment and its time, and whether it is proved to be the best. It starts from an
// assignment and its time, Never if the assignment is not valid. It returns these for a problem that is too large.
func (g *graph) searchAll(labels []int32, time float64) (best []int32, bestTime float64, proved bool) {
	choices := 0
	for _, allowed := range g.allowed {
		if len(allowed) > 1 {
			choices++
		}
	}
	if choices > maxExact {
		return labels, time, false
	}
	e := &exact{
		g: g, clock: newClock(g), least: g.leastTimes(),
		labels: slices.Clone(labels), used: make([]int64, g.spaces),
		best: slices.Clone(labels), bestTime: time,
	}
	e.orderVariables()
	e.visit(0, 0)
	return e.best, e.bestTime, e.work < exactWork
}

// orderVariables fills in order. A leaf that no node reads stays where it is.
func (e *exact) orderVariables() {
	placed := make([]bool, len(e.g.Leaves))
	for i := range e.g.Nodes {
		for _, v := range e.g.Nodes[i].Reads {
			if x := e.g.leafOf(v); x >= 0 && !placed[int(x)-len(e.g.Nodes)] {
				placed[int(x)-len(e.g.Nodes)] = true
				e.order = append(e.order, x)
			}
		}
		e.order = append(e.order, int32(i))
	}
	for i, done := range placed {
		if !done {
			e.used[e.labels[e.g.leafVariable(i)]] += e.g.Leaves[i].Bytes
		}
	}
}

func (g *graph) leastTimes() leastTimes {
	var l leastTimes
	l.chain, l.all = g.followers()
	l.steps = make([]float64, len(g.Steps)+1)
	for i := len(g.Steps) - 1; i >= 0; i-- {
		s := &g.Steps[i]
		l.steps[i] = l.steps[i+1] + s.Weight*g.stepBound(s, l.chain, l.all)
	}
	return l
}

// visit tries all labels of the variable at position k of the order. before is the weighted time of the steps that are
// decided completely.
func (e *exact) visit(k int, before float64) {
	if k == len(e.order) {
		if e.fits() && shorter(before, e.bestTime) {
			e.bestTime = before
			copy(e.best, e.labels)
		}
		return
	}
	x := e.order[k]
	for _, label := range e.g.allowed[x] {
		if e.work >= exactWork {
			return
		}
		e.labels[x] = label
		if e.g.isLeaf(x) {
			e.visitLeaf(k, x, before)
		} else if e.g.legalNode(e.labels, x) {
			e.visitNode(k, x, before)
		}
	}
}

// visitLeaf continues with the next variable if leaf x fits where it is.
func (e *exact) visitLeaf(k int, x int32, before float64) {
	space, bytes := e.labels[x], e.g.leaf(x).Bytes
	e.used[space] += bytes
	if e.fits() {
		e.visit(k+1, before)
	}
	e.used[space] -= bytes
}

// visitNode continues with the next variable if the assignment can become better than the best.
func (e *exact) visitNode(k int, x int32, before float64) {
	i := e.g.Nodes[x].Step
	s := &e.g.Steps[i]
	end := int(x) + 1
	e.work += end - s.First
	now := e.clock.walk(e.labels, s.First, end)
	if end < s.End {
		if least := before + s.Weight*e.leastStep(s, x, now); least+e.least.steps[i+1] < e.bestTime {
			e.visit(k+1, before)
		}
		return
	}
	if before += s.Weight * now; before+e.least.steps[i+1] < e.bestTime {
		e.visit(k+1, before)
	}
}

// leastStep returns a lower bound of the time of a step in which nodes up to x are decided and take the time now. If
// nothing overlaps, all other nodes follow one after the other.
func (e *exact) leastStep(s *Step, x int32, now float64) float64 {
	if e.g.serial {
		return now + e.least.all[x]
	}
	for n := s.First; n <= int(x); n++ {
		now = max(now, e.clock.done[n]+e.least.chain[n])
	}
	return now
}

func (e *exact) fits() bool {
	for space, n := range e.used {
		if e.g.excess(int32(space), n) > 0 {
			return false
		}
	}
	return true
}
