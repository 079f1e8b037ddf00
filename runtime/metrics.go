package runtime

import (
	"context"
	"errors"
	"time"
)

// Metrics gets figures of a model's work. Its methods are called by the goroutines that use sessions, several at once,
// and delay them. They must not use the model or its sessions.
type Metrics interface {
	// Step is called when work of a session has ended, also with an error.
	Step(StepMetrics)

	// Generated is called at the end of each Generate, GenerateTokens and Chat.
	Generated(Summary)
}

// StepMetrics are the figures of a piece of work: a call of a function, a prompt, or a token of one or more sessions.
type StepMetrics struct {
	Func     string        // the entry point
	Tokens   int           // that were run; 0 for functions that take none
	Sessions int           // whose tokens they are
	Time     time.Duration // with the wait for steps of other sessions
	Err      error         // nil: it succeeded
}

// Logger gets what a model has to report. A *slog.Logger of log/slog is one.
type Logger interface {
	DebugContext(ctx context.Context, msg string, args ...any)
	InfoContext(ctx context.Context, msg string, args ...any)
	WarnContext(ctx context.Context, msg string, args ...any)
	ErrorContext(ctx context.Context, msg string, args ...any)
}

// stepped reports a step that began at a time.
func (m *Model) stepped(ctx context.Context, begin time.Time, st StepMetrics) {
	o := &m.options
	if o.Metrics == nil && o.Logger == nil {
		return
	}
	st.Time = time.Since(begin)
	if o.Metrics != nil {
		o.Metrics.Step(st)
	}
	if o.Logger != nil && (errors.Is(st.Err, ErrFault) || errors.Is(st.Err, ErrNumerics)) {
		o.Logger.ErrorContext(ctx, "step failed", "func", st.Func, "tokens", st.Tokens, "error", st.Err)
	}
}

// ended reports the end of a generation, of which the session has the summary.
func (s *Session) ended(ctx context.Context, err error) {
	o, sum := &s.model.options, s.summary
	if o.Metrics != nil {
		o.Metrics.Generated(sum)
	}
	if o.Logger == nil {
		return
	}
	args := []any{"finish", string(sum.Finish), "prompt_tokens", sum.PromptTokens, "cached_tokens", sum.CachedTokens,
		"generated", sum.Generated, "seed", sum.Seed, "prefill", sum.Prefill, "decode", sum.Decode}
	if sum.Finish == FinishError {
		o.Logger.WarnContext(ctx, "generation failed", append(args, "error", err)...)
		return
	}
	o.Logger.DebugContext(ctx, "generated", args...)
}

// opened reports that the model was opened.
func (m *Model) opened(begin time.Time) {
	if l := m.options.Logger; l != nil {
		l.InfoContext(context.Background(), "model opened", "model", m.program.Name, "plan", m.program.PlanID, "threads", m.Threads(),
			"weights_bytes", m.program.Weights.Size, "time", time.Since(begin))
	}
}

// gone reports that the model was closed.
func (m *Model) gone(err error) {
	l := m.options.Logger
	switch {
	case l == nil:
	case err != nil:
		l.ErrorContext(context.Background(), "model not closed", "model", m.program.Name, "error", err)
	default:
		l.InfoContext(context.Background(), "model closed", "model", m.program.Name)
	}
}
