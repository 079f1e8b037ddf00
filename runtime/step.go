package runtime

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// ErrSkipped means that a step did not run because an earlier step of its session had failed. The error is a
// *SkippedError.
var ErrSkipped = errors.New("skipped")

// SkippedError is the error of a step that was skipped. It wraps the error of the step that failed.
type SkippedError struct{ Err error }

func (e *SkippedError) Error() string {
	return "skipped, as an earlier step of the session failed: " + e.Err.Error()
}

// Is makes errors.Is(err, ErrSkipped) true.
func (e *SkippedError) Is(target error) bool { return target == ErrSkipped }

// Unwrap returns the error of the step that failed.
func (e *SkippedError) Unwrap() error { return e.Err }

// Step is a step in progress, made by the methods of Session whose names begin with Start.
//
// The steps of one session run in the order of the calls that started them. Those of several sessions queue for the
// model's workers. With devices and a program built with --pipeline N, up to N steps of a session that run the same
// function are in flight at once, and the steps of other sessions besides.
//
// If a step fails, steps that were started after it do not run: their Wait returns an error that is ErrSkipped and
// wraps the first one. That holds until a Wait has returned one of these errors, or another call of the session has:
// the session is then as it was before the step that failed, and can be used again.
type Step struct {
	session *Session
	ctx     context.Context
	fn      int
	run     func(context.Context) (take func() error, err error)
	what    StepMetrics   // for Metrics; no Func if others report it, and until the arguments have been found right
	since   time.Time     // the call of Start
	told    chan struct{} // closed when the step has ended, or has been submitted to devices

	// Of a submitted step.
	slot int          // its instance of inputs and outputs
	mark uint64       // its number among the session's steps
	take func() error // copies its outputs
	once sync.Once

	err   error
	chain *failure // that err is of
}

// Wait returns when the step has ended, with its error. It may be called several times, and by several goroutines.
func (st *Step) Wait() error {
	<-st.told
	fl := &st.session.flow
	if st.take != nil {
		fl.land(st.session, st)
	}
	fl.mu.Lock()
	defer fl.mu.Unlock()
	fl.seen(st.chain)
	return st.err
}

// report reports that the step has ended.
func (st *Step) report(err error) {
	if st.what.Func != "" {
		st.what.Err = err
		st.session.model.stepped(st.ctx, st.since, st.what)
	}
}

// skip ends a step that does not run. With the lock of the flow.
func (st *Step) skip(f *failure) {
	st.err, st.chain = &SkippedError{f.err}, f
	close(st.told)
}

// Start is Call without the wait: it returns when the step has its place after the session's earlier steps. The outputs
// are set when Wait of the step has returned nil. The inputs must not change before. The error reports what is wrong
// with the arguments' types, or that the model is closed; Wait returns all other errors.
func (s *Session) Start(ctx context.Context, fn int, in, out []any) (*Step, error) {
	if err := s.ownsMemory(); err != nil {
		return nil, err
	}
	f := &s.model.program.Funcs[fn]
	arrays, err := inputArrays(f, in, out)
	if err != nil {
		return nil, err
	}
	out = slices.Clone(out)
	st := &Step{fn: fn}
	st.run = func(ctx context.Context) (func() error, error) { return s.startCall(ctx, st, arrays, out) }
	return started(st, s.enqueue(ctx, st))
}

// started returns a step in progress, or nil if it could not be started.
func started[T any](st *T, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return st, nil
}

// startCall runs a function, or submits it and returns what copies its outputs.
func (s *Session) startCall(ctx context.Context, st *Step, arrays [][]byte, out []any) (func() error, error) {
	fn := st.fn
	f := &s.model.program.Funcs[fn]
	s.past.cut(0) // the function may write any positions
	if err := s.sizeByLengths(f, arrays); err != nil {
		return nil, err
	}
	s.begin(s.flow.order(fn))
	if err := s.storeArrays(f, arrays); err != nil {
		return nil, err
	}
	st.what = StepMetrics{Func: f.Name, Tokens: s.encoded(fn), Sessions: 1}
	if err := s.submitted(s.submit(ctx, fn)); err != nil {
		return nil, err
	}
	io, dims := s.io, s.args.Dims
	take := func() error {
		for i := range f.Outputs {
			t := &f.Outputs[i]
			copyOut(allocate(out[i], t.elems(&dims)), io, t)
		}
		return nil
	}
	return s.later(take)
}

