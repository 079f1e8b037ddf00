package grammar

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// ErrTooComplex means that a text has more readings under the grammar than are followed.
var ErrTooComplex = fmt.Errorf("the grammar is too ambiguous: a text has more than %d readings: let alternatives begin with "+
	"different texts, use smaller numbers of repetitions, or fewer members of an object that may be absent", maxThreads)

// Limits of the machine. All but the first three bound what is remembered: beyond them it starts anew with the present
// state.
const (
	maxThreads = 1 << 12
	maxReturns = 1 << 12 // from rules, before a byte
	maxSeen    = 1 << 16 // threads before they read a byte
	maxStates  = 1 << 13
	maxStacks  = 1 << 18
	maxMasks   = 1 << 10
)

// thread is one reading of the text so far: the instruction that reads the next byte or token, with its stack. at is accept,
// with an empty stack, if the text is complete.
type thread struct{ at, stack int32 }

const accept int32 = -1

// emptyStack is the number of the stack without entries.
const emptyStack int32 = 0

// frame is the top of a stack.
type frame struct {
	back  int32 // the instruction to return to
	below int32 // the stack below
}

// stateID numbers a set of threads. dead is the empty set.
type stateID int32

const dead stateID = 0

// state is a set of threads in order.
type state struct {
	threads []thread
	next    *[256]stateID // unknown if not computed; nil before the first one
	mask    []uint64      // the tokens that are allowed; nil if not computed
}

const unknown stateID = -1

// machine follows a text byte by byte.
type machine struct {
	g      *Grammar
	frames []frame // by number
	stacks map[frame]int32
	states []state
	ids    map[string]stateID
	masks  int // states with a mask

	// Reused in each step.
	seen    map[thread]bool
	returns int
	reached []thread
	key     []byte
}

func newMachine(g *Grammar) (*machine, stateID, error) {
	m := &machine{g: g, seen: make(map[thread]bool)}
	m.forget()
	m.reached = m.reached[:0]
	if !m.follow(thread{g.start, emptyStack}) {
		return nil, dead, ErrTooComplex
	}
	return m, m.number(), nil
}

// forget drops all states and stacks but the dead state and the empty stack.
func (m *machine) forget() {
	m.frames = append(m.frames[:0], frame{accept, -1})
	m.stacks = make(map[frame]int32)
	m.states = append(m.states[:0], state{})
	m.ids = map[string]stateID{"": dead}
	m.masks = 0
}

// full reports whether to forget before the next step.
func (m *machine) full() bool {
	return len(m.states) > maxStates || len(m.frames) > maxStacks || m.masks > maxMasks
}

// renew forgets all but one state. It returns its new number.
func (m *machine) renew(id stateID) stateID {
	threads, frames := m.states[id].threads, slices.Clone(m.frames)
	m.forget()
	m.reached = m.reached[:0]
	for _, t := range threads {
		m.reached = append(m.reached, thread{t.at, m.copyStack(frames, t.stack)})
	}
	return m.number()
}

// copyStack adds a stack of other frames.
func (m *machine) copyStack(frames []frame, id int32) int32 {
	var backs []int32
	for ; id != emptyStack; id = frames[id].below {
		backs = append(backs, frames[id].back)
	}
	to := emptyStack
	for _, back := range slices.Backward(backs) {
		to = m.push(back, to)
	}
	return to
}

// push returns the number of a stack with one more entry.
func (m *machine) push(back, below int32) int32 {
	f := frame{back, below}
	id, ok := m.stacks[f]
	if !ok {
		id = int32(len(m.frames))
		m.frames = append(m.frames, f)
		m.stacks[f] = id
	}
	return id
}

// step returns the state after a byte.
func (m *machine) step(from stateID, b byte) (stateID, error) {
	s := &m.states[from]
	if s.next == nil {
		s.next = new([256]stateID)
		for i := range s.next {
			s.next[i] = unknown
		}
	}
	if to := s.next[b]; to != unknown {
		return to, nil
	}
	m.reached, m.returns = m.reached[:0], 0
	clear(m.seen)
	for _, t := range s.threads {
		if t.at == accept {
			continue
		}
		if in := &m.g.code[t.at]; in.op == opByte && in.lo <= b && b <= in.hi && !m.follow(thread{in.x, t.stack}) {
			return dead, ErrTooComplex
		}
	}
	to := m.number()
	m.states[from].next[b] = to // number may have moved the states
	return to, nil
}

// follow adds the threads that t becomes before it reads something to m.reached. It reports false beyond the limits.
func (m *machine) follow(t thread) bool {
	todo := []thread{t}
	for len(todo) > 0 {
		t = todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if m.seen[t] {
			continue
		}
		if len(m.seen) >= maxSeen || len(m.reached) >= maxThreads || m.returns >= maxReturns {
			return false
		}
		m.seen[t] = true
		if t.at == accept {
			m.reached = append(m.reached, t)
			continue
		}
		switch in := &m.g.code[t.at]; in.op {
		case opByte, opToken:
			m.reached = append(m.reached, t)
		case opSplit:
			todo = append(todo, thread{in.x, t.stack}, thread{in.y, t.stack})
		case opCall:
			todo = append(todo, thread{in.x, m.stackAfter(in.y, t.stack)})
		case opReturn:
			m.returns++
			f := m.frames[t.stack]
			todo = append(todo, thread{f.back, max(f.below, emptyStack)})
		}
	}
	return true
}

// stackAfter returns the stack for a call that continues at back. A call at the end of a rule returns where the rule
// does.
func (m *machine) stackAfter(back, stack int32) int32 {
	if m.g.code[back].op == opReturn {
		return stack
	}
	return m.push(back, stack)
}

// number returns the number of the state with the threads of m.reached.
func (m *machine) number() stateID {
	slices.SortFunc(m.reached, func(a, b thread) int {
		if a.at != b.at {
			return int(a.at) - int(b.at)
		}
		return int(a.stack) - int(b.stack)
	})
	m.key = m.key[:0]
	for _, t := range m.reached {
		m.key = binary.LittleEndian.AppendUint32(m.key, uint32(t.at))
		m.key = binary.LittleEndian.AppendUint32(m.key, uint32(t.stack))
	}
	id, ok := m.ids[string(m.key)]
	if !ok {
		id = stateID(len(m.states))
		m.states = append(m.states, state{threads: slices.Clone(m.reached)})
		m.ids[string(m.key)] = id
	}
	return id
}

// complete reports whether the text that led to a state follows the grammar.
func (m *machine) complete(id stateID) bool {
	return slices.Contains(m.states[id].threads, thread{accept, emptyStack})
}
