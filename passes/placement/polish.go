package placement

import "context"

// Limits of polish: the number of nodes that the clock may walk over, and the number of moves that have to be possible
// with that. For a larger problem, polish does nothing.
const (
	polishWork  = 3_000_000
	fewPolished = 100
)

// polisher improves an assignment by moves that the clock judges.
//
// The cost of a state is the sum of all times, so a descent does not see what overlaps.
//
// Example: two nodes that are independent of each other take 2 s each on a GPU with a queue and 3 s each on the CPU.
// By the sum, both on the GPU are best with 4 s. By the clock they take 4 s there, and 3 s if one of them runs on the
// CPU.
type polisher struct {
	ctx    context.Context
	clock  *clock
	state  *state
	time   float64 // of the state, by the clock
	walked int     // nodes that the clock has walked over
}

// polish improves an assignment by moves of single nodes, pairs and groups, as long as the clock predicts that one
// helps.
func (s *solver) polish(best solution) solution {
	if s.g.serial || best.over > 0 || polishWork/max(len(s.g.Nodes), 1) < fewPolished {
		return best
	}
	p := &polisher{ctx: s.ctx, clock: s.clock, state: newState(s.g, best.labels), time: best.time}
	for again := true; again && p.walked < polishWork; {
		again = p.tryAll()
	}
	return s.judge(p.state.labels)
}

// tryAll tries moves of all nodes, and reports whether one helped.
func (p *polisher) tryAll() bool {
	helped := false
	for i := range p.state.g.Nodes {
		x := int32(i)
		for _, t := range p.state.g.allowed[x] {
			helped = p.tryNode(x, t) || helped
		}
	}
	return helped
}

// tryNode tries moves of node x to target t: with the nodes that share its leaves, alone, and with each of the nodes
// that read its result. It reports whether one helped.
func (p *polisher) tryNode(x, t int32) bool {
	s := p.state
	helped := false
	if t != s.labels[x] {
		helped = p.try(func() { s.moveGroup(s.g.around(x), t) })
	}
	if t != s.labels[x] {
		helped = p.try(func() { s.set(x, t) }) || helped
	}
	for _, v := range s.g.owned[x] {
		for _, r := range s.g.readers[v] {
			if t != s.labels[x] || t != s.labels[r] {
				helped = p.try(func() { s.moveNodes(t, x, r) }) || helped
			}
		}
	}
	return helped
}

// try makes a change and undoes it unless the result is legal, fits and takes less time.
func (p *polisher) try(change func()) bool {
	if p.walked >= polishWork || p.ctx.Err() != nil {
		return false
	}
	p.walked += len(p.state.g.Nodes)
	mark := p.state.mark()
	change()
	if p.state.over == 0 && p.state.g.legal(p.state.labels) {
		if t := p.clock.total(p.state.labels); shorter(t, p.time) {
			p.time = t
			return true
		}
	}
	p.state.undo(mark)
	return false
}
