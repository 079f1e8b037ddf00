package placement

import "slices"

// maxExact is how many variables with a choice a problem has at most that is searched
// completely, and exactWork how many nodes the clock may walk over for that.
const (
	maxExact  = 18
	exactWork = 4_000_000
)

// exact is a search of all assignments, depth first in the order of the nodes, that leaves
// out what cannot be better than the best so far.
type exact struct {
	g      *graph
	clock  *clock
	order  []int32
	labels []int32
	best   []int32
	time   float64   // of best
	used   []int64   // by space
	rest   []float64 // by position: least time of all steps that begin there or later
	tail   []float64 // by node: least time of what has to follow it in its step
	least  []float64 // by node: least time of the nodes behind it, where nothing overlaps
	work   int
}

// search returns the best assignment and its time, and whether it was proved to be that.
// It begins with an assignment that fits and its time.
func (g *graph) search(labels []int32, time float64) ([]int32, float64, bool) {
	choices := 0
	for x := range int32(g.variables()) {
		if len(g.labelsOf(x)) > 1 {
			choices++
		}
	}
	if choices > maxExact {
		return labels, time, false
	}
	e := &exact{
		g: g, clock: newClock(g), labels: slices.Clone(labels), best: slices.Clone(labels), time: time,
		used: make([]int64, g.spaces),
	}
	e.orderVariables()
	e.bounds()
	e.visit(0, 0)
	return e.best, e.time, e.work < exactWork
}

// orderVariables puts each leaf before the first node that reads it.
func (e *exact) orderVariables() {
	placed := make([]bool, e.g.variables())
	for i := range e.g.Nodes {
		for _, v := range e.g.Nodes[i].Reads {
			if x := e.g.leafOf(v); x >= 0 && !placed[x] {
				placed[x] = true
				e.order = append(e.order, x)
			}
		}
		e.order = append(e.order, int32(i))
	}
	for i := range e.g.Leaves {
		x := int32(len(e.g.Nodes) + i)
		if !placed[x] {
			e.use(x, e.labels[x], 1) // nobody reads it: it stays
		}
	}
}

func (e *exact) use(x, space int32, sign int64) { e.used[space] += sign * e.g.leaf(x).Bytes }

func (e *exact) bounds() {
	e.tail, e.least = e.g.tails()
	e.rest = make([]float64, len(e.g.Steps)+1)
	for i := len(e.g.Steps) - 1; i >= 0; i-- {
		s := &e.g.Steps[i]
		e.rest[i] = e.rest[i+1] + s.Weight*e.g.leastStep(s, e.tail, e.least)
	}
}

// visit decides the variable at position k. before is the weighted time of the steps that
// are complete.
func (e *exact) visit(k int, before float64) {
	if k == len(e.order) {
		if e.fits() && shorter(before, e.time) {
			e.time = before
			copy(e.best, e.labels)
		}
		return
	}
	x := e.order[k]
	for _, label := range e.g.labelsOf(x) {
		if e.work >= exactWork {
			return
		}
		e.labels[x] = label
		if e.g.isLeaf(x) {
			e.use(x, label, 1)
			if e.fits() {
				e.visit(k+1, before)
			}
			e.use(x, label, -1)
			continue
		}
		if e.legal(x) {
			e.node(k, x, before)
		}
	}
}

func (e *exact) fits() bool {
	for space, n := range e.used {
		if e.g.excess(int32(space), n) > 0 {
			return false
		}
	}
	return true
}

// legal reports whether node x addresses what it writes, and there is room for what it
// makes.
func (e *exact) legal(x int32) bool {
	v := e.g.Nodes[x].Writes
	return e.g.misfits(x, e.labels[x]) == 0 && (v < 0 || e.g.reaches(e.labels[x], e.g.spaceOf(e.labels, v)))
}

func (e *exact) node(k int, x int32, before float64) {
	i := e.g.Nodes[x].Step
	s := &e.g.Steps[i]
	e.work += int(x) + 1 - s.First
	now := e.clock.part(e.labels, s.First, int(x)+1)
	if int(x)+1 == s.End {
		if before += s.Weight * now; before+e.rest[i+1] < e.time {
			e.visit(k+1, before)
		}
		return
	}
	if before+s.Weight*e.least1(s, x, now)+e.rest[i+1] < e.time {
		e.visit(k+1, before)
	}
}

// least1 returns the least time of a step whose nodes up to x are decided and take until
// now.
func (e *exact) least1(s *Step, x int32, now float64) float64 {
	if e.g.sync {
		return now + e.least[x]
	}
	for n := s.First; n <= int(x); n++ {
		now = max(now, e.clock.done[n]+e.tail[n])
	}
	return now
}
