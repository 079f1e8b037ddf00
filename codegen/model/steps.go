package model

import (
	"context"

	"github.com/ggmlc/ggmlc/runtime"
)

// ErrSkipped means that a step did not run because an earlier step of its session had failed, whose error it wraps: a
// *runtime.SkippedError.
var ErrSkipped = runtime.ErrSkipped

//api:if language

// LogitsStep is a step in progress, whose result are logits.
type LogitsStep struct{ st *runtime.LogitsStep }

// Wait returns when the step has ended, with the logits after its last token, which are the caller's. It may be called
// several times, and by several goroutines.
func (st *LogitsStep) Wait() ([]float32, error) { return st.st.Wait() }

// StartPrefill is Prefill without the wait: it returns when the tokens have their place after the session's earlier
// steps. If a step fails, those after it are skipped, until a Wait or another call of the session has returned an
// error.
func (s *Session) StartPrefill(ctx context.Context, tokens []int32) (*LogitsStep, error) {
	st, err := s.s.StartPrefill(ctx, tokens)
	if err != nil {
		return nil, err
	}
	return &LogitsStep{st}, nil
}

// StartDecode is StartPrefill for one token.
func (s *Session) StartDecode(ctx context.Context, token int32) (*LogitsStep, error) {
	st, err := s.s.StartDecode(ctx, token)
	if err != nil {
		return nil, err
	}
	return &LogitsStep{st}, nil
}

//api:end
