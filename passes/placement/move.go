package placement

// Move is what it would mean to put a node on another target, with the leaves that it reads
// settled anew and all else as it is.
type Move struct {
	Target  int
	Seconds float64 // more than now, of one step of the node's, as if nothing overlapped
	Copies  int     // more in that step
	Bytes   float64 // more copied in it
	Over    int64   // bytes beyond limits
}

// Mover says what moves from one assignment would mean.
type Mover struct{ d descent }

// NewMover returns the mover of an assignment of a problem.
func NewMover(p *Problem, labels []int32) *Mover {
	g := newGraph(p)
	return &Mover{descent{newState(g, labels), newGrouper(g), 0}}
}

// Moves returns the moves of a node to the targets that run it, and that are promising where
// there are many: those of its neighbours, and the fastest.
func (m *Mover) Moves(node int) []Move {
	x := int32(node)
	var moves []Move
	for _, t := range m.d.promising(nil, x) {
		if t != m.d.labels[x] {
			moves = append(moves, m.move(x, t))
		}
	}
	return moves
}

func (m *Mover) move(x, t int32) Move {
	s := m.d.state
	weight := s.g.Steps[s.g.Nodes[x].Step].Weight
	cost, mark := s.cost, s.mark()
	copies, bytes := s.copiesAround(x)
	m.d.moveAll(t, x)
	more := Move{Target: int(t), Over: s.over}
	if weight > 0 {
		more.Seconds = (s.cost - cost) / weight
	}
	after, moved := s.copiesAround(x)
	more.Copies, more.Bytes = after-copies, moved-bytes
	s.undo(mark)
	s.cost = cost
	return more
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
		to := s.g.Targets[t].Home
		if !s.g.reaches(t, from) && s.seen[to] != s.stamp {
			s.seen[to] = s.stamp
			n++
		}
	}
	if s.tally[v] == nil {
		for _, r := range s.g.readers.at(v) {
			add(s.labels[r])
		}
		return n
	}
	for t, readers := range *s.tally[v] {
		if readers > 0 {
			add(int32(t))
		}
	}
	return n
}
