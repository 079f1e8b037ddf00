package runtime

import (
	"context"
	"errors"
	"iter"
	"time"
)

// Finish is why a generation has ended.
type Finish string

// The reasons. Those of tokens are FinishEnd, FinishStop and FinishLength.
const (
	FinishNone      Finish = ""          // it has not ended
	FinishEnd       Finish = "end"       // by an end-of-generation token
	FinishStop      Finish = "stop"      // by a stop string
	FinishLength    Finish = "length"    // MaxTokens have been generated
	FinishContext   Finish = "context"   // the context is full: ErrContextFull
	FinishCancelled Finish = "cancelled" // the caller's context ended: ErrCancelled
	FinishError     Finish = "error"     // by any other error
	FinishBreak     Finish = "break"     // the caller left the loop
)

// finishOf returns why a generation ended, also for one that ended with an error.
func finishOf(f Finish, err error) Finish {
	switch {
	case errors.Is(err, ErrCancelled):
		return FinishCancelled
	case errors.Is(err, ErrContextFull):
		return FinishContext
	case err != nil:
		return FinishError
	}
	return f
}

// Summary is what a generation has done.
type Summary struct {
	Finish       Finish
	PromptTokens int    // of the prompt
	CachedTokens int    // of the prompt, found in the state
	Generated    int    // tokens
	Seed         uint64 // of the draws

	Prefill time.Duration // until the first token was chosen, with the wait for other sessions
	Decode  time.Duration // of the tokens after the first, without the caller's work between them
}

// Summary returns what the last Generate, GenerateTokens or Chat of the session has done, or has done so far.
func (s *Session) Summary() Summary { return s.summary }

// summary returns what the generation has done. err is that which ended it.
func (g *generation) summary(err error) Summary {
	return Summary{
		Finish: finishOf(g.finish, err), PromptTokens: g.given, CachedTokens: g.reused, Generated: g.made, Seed: g.o.sampling().Seed,
		Prefill: g.prefill, Decode: g.decoding,
	}
}

// GenerateTokens is Generate for a prompt of token ids, taken as they are. While a loop over the tokens of a session
// has not ended, another one gets ErrBusy.
func (s *Session) GenerateTokens(ctx context.Context, prompt []int32, o GenerateOptions) iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		if !s.generating.CompareAndSwap(false, true) {
			yield(Token{Finish: FinishError}, ErrBusy)
			return
		}
		defer s.generating.Store(false)
		defer s.leave()
		s.summary = Summary{Finish: FinishError, Seed: o.sampling().Seed}
		g, err := newGeneration(s, o)
		if err != nil {
			s.ended(ctx, err)
			yield(Token{Finish: FinishError}, err)
			return
		}
		g.generate(ctx, prompt, yield)
	}
}

// generate yields tokens until the end.
func (g *generation) generate(ctx context.Context, prompt []int32, yield func(Token, error) bool) {
	s, finished := g.s, false
	defer func() {
		if !finished {
			s.summary.Finish = FinishBreak
			s.ended(ctx, nil)
		}
	}()
	err := g.start(ctx, prompt)
	for err == nil && !g.done {
		if err = g.next(ctx); err != nil {
			break
		}
		if s.summary = g.summary(nil); g.done {
			finished = true
			s.ended(ctx, nil)
		}
		if !yield(g.token(), nil) {
			return
		}
	}
	if err != nil {
		s.summary, finished = g.summary(err), true
		s.ended(ctx, err)
		yield(Token{Finish: s.summary.Finish}, err)
	}
}

// failed is a generation that cannot begin.
func (s *Session) failed(ctx context.Context, err error) iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		if !s.generating.CompareAndSwap(false, true) {
			yield(Token{Finish: FinishError}, ErrBusy)
			return
		}
		defer s.generating.Store(false)
		s.summary = Summary{Finish: finishOf(FinishNone, err)}
		s.ended(ctx, err)
		yield(Token{Finish: s.summary.Finish}, err)
	}
}
