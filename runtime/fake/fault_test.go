package fake_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/fake"
)

// TestNothingRunsAfterAFault: commands that were submitted before a command failed are not run after it.
func TestNothingRunsAfterAFault(t *testing.T) {
	var runs atomic.Int64
	submitted := make(chan struct{})
	hash := func(*fake.Env, int) {
		<-submitted
		runs.Add(1)
		panic("the kernel broke")
	}
	o := toy{pipeline: 3, hash: hash}
	p := o.program()
	steps := 0
	inner := p.Funcs[0].Run
	p.Funcs[0].Run = func(w *runtime.Worker, a *runtime.Args) {
		inner(w, a)
		if steps++; steps == 3 {
			close(submitted)
		}
	}
	m, err := runtime.Open(p, runtime.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if _, err = newSession(t, m).Prefill(t.Context(), toyPrompt(3*toyBatch)); !errors.Is(err, runtime.ErrFault) {
		t.Errorf("the error is %v, want a fault", err)
	}
	if n := runs.Load(); n != 1 {
		t.Errorf("%d commands ran on the device that failed, want 1 of %d", n, steps)
	}
}

// TestTheHostStopsAfterAFault: once the host has waited for a device that failed, no worker continues the step, as it
// would read what was not computed. The error is that of the device alone.
func TestTheHostStopsAfterAFault(t *testing.T) {
	for name, wait := range map[string]func(q *runtime.Queues){
		"event": func(q *runtime.Queues) { q.Await(hashed) },
		"queue": func(q *runtime.Queues) { q.Finish(1) },
	} {
		t.Run(name, func(t *testing.T) {
			o := toy{hash: func(*fake.Env, int) { panic("the kernel broke") }}
			p := o.program()
			inner := p.Funcs[1].Run
			var continued atomic.Bool
			p.Funcs[1].Run = func(w *runtime.Worker, a *runtime.Args) {
				inner(w, a)
				if w.Part == 0 {
					wait(a.Queues)
				}
				w.Barrier()
				continued.Store(true)
			}
			m, err := runtime.Open(p, runtime.Options{Threads: 2, Steady: true})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			_, err = newSession(t, m).Decode(t.Context(), 1)
			var f *runtime.FaultError
			if !errors.As(err, &f) || f.Device != "second" || strings.Contains(err.Error(), "worker") {
				t.Errorf("the error is %v, want that of the device alone", err)
			}
			if continued.Load() {
				t.Error("the host has continued the step")
			}
		})
	}
}
