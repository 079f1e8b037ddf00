package runtime

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// flow is the steps of a session that Start has begun and that have not ended, in the order of the calls.
//
// A goroutine runs them. It exists while steps wait to begin, so a session still needs no Close and keeps no goroutine.
// On a CPU it runs each step to its end. With devices it submits a step and continues with the next one; the
// outputs of a submitted step are copied to the caller when Wait asks for them, or when a later step needs the step's
// instance of inputs and outputs:
//
//	Start(1) ─ submit ─────────── ends on the devices ─ land by Wait, or before step 1+N begins
//	Start(2) ───────── submit ─────────── ends ─ land
//
// While the flow is open it holds Session.busy.
type flow struct {
	used atomic.Bool // it is open, or a failure has not been reported: what a call that does not use it looks at

	mu      sync.Mutex
	changed sync.Cond // with mu; set by the first Start
	waiting []*Step   // not begun
	flight  []*Step   // submitted to devices and not landed, oldest first
	running bool      // there is a goroutine
	failure *failure  // that no caller has seen: steps are skipped until then
}

// failure is the error of a step, which those after it share.
type failure struct{ err error }

// add appends a step. The first one of an idle flow reserves the session.
func (fl *flow) add(s *Session, st *Step) error {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if fl.failure != nil {
		st.skip(fl.failure)
		return nil
	}
	if !fl.running && len(fl.flight) == 0 {
		if !s.busy.CompareAndSwap(false, true) {
			return ErrBusy
		}
	}
	fl.used.Store(true)
	fl.changed.L = &fl.mu
	fl.waiting = append(fl.waiting, st)
	if !fl.running {
		fl.running = true
		go fl.work(s)
	}
	return nil
}

// work begins all steps that wait.
func (fl *flow) work(s *Session) {
	for st := fl.next(s); st != nil; st = fl.next(s) {
		take, err := st.run(st.ctx)
		if err != nil {
			fl.landAll(s) // so that the next step begins alone: this one may not have recorded its events
		}
		if err != nil || take == nil {
			st.report(err)
		}
		fl.begun(s, st, take, err)
	}
}

// next removes the first step that waits. It returns nil, and the goroutine ends, if there is none.
func (fl *flow) next(s *Session) *Step {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if len(fl.waiting) == 0 {
		fl.running = false
		fl.rest(s)
		return nil
	}
	st := fl.waiting[0]
	fl.waiting[0], fl.waiting = nil, fl.waiting[1:]
	return st
}

// begun notes the result of Step.run. The steps after one that failed are skipped.
func (fl *flow) begun(s *Session, st *Step, take func() error, err error) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	switch {
	case err != nil:
		fl.fail(st, err)
		for _, later := range fl.waiting {
			later.skip(fl.failure)
		}
		fl.waiting = fl.waiting[:0]
	case take != nil:
		st.take = take
		st.slot, st.mark = s.device.flying()
		fl.flight = append(fl.flight, st)
	}
	close(st.told)
}

// fail gives a step an error, which is not reported yet. With mu.
func (fl *flow) fail(st *Step, err error) {
	st.err = err
	if fl.failure == nil {
		fl.failure = &failure{err}
		fl.used.Store(true)
	}
	st.chain = fl.failure
}

// rest gives the session back if nothing is open any more. With mu.
func (fl *flow) rest(s *Session) {
	if !fl.running && len(fl.flight) == 0 {
		fl.used.Store(fl.failure != nil)
		s.busy.Store(false)
	}
	fl.changed.Broadcast()
}

// land waits until a submitted step has ended and copies its outputs. Later calls return when that is done.
func (fl *flow) land(s *Session, st *Step) {
	st.once.Do(func() {
		err := s.device.landed(st.mark)
		if err == nil {
			err = st.take()
		}
		st.report(err)
		fl.mu.Lock()
		defer fl.mu.Unlock()
		if err != nil {
			fl.fail(st, err)
		}
		for i := range fl.flight {
			if fl.flight[i] == st {
				fl.flight = append(fl.flight[:i:i], fl.flight[i+1:]...)
				break
			}
		}
		fl.rest(s)
	})
}

// landAll lands all submitted steps.
func (fl *flow) landAll(s *Session) {
	for _, st := range fl.submitted() {
		fl.land(s, st)
	}
}

// landSlot lands the steps that have their inputs and outputs in an instance.
func (fl *flow) landSlot(s *Session, slot int) {
	for _, st := range fl.submitted() {
		if st.slot == slot {
			fl.land(s, st)
		}
	}
}

// submitted returns the submitted steps.
func (fl *flow) submitted() []*Step {
	if !fl.used.Load() {
		return nil
	}
	fl.mu.Lock()
	defer fl.mu.Unlock()
	return append([]*Step(nil), fl.flight...)
}

// order returns how a step of function fn begins: while the steps before it are in flight if those run the same
// function.
func (fl *flow) order(fn int) stepOrder {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if n := len(fl.flight); n > 0 && fl.flight[n-1].fn == fn {
		return overlapping
	}
	return alone
}

// drain returns when no step is open, with the failure that no Wait has returned yet.
func (fl *flow) drain(s *Session) error {
	if !fl.used.Load() {
		return nil
	}
	fl.mu.Lock()
	for fl.running {
		fl.changed.Wait()
	}
	fl.mu.Unlock()
	fl.landAll(s)
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if fl.failure == nil {
		return nil
	}
	err := &SkippedError{fl.failure.err}
	fl.seen(fl.failure)
	return err
}

// seen notes that a caller has got the error of a failure, if there is one: later steps are not skipped. With mu.
func (fl *flow) seen(f *failure) {
	if f != nil && fl.failure == f {
		fl.failure = nil
		fl.used.Store(fl.running || len(fl.flight) > 0)
	}
}

// reserve reserves the session for one call, after the steps that Start has begun.
func (s *Session) reserve() error {
	if err := s.flow.drain(s); err != nil {
		return err
	}
	if !s.busy.CompareAndSwap(false, true) {
		return ErrBusy
	}
	return nil
}

// settle waits for the steps that Start has begun. It is for calls that return no error.
func (s *Session) settle() {
	fl := &s.flow
	if !fl.used.Load() {
		return
	}
	fl.mu.Lock()
	for fl.running {
		fl.changed.Wait()
	}
	fl.mu.Unlock()
	fl.landAll(s)
}

// enqueue adds a step to the session's flow.
func (s *Session) enqueue(ctx context.Context, st *Step) error {
	if s.model.pool.queue.isClosed() {
		return ErrClosed
	}
	st.session, st.ctx, st.since, st.told = s, ctx, time.Now(), make(chan struct{})
	return s.flow.add(s, st)
}
