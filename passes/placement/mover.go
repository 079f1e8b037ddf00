package placement

import "slices"

// Move is the effect of moving one node, or the nodes around one leaf, to another target. The leaves that they read
// move to the spaces where they cost least then. Everything else stays where it is.
type Move struct {
	Target  int
	Nodes   int     // number of nodes that move
	Seconds float64 // difference as if nothing overlapped: one step of a single node, all steps (weighted) of several
	Copies  int     // difference in the number of copies in that step
	Bytes   float64 // difference in the bytes that these copies move
	Over    int64   // bytes for which there is no room; 0 if the move can be made
}

// Mover computes the effects of moves from one assignment. It tries moves as if all memory had room, and reports
// separately how many bytes have none.
type Mover struct {
	state   *state   // of the problem without limits
	problem *Problem // with its limits
}

// NewMover returns the mover of an assignment of a problem.
func NewMover(p *Problem, labels []int32) *Mover {
	unlimited := *p
	unlimited.Limits = slices.Repeat([]int64{-1}, len(p.Limits))
	unlimited.Room, unlimited.CopyRoom = unlimited.Limits, unlimited.Limits
	return &Mover{newState(newGraph(&unlimited), labels), p}
}

// Moves returns the moves of a node to other targets that run it. Of many targets it returns the promising ones:
// those of the node's neighbours, and the fastest. A node that changes a leaf takes along the other nodes that use
// the leaf.
func (m *Mover) Moves(node int) []Move {
	x := int32(node)
	var moves []Move
	for _, t := range m.state.promising(x) {
		switch {
		case t == m.state.labels[x]:
		case m.state.g.Nodes[x].Writes >= 0:
			moves = append(moves, m.move(m.state.g.around(x), t))
		default:
			moves = append(moves, m.move(group{nodes: []int32{x}}, t))
		}
	}
	return moves
}

// LeafMoves returns the moves of a leaf, with all nodes that read it, to other spaces.
func (m *Mover) LeafMoves(leaf int) []Move {
	g := m.state.g
	x := g.leafVariable(leaf)
	users := g.usersOf(x)
	if len(users) == 0 || len(users) > maxGroup || len(g.allowed[x]) < 2 {
		return nil
	}
	gr := g.around(users...)
	var moves []Move
	for _, t := range m.state.promising(users[0]) {
		if home := g.home(t); home != m.state.labels[x] && g.allows(x, home) {
			moves = append(moves, m.move(gr, t))
		}
	}
	return moves
}

// move makes a move, notes its effect and undoes it.
func (m *Mover) move(gr group, t int32) Move {
	s := m.state
	x := gr.nodes[0]
	mark := s.mark()
	copies, bytes := s.copiesAround(x)
	if len(gr.nodes) == 1 {
		s.moveNodes(t, x)
	} else {
		s.moveGroup(gr, t)
	}
	effect := Move{Target: int(t), Nodes: len(gr.nodes), Seconds: s.cost - mark.cost, Over: m.over(x, t)}
	if weight := s.g.Steps[s.g.Nodes[x].Step].Weight; weight > 0 && len(gr.nodes) == 1 {
		effect.Seconds /= weight
	}
	copiesAfter, bytesAfter := s.copiesAround(x)
	effect.Copies, effect.Bytes = copiesAfter-copies, bytesAfter-bytes
	s.undo(mark)
	return effect
}

// over returns the bytes that have no room with node x on target t: the bytes of leaves beyond the limits, and the
// bytes of what x reads and makes beyond the room for one value.
func (m *Mover) over(x, t int32) int64 {
	g, home := m.state.g, m.state.g.home(t)
	var sum int64
	for space, used := range m.state.used {
		sum += beyond(used, m.problem.Limits[space])
	}
	for _, v := range g.Nodes[x].Reads {
		sum += m.valueOver(v, home)
		if g.leafOf(v) >= 0 && m.isCopied(v, home) {
			sum += beyond(m.state.used[home]+int64(g.Values[v].Bytes), m.problem.Limits[home])
		}
	}
	for _, v := range g.owned[x] {
		sum += m.valueOver(v, home)
	}
	return sum
}

// valueOver returns the bytes of value v beyond the room for one value in a space, if v or a copy of it is there.
// Leaves have limits of their own instead.
func (m *Mover) valueOver(v, space int32) int64 {
	bytes := int64(m.state.g.Values[v].Bytes)
	switch isThere := m.state.g.spaceOf(m.state.labels, v) == space; {
	case isThere && m.state.g.leafOf(v) < 0:
		return beyond(bytes, m.problem.Room[space])
	case !isThere && m.isCopied(v, space):
		return beyond(bytes, m.problem.CopyRoom[space])
	}
	return 0
}

// isCopied reports whether value v has to be copied into a space for a target that has this home.
func (m *Mover) isCopied(v, space int32) bool {
	g, labels := m.state.g, m.state.labels
	from := g.spaceOf(labels, v)
	return from != space && slices.ContainsFunc(g.readers[v], func(n int32) bool {
		return g.home(labels[n]) == space && !g.reaches(labels[n], from)
	})
}

// beyond returns by how much a number of bytes exceeds a limit, of which a negative one is none.
func beyond(bytes, limit int64) int64 {
	if limit < 0 {
		return 0
	}
	return max(0, bytes-limit)
}

// copiesAround returns the number of copies of what node x reads and makes, and their bytes.
func (s *state) copiesAround(x int32) (copies int, bytes float64) {
	for _, values := range [][]int32{s.g.Nodes[x].Reads, s.g.owned[x]} {
		for _, v := range values {
			n := len(s.appendCopies(nil, v))
			copies += n
			bytes += float64(n) * s.g.Values[v].Bytes
		}
	}
	return copies, bytes
}
