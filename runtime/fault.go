package runtime

import (
	"errors"
	"sync/atomic"
)

// errLeave unwinds a worker out of emitted code because another one has failed.
var errLeave = errors.New("leave the step")

// fault is the first failure of a step. Access to a page of a mapped file that is gone raises a signal, which
// debug.SetPanicOnFault turns into a panic of the worker.
type fault struct {
	failed atomic.Bool
	part   int
	value  any
}

func (f *fault) reset() {
	f.failed.Store(false)
	f.value = nil
}

// leave ends a worker's part. It is deferred, so that recover sees that worker's panic.
//
// A panic of the observer is the caller's, on whose goroutine worker 0 is: it continues when the other workers have
// left. The same holds for an observer that ends the goroutine, such as a test that fails.
func (p *pool) leave(w *Worker) {
	if w.handing {
		w.handing = false
		p.barrier.poison(p.workers)
		p.awaitOthers()
		return
	}
	v := recover()
	if v == nil || v == any(errLeave) {
		return
	}
	if p.fault.failed.CompareAndSwap(false, true) {
		p.fault.part, p.fault.value = w.Part, v // read after all workers have left
	}
	p.barrier.poison(p.workers)
}

// err describes the failure. It sets Addr if the panic's value has one, as Go's errors for memory faults do.
func (f *fault) err(fn string) error {
	e := &FaultError{Func: fn, Part: f.part, Value: f.value}
	if at, ok := f.value.(interface{ Addr() uintptr }); ok {
		e.Addr = at.Addr()
	}
	return e
}
