package fake_test

import (
	"errors"
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