// submitted returns err. If a step could not be submitted whole, it first waits until what was has ended.
func (s *Session) submitted(err error) error {
	if err == nil {
		return nil
	}
	return s.finish(err)
}

// later returns take for a step that may be in flight. For one that has ended it calls it and returns nil.
func (s *Session) later(take func() error) (func() error, error) {
	if s.device != nil {
		return take, nil
	}
	return nil, take()
}

// LogitsStep is a step whose result are logits.
type LogitsStep struct {
	step   *Step
	logits []float32
}

// Wait returns when the step has ended, with the logits after its last token, which are the caller's, or its error. See
// Step.Wait.
func (st *LogitsStep) Wait() ([]float32, error) {
	if err := st.step.Wait(); err != nil {
		return nil, err
	}
	return st.logits, nil
}

// StartPrefill is Prefill without the wait: it returns when the tokens have their place after those of the session's
// earlier steps. Its error reports ids outside of the vocabulary, or that the model is closed; Wait returns all other
// errors.
func (s *Session) StartPrefill(ctx context.Context, tokens []int32) (*LogitsStep, error) {
	return s.startTokens(ctx, tokens, s.model.prefill)
}

// StartDecode is StartPrefill for one token.
func (s *Session) StartDecode(ctx context.Context, token int32) (*LogitsStep, error) {
	return s.startTokens(ctx, []int32{token}, s.model.decode)
}

func (s *Session) startTokens(ctx context.Context, tokens []int32, d *driver) (*LogitsStep, error) {
	if err := s.takesTokens(tokens); err != nil {
		return nil, err
	}
	st := &LogitsStep{step: &Step{fn: d.fn}}
	ids := slices.Clone(tokens)
	st.step.run = func(ctx context.Context) (func() error, error) {
		if err := s.room(len(ids), after); err != nil {
			return nil, err
		}
		if s.seat != nil {
			return nil, s.supersede(s.seat.start(ctx, s, ids, d, st))
		}
		st.step.what = StepMetrics{Func: s.model.program.Funcs[d.fn].Name, Tokens: len(ids), Sessions: 1}
		take, err := s.startChunks(ctx, ids, d, st)
		return take, s.supersede(err)
	}
	return started(st, s.enqueue(ctx, st.step))
}

// takesTokens refuses what is wrong with tokens, for any sequence.
func (s *Session) takesTokens(tokens []int32) error {
	if s.model.program.LM == nil {
		return inputError("%s is no language model: use Start", s.model.program.Name)
	}
	if len(tokens) == 0 {
		return errNoTokens()
	}
	return s.checkTokens(tokens)
}

// startChunks runs tokens at the end of the sequence, or submits their steps.
func (s *Session) startChunks(ctx context.Context, tokens []int32, d *driver, st *LogitsStep) (func() error, error) {
	was := s.length
	batch := s.model.program.LM.Batch
	if d == s.model.decode {
		batch = 1
	}
	err := s.submitted(s.submitChunks(ctx, d, tokens, batch, s.flow.order(d.fn)))
	if err != nil {
		s.length = was
		s.past.fail(was, len(tokens))
		return nil, err
	}
	s.past.put(was, tokens)
	t, vocab := d.logits, s.model.program.LM.Vocab
	io, elems := s.io, t.elems(&s.args.Dims)
	return s.later(func() error {
		all := make([]float32, elems)
		copyOut(raw(all), io, t)
		st.logits = slices.Clip(all[elems-vocab:])
		return nil
	})
}

// start runs tokens of a session of Sessions, in steps with other sessions if d decodes.
func (c *seat) start(ctx context.Context, s *Session, tokens []int32, d *driver, st *LogitsStep) error {
	var logits []float32
	var err error
	if d == s.model.decode {
		logits, err = c.decode(ctx, s, tokens[0])
	} else {
		logits, err = c.prefill(ctx, s, tokens)
	}
	st.logits = slices.Clone(logits)
	return err
}
