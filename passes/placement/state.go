package placement

import "slices"

// state is an assignment with its cost, kept up to date while labels change. The cost is
// the weighted sum of all nodes and copies, as if nothing overlapped: what the clock
// predicts is never more, and the same where no target has a queue.
type state struct {
	g      *graph
	labels []int32
	cost   float64
	used   []int64 // by space: bytes of leaves
	over   int64   // bytes beyond the limits, of all spaces together
	log    []change
	work   int // calls of set

	crowds [][]int32 // by index in graph.crowded: readers by target
	seen   []int     // by space: stamp of the last sum that counted it
	stamp  int

	version int    // of labels; undo goes back to that of its mark
	newest  int    // version that there was
	bonds   []bond // by node
}

// bond is what touched gave for a node, with labels of a version.
type bond struct {
	cost    float64
	version int
}

// change is what set did, to be undone.
type change struct{ x, label int32 }

func newState(g *graph, labels []int32) *state {
	s := &state{
		g:    g,
		used: make([]int64, g.spaces), seen: make([]int, g.spaces), crowds: make([][]int32, len(g.crowded)),
		bonds: make([]bond, len(g.Nodes)),
	}
	for i := range s.crowds {
		s.crowds[i] = make([]int32, len(g.Targets))
	}
	s.begin(labels)
	return s
}

// begin makes the state that of an assignment, of which nothing was tried. Who has the labels of
// the one before may keep them.
func (s *state) begin(labels []int32) {
	s.labels, s.log, s.work, s.version, s.newest = slices.Clone(labels), s.log[:0], 0, 1, 1
	clear(s.bonds)
	clear(s.used)
	for i, v := range s.g.crowded {
		clear(s.crowds[i])
		for _, n := range s.g.readers.at(v) {
			s.crowds[i][s.labels[n]]++
		}
	}
	for i := range s.g.Leaves {
		s.used[s.labels[len(s.g.Nodes)+i]] += s.g.Leaves[i].Bytes
	}
	s.recount()
}

// recount sums the cost up anew, without the rounding errors of many changes.
func (s *state) recount() {
	s.cost, s.over = 0, 0
	for i := range s.g.Nodes {
		s.cost += s.g.seconds(int32(i), s.labels[i]) + s.g.misfits(int32(i), s.labels[i])
	}
	for v := range s.g.Values {
		s.cost += s.valueCost(int32(v))
	}
	for i := range s.used {
		s.over += s.g.excess(int32(i), s.used[i])
	}
}

// excess returns by how much bytes are beyond the limit of a space.
func (g *graph) excess(space int32, bytes int64) int64 {
	if limit := g.Limits[space]; limit >= 0 {
		return max(0, bytes-limit)
	}
	return 0
}

// valueCost is the weighted time of the copies of v: one for each space from which a
// reader cannot reach it.
func (s *state) valueCost(v int32) float64 {
	val := &s.g.facts[v]
	from := s.g.lies(s.labels, val)
	reaches := s.g.reachers(from)
	s.stamp++
	var sum float64
	if val.crowd >= 0 {
		for t, n := range s.crowds[val.crowd] {
			if n > 0 && !reaches[t] {
				sum += s.newCopy(v, from, int32(t))
			}
		}
	} else {
		for _, n := range s.g.readers.items[val.first:val.end] {
			if t := s.labels[n]; !reaches[t] {
				sum += s.newCopy(v, from, t)
			}
		}
	}
	sum *= val.weight
	if val.written {
		for _, n := range s.g.writers.at(v) {
			if !reaches[s.labels[n]] {
				sum += broken
			}
		}
	}
	return sum
}

// newCopy is the time of the copy that a reader on t needs, once for each space.
func (s *state) newCopy(v, from, t int32) float64 {
	to := s.g.homes[t]
	if s.seen[to] == s.stamp {
		return 0
	}
	s.seen[to] = s.stamp
	return s.g.copySeconds(v, from, to)
}

// set gives variable x another label.
func (s *state) set(x, label int32) {
	if s.labels[x] != label {
		s.log = append(s.log, change{x, s.labels[x]})
		s.change(x, label)
	}
}

func (s *state) change(x, label int32) {
	s.work++
	s.cost -= s.bond(x)
	if before := s.labels[x]; !s.g.isLeaf(x) {
		s.cost += s.own(x, before, label)
	}
	s.relabel(x, label)
	s.newest++
	s.version = s.newest
	s.cost += s.touched(x)
}

// own is what node x costs more by itself with another label.
func (s *state) own(x, before, label int32) float64 {
	return s.g.seconds(x, label) - s.g.seconds(x, before) + s.g.misfits(x, label) - s.g.misfits(x, before)
}

// relabel gives x a label, and leaves the cost as it is.
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
		if crowd := s.g.facts[v].crowd; crowd >= 0 {
			s.crowds[crowd][before]--
			s.crowds[crowd][label]++
		}
	}
}

// touched is the cost of the copies that the label of x has to do with.
func (s *state) touched(x int32) float64 {
	var sum float64
	if !s.g.isLeaf(x) {
		for _, v := range s.g.Nodes[x].Reads {
			sum += s.valueCost(v)
		}
	}
	for _, v := range s.g.owned.at(x) {
		sum += s.valueCost(v)
	}
	return sum
}

// bond is touched, which is not summed again if it was kept.
func (s *state) bond(x int32) float64 {
	if !s.g.isLeaf(x) && s.bonds[x].version == s.version {
		return s.bonds[x].cost
	}
	return s.touched(x)
}

// keepBond is bond for a node that will be asked for again before labels change: several moves
// of it are tried, and taken back.
func (s *state) keepBond(x int32) float64 {
	b := &s.bonds[x]
	if b.version != s.version {
		b.cost, b.version = s.touched(x), s.version
	}
	return b.cost
}

func (s *state) use(space int32, bytes int64) {
	s.over -= s.g.excess(space, s.used[space])
	s.used[space] += bytes
	s.over += s.g.excess(space, s.used[space])
}

// point is a state to which undo goes back.
type point struct {
	changes, version int
	cost             float64
}

func (s *state) mark() point { return point{len(s.log), s.version, s.cost} }

// undo takes back what was changed since mark. What that costs is known: the copies around
// what changed are not summed again.
func (s *state) undo(to point) {
	for _, c := range slices.Backward(s.log[to.changes:]) {
		s.work++
		s.relabel(c.x, c.label)
	}
	s.log = s.log[:to.changes]
	s.cost, s.version = to.cost, to.version
}

// worth is the smallest gain, as a part of the cost, for which a move is kept: less may be
// a rounding error.
const worth = 1e-9

// better reports whether the assignment is better than one with that cost and excess.
func (s *state) better(cost float64, over int64) bool {
	if s.over != over {
		return s.over < over
	}
	return shorter(s.cost, cost)
}

// shorter reports whether a time is less than another one, by more than rounding.
func shorter(a, b float64) bool { return a < b*(1-worth) }
