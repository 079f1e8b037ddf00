package placement

import "slices"

// state is an assignment with its cost, which set keeps up to date.
//
// The cost is the weighted sum of the times of all nodes and copies, as if nothing overlapped. A change of one label
// changes a few terms of this sum: the time of the node, and the copies of the values that it reads and makes.
// The clock never predicts a longer time than the cost, and predicts the same where no target has a queue.
//
// Example: node 0 makes value a, which nodes 1 and 2 read. All run on target 0. A copy of a to target 1 takes 2 s.
//
//	set(1, 1)    one copy of a for node 1:    cost + 2 s + the difference in the time of node 1
//	set(2, 1)    node 2 reads the same copy:  cost + the difference in the time of node 2
//	set(0, 1)    a is made where it is read:  cost - 2 s + the difference in the time of node 0
type state struct {
	g      *graph
	labels []int32
	cost   float64
	used   []int64 // by space: bytes of leaves
	over   int64   // bytes of leaves beyond the limits, in all spaces together
	work   int     // number of labels that were changed, undone changes included
	log    []change
	counts [][]int32 // by value with many readers, by target: how many of its readers run there; nil for other values
}

// change records a call of set: the variable and the label that it had before.
type change struct{ x, label int32 }

// manyReaders is the number of readers above which state counts the readers of a value by target. The cost of such
// a value then takes time in proportion to the number of targets instead of readers.
const manyReaders = 8

// newState returns the state of a copy of an assignment.
func newState(g *graph, labels []int32) *state {
	s := &state{g: g, labels: slices.Clone(labels), used: g.used(labels), counts: make([][]int32, len(g.Values))}
	for v, readers := range g.readers {
		if len(readers) <= manyReaders {
			continue
		}
		s.counts[v] = make([]int32, len(g.Targets))
		for _, n := range readers {
			s.counts[v][labels[n]]++
		}
	}
	s.recount()
	return s
}

// recount computes cost and over from the labels, without the rounding errors of earlier changes.
func (s *state) recount() {
	s.cost, s.over = 0, 0
	for i, t := range s.labels[:len(s.g.Nodes)] {
		s.cost += s.nodeCost(int32(i), t)
	}
	for v := range s.g.Values {
		s.cost += s.valueCost(int32(v))
	}
	for i := range s.used {
		s.over += s.g.excess(int32(i), s.used[i])
	}
}

// nodeCost returns the cost of node n on target t, without copies.
func (s *state) nodeCost(n, t int32) float64 { return s.g.seconds(n, t) + s.g.misfits(n, t) }

// valueCost returns the weighted time of all copies of value v, and broken for each node that changes v without
// addressing it.
func (s *state) valueCost(v int32) float64 {
	from := s.g.spaceOf(s.labels, v)
	var buffer [manyReaders]int32
	var sum float64
	for _, to := range s.appendCopies(buffer[:0], v) {
		sum += s.g.copySeconds(v, from, to)
	}
	sum *= s.g.weightOf(v)
	for _, n := range s.g.writers[v] {
		if !s.g.reaches(s.labels[n], from) {
			sum += broken
		}
	}
	return sum
}

// appendCopies appends to list the spaces into which value v is copied, each once: the homes of those targets that read
// v and do not address its space.
func (s *state) appendCopies(list []int32, v int32) []int32 {
	from := s.g.spaceOf(s.labels, v)
	if counts := s.counts[v]; counts != nil {
		for t, n := range counts {
			if n > 0 {
				list = s.appendCopy(list, from, int32(t))
			}
		}
		return list
	}
	for _, n := range s.g.readers[v] {
		list = s.appendCopy(list, from, s.labels[n])
	}
	return list
}

// appendCopy appends the space of the copy that a reader on target t needs of a value in space from, unless it needs
// none or list has it.
func (s *state) appendCopy(list []int32, from, t int32) []int32 {
	if s.g.reaches(t, from) || slices.Contains(list, s.g.home(t)) {
		return list
	}
	return append(list, s.g.home(t))
}

// copiesCost returns the cost of the copies that depend on the label of x: those of what x reads and of what it owns.
func (s *state) copiesCost(x int32) float64 {
	var sum float64
	if !s.g.isLeaf(x) {
		for _, v := range s.g.Nodes[x].Reads {
			sum += s.valueCost(v)
		}
	}
	for _, v := range s.g.owned[x] {
		sum += s.valueCost(v)
	}
	return sum
}

// set gives variable x another label.
func (s *state) set(x, label int32) {
	before := s.labels[x]
	if before == label {
		return
	}
	s.work++
	s.log = append(s.log, change{x, before})
	s.cost -= s.copiesCost(x)
	if !s.g.isLeaf(x) {
		s.cost += s.g.seconds(x, label) - s.g.seconds(x, before) + s.g.misfits(x, label) - s.g.misfits(x, before)
	}
	s.relabel(x, label)
	s.cost += s.copiesCost(x)
}

// relabel changes the label of x and all fields that follow from labels, except the cost.
func (s *state) relabel(x, label int32) {
	before := s.labels[x]
	s.labels[x] = label
	if s.g.isLeaf(x) {
		bytes := s.g.leaf(x).Bytes
		s.use(before, -bytes)
		s.use(label, bytes)
		return
	}
	for _, v := range s.g.Nodes[x].Reads {
		if counts := s.counts[v]; counts != nil {
			counts[before]--
			counts[label]++
		}
	}
}

// use adds a number of bytes, negative to free them, to what leaves take in a space.
func (s *state) use(space int32, bytes int64) {
	s.over -= s.g.excess(space, s.used[space])
	s.used[space] += bytes
	s.over += s.g.excess(space, s.used[space])
}

// isOver reports whether the space that stores leaf x holds more than its limit.
func (s *state) isOver(x int32) bool {
	space := s.labels[x]
	return s.g.excess(space, s.used[space]) > 0
}

// point is a point in the history of a state.
type point struct {
	changes int
	cost    float64
}

// mark returns the present point, for undo.
func (s *state) mark() point { return point{len(s.log), s.cost} }

// undo undoes all changes since a point. It restores the cost exactly, without rounding errors.
func (s *state) undo(to point) {
	for _, c := range slices.Backward(s.log[to.changes:]) {
		s.work++
		s.relabel(c.x, c.label)
	}
	s.log = s.log[:to.changes]
	s.cost = to.cost
}

// try makes a change and undoes it unless it makes the state better. It reports whether the change was kept.
func (s *state) try(change func()) bool {
	cost, over, mark := s.cost, s.over, s.mark()
	change()
	if s.better(cost, over) {
		return true
	}
	s.undo(mark)
	return false
}

// better reports whether the state is better than one with this cost and excess. Less excess comes first.
func (s *state) better(cost float64, over int64) bool {
	if s.over != over {
		return s.over < over
	}
	return shorter(s.cost, cost)
}

// rounding is the relative difference of two times below which they are considered equal.
const rounding = 1e-9

// shorter reports whether time a is less than time b by more than rounding errors.
func shorter(a, b float64) bool { return a < b*(1-rounding) }
