package runtime

import (
	"context"
	"slices"
)

// Fork returns a new session that continues the sequence of s, or in a module that is no language model begins with its
// states. Later steps of one do not affect the other. States in memory of a device are copied there. A session of
// Sessions becomes another one of them, for which Fork waits as NewSession does.
func (s *Session) Fork(ctx context.Context) (*Session, error) {
	if s.seat != nil {
		return s.seat.fork(ctx, s)
	}
	if err := s.holdState(); err != nil {
		return nil, err
	}
	defer s.busy.Store(false)
	n, err := s.model.NewSession()
	if err != nil {
		return nil, err
	}
	if s.model.program.LM == nil {
		return n, n.copyRows(0, s, 0, 0, 0)
	}
	n.widen(s.length)
	if err := n.copyRows(0, s, 0, 0, s.length); err != nil {
		return nil, err
	}
	n.past.copy(s.past, min(s.length, len(s.past.ids)))
	n.follow(s)
	return n, nil
}

// follow makes the sequence of s that of another session, whose states it has.
func (s *Session) follow(other *Session) {
	s.length, s.pending, s.grammar = other.length, append(s.pending[:0], other.pending...), other.grammar
}

// fork is Fork for a session of Sessions.
func (c *seat) fork(ctx context.Context, s *Session) (*Session, error) {
	n, err := c.all.NewSession(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.copyTo(ctx, n, s); err != nil {
		_ = n.Close() // it is ours, and not in use
		return nil, err
	}
	return n, nil
}

// copyTo makes a new session of the same set a fork of s. No step runs meanwhile.
func (c *seat) copyTo(ctx context.Context, n, s *Session) error {
	if err := s.holdState(); err != nil {
		return err
	}
	defer s.busy.Store(false)
	g := c.all
	if err := g.turn.enter(ctx, c.ticket); err != nil {
		return err
	}
	defer g.turn.leave()
	if err := g.memory.copyRows(n.slot, g.memory, s.slot, 0, s.length); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	n.past.copy(s.past, min(s.length, len(s.past.ids)))
	n.follow(s)
	return nil
}

// statesBySequence refuses a language model with a state that has no rows of positions.
func (p *Program) statesBySequence() error {
	if p.LM == nil {
		return nil
	}
	if i := slices.IndexFunc(p.States, func(st StateInfo) bool { return st.Heads == 0 }); i >= 0 {
		return inputError("the state %q of %s has no rows of positions: its sequences cannot be saved or copied", p.States[i].Name, p.Name)
	}
	return nil
}
