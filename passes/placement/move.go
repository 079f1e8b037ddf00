package placement

import "slices"

// Move is what it would mean to put a node on another target, with the leaves that it reads
// settled anew and all else as it is. A node that writes a leaf takes those along that write
// and read it.
type Move struct {
	Target  int
	Nodes   int     // that move
	Seconds float64 // more than now, as if nothing overlapped: of one step of the node's; of several nodes, of all steps, weighted
	Copies  int     // more in that step
	Bytes   float64 // more copied in it
	Over    int64   // bytes for which there is no room; 0 if the move can be made
}

// Mover says what moves from one assignment would mean, if all had room.
type Mover struct {
	d descent
	p *Problem // with its limits

	moves []Move // that were returned last
	node  []int32
}

// NewMover returns the mover of an assignment of a problem.
func NewMover(p *Problem, labels []int32) *Mover {
	free := *p
	free.Limits = slices.Repeat([]int64{-1}, len(p.Limits))
	free.Room, free.CopyRoom = free.Limits, free.Limits
	g := newGraph(&free)
	return &Mover{d: descent{state: newState(g, labels), groups: newGrouper(g)}, p: p}
}

// Mover is NewMover for the problem.
func (prep *Prepared) Mover(labels []int32) *Mover {
	g := prep.g
	if most(g.Limits) >= 0 || !g.roomy || g.Stay {
		return NewMover(g.Problem, labels)
	}
	return &Mover{d: descent{state: newState(g, labels), groups: newGrouper(g)}, p: g.Problem}
}

// Moves returns the moves of a node to the targets that run it, and that are promising where
// there are many: those of its neighbours, and the fastest. The list holds until the next call.
func (m *Mover) Moves(node int) []Move {
	x := int32(node)
	moves := m.moves[:0]
	m.node = append(m.node[:0], x)
	for _, t := range m.d.promising(x) {
		if t == m.d.labels[x] {
			continue
		}
		if m.d.g.Nodes[x].Writes >= 0 {
			moves = append(moves, m.move(m.d.groups.around(x), t))
		} else {
			moves = append(moves, m.move(group{nodes: m.node}, t))
		}
	}
	m.moves = moves
	return moves
}

// LeafMoves returns the moves of a leaf, with all that reads it, to other spaces. The list holds until
// the next call.
func (m *Mover) LeafMoves(leaf int) []Move {
	x := int32(len(m.d.g.Nodes) + leaf)
	users := m.d.g.usersOf(x)
	if len(users) == 0 || len(users) > maxGroup || len(m.d.g.labelsOf(x)) < 2 {
		return nil
	}
	gr := m.d.groups.around(users...)
	moves := m.moves[:0]
	for _, t := range m.d.promising(users[0]) {
		if home := int32(m.d.g.Targets[t].Home); home != m.d.labels[x] && m.d.g.mayBe(x, home) {
			moves = append(moves, m.move(gr, t))
		}
	}
	m.moves = moves
	return moves
}

// move tries a move and takes it back.
func (m *Mover) move(gr group, t int32) Move {
	s := m.d.state
	x := gr.nodes[0]
	cost, mark := s.cost, s.mark()
	copies, bytes := s.copiesAround(x)
	if len(gr.nodes) == 1 {
		m.d.moveAll(t, x)
	} else {
		s.move(gr, t)
	}
	more := Move{Target: int(t), Nodes: len(gr.nodes), Seconds: s.cost - cost, Over: m.over(x, t)}
	if weight := s.g.Steps[s.g.Nodes[x].Step].Weight; weight > 0 && len(gr.nodes) == 1 {
		more.Seconds /= weight
	}
	after, moved := s.copiesAround(x)
	more.Copies, more.Bytes = after-copies, moved-bytes
	s.undo(mark)
	s.cost = cost
	return more
}

// over returns the bytes of leaves beyond the limits, those of leaves that are copied for x beside
// them, and those of what x reads and makes beyond the room for one value.
func (m *Mover) over(x, t int32) int64 {
	var sum int64
	for space, used := range m.d.used {
		if limit := m.p.Limits[space]; limit >= 0 {
			sum += max(0, used-limit)
		}
	}
	home := m.d.g.Targets[t].Home
	count := func(v int32) {
		room := m.p.Room[home]
		if int(m.d.g.spaceOf(m.d.labels, v)) != home {
			room = m.p.CopyRoom[home]
		}
		if room >= 0 && m.d.g.isIn(m.d.labels, v, home) {
			sum += max(0, int64(m.d.g.Values[v].Bytes)-room)
		}
	}
	for _, v := range m.d.g.Nodes[x].Reads {
		count(v)
		if limit := m.p.Limits[home]; limit >= 0 && m.d.g.leafOf(v) >= 0 && m.d.g.isCopied(m.d.labels, v, home) {
			sum += max(0, m.d.used[home]+int64(m.d.g.Values[v].Bytes)-limit)
		}
	}
	for _, v := range m.d.g.owned.at(x) {
		count(v)
	}
	return sum
}

// isIn reports whether v, or a copy of it, has to be in a space for what reads it there.
func (g *graph) isIn(labels []int32, v int32, space int) bool {
	if int(g.spaceOf(labels, v)) == space {
		return g.leafOf(v) < 0 // leaves have limits of their own
	}
	return g.isCopied(labels, v, space)
}

// isCopied reports whether v lies elsewhere and has to be copied for what reads it in a space.
func (g *graph) isCopied(labels []int32, v int32, space int) bool {
	from := g.spaceOf(labels, v)
	return int(from) != space && slices.ContainsFunc(g.readers.at(v), func(n int32) bool {
		return g.Targets[labels[n]].Home == space && !g.reaches(labels[n], from)
	})
}

// copiesAround counts the copies, and their bytes, of what a node reads and makes, in its
// step.
func (s *state) copiesAround(x int32) (copies int, bytes float64) {
	count := func(v int32) {
		n := s.copiesOf(v)
		copies += n
		bytes += float64(n) * s.g.Values[v].Bytes
	}
	for _, v := range s.g.Nodes[x].Reads {
		count(v)
	}
	for _, v := range s.g.owned.at(x) {
		count(v)
	}
	return copies, bytes
}

// copiesOf returns into how many spaces v is copied.
func (s *state) copiesOf(v int32) int {
	from := s.g.spaceOf(s.labels, v)
	s.stamp++
	n := 0
	add := func(t int32) {
		to := s.g.homes[t]
		if !s.g.reaches(t, from) && s.seen[to] != s.stamp {
			s.seen[to] = s.stamp
			n++
		}
	}
	crowd := s.g.facts[v].crowd
	if crowd < 0 {
		for _, r := range s.g.readers.at(v) {
			add(s.labels[r])
		}
		return n
	}
	for t, readers := range s.crowds[crowd] {
		if readers > 0 {
			add(int32(t))
		}
	}
	return n
}
