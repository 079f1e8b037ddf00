package model

import (
	"context"
	"io"

	"github.com/ggmlc/ggmlc/runtime"
)

//api:if states

// ReadState returns the elements of a state, dense and row by row. A device copies them from its memory.
func (s *Session) ReadState(name string) (runtime.Array, error) { return s.s.ReadState(name) }

// WriteState sets all elements of a state, given as ReadState returns them.
func (s *Session) WriteState(name string, a runtime.Array) error { return s.s.WriteState(name, a) }

// StartReadState is ReadState without the wait. It reads what the steps that were started before leave.
func (s *Session) StartReadState(ctx context.Context, name string) (*runtime.StateStep, error) {
	return s.s.StartReadState(ctx, name)
}

// StartWriteState is WriteState without the wait. The array must not change before Wait of the step returns.
func (s *Session) StartWriteState(ctx context.Context, name string, a runtime.Array) (*runtime.Step, error) {
	return s.s.StartWriteState(ctx, name, a)
}

// Fork returns a new session with a copy of the states. Later steps of one do not affect the other.
func (s *Session) Fork(ctx context.Context) (*Session, error) {
	n, err := s.s.Fork(ctx)
	if err != nil {
		return nil, err
	}
	return &Session{n}, nil
}

//api:end
//api:if language states

// Save writes the states, and the sequence of a language model, so that Load of the same program can continue them.
func (s *Session) Save(w io.Writer) error { return s.s.Save(w) }

// Load continues what Save has written.
func (s *Session) Load(r io.Reader) error { return s.s.Load(r) }

//api:end
