package model

import (
	"context"

	"github.com/ggmlc/ggmlc/runtime"
)

//api:if language

// VocabSize returns the number of token ids, which are 0 to VocabSize-1. It also is the length of logits.
func (m *Model) VocabSize() int { return program.LM.Vocab }

// BatchSize returns how many tokens of a prompt run in one step at most.
func (m *Model) BatchSize() int { return program.LM.Batch }

// Prefill appends tokens to the sequence and returns the logits after the last one, one for each id. They are valid
// until the session's next call.
func (s *Session) Prefill(ctx context.Context, tokens []int32) ([]float32, error) {
	return s.s.Prefill(ctx, tokens)
}

// Decode appends one token and returns the logits after it, as Prefill does. It allocates nothing.
func (s *Session) Decode(ctx context.Context, token int32) ([]float32, error) {
	return s.s.Decode(ctx, token)
}

// Prompt makes tokens the whole sequence and returns the logits after the last one, as Prefill does. Tokens at the
// beginning that were run before are not run again.
func (s *Session) Prompt(ctx context.Context, tokens []int32) ([]float32, error) {
	return s.s.Prompt(ctx, tokens)
}

// Score appends tokens and calls visit with the logits after tokens[first], after tokens[first+1], and so on. The
// logits are valid during the call. An error of visit ends the run.
func (s *Session) Score(ctx context.Context, tokens []int32, first int, visit func(i int, logits []float32) error) error {
	return s.s.Score(ctx, tokens, first, visit)
}

// Len returns how many positions of the context are filled.
func (s *Session) Len() int { return s.s.Len() }

// Truncate forgets all positions from n on.
func (s *Session) Truncate(n int) error { return s.s.Truncate(n) }

// Reset forgets the sequence, as if the session were new.
func (s *Session) Reset() { s.s.Reset() }

// Close gives the place of a session of Sessions back. Other sessions need no Close.
func (s *Session) Close() error { return s.s.Close() }

// Sessions is a set of sessions that share memory and take steps together: a step reads the weights once for all
// sessions that wait for a token. Its methods may be called by several goroutines at once; each session is for one
// goroutine at a time.
type Sessions struct{ g *runtime.Sessions }

// NewSessions allocates memory for as many sessions as the model was compiled for, with ggmlc gen --sequences.
func (m *Model) NewSessions() (*Sessions, error) {
	g, err := m.m.NewSessions()
	if err != nil {
		return nil, err
	}
	return &Sessions{g}, nil
}

// NewSession returns a session with an empty state. If there is no room for another one, it waits until a session is
// closed, in the order of the calls. Each session has to be closed.
func (g *Sessions) NewSession(ctx context.Context) (*Session, error) {
	s, err := g.g.NewSession(ctx)
	if err != nil {
		return nil, err
	}
	return &Session{s}, nil
}

// Limit returns how many sessions there may be at once.
func (g *Sessions) Limit() int { return g.g.Limit() }

//api:end
