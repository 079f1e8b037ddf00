package runtime

import (
	"context"
	"errors"
	"unsafe"
)

// Observer is called with the values of a program built with --observe, each as soon as a step has computed it. The
// order is the same in every step of a function. node is the name of the value in the compiler's texts, step counts the
// steps of the model from 0. t is valid until the call returns: the step uses its memory again.
//
// An error ends the step there: what comes later is not computed, no further value is handed out, and the session has
// not taken the step's tokens. Steps of all sessions of the model wait for the call, so that it must not begin one.
type Observer func(node string, step int, t Array) error

// watcher is told what the steps of a model do.
type watcher interface {
	// begin is called before a step, when its inputs and sizes are set.
	begin(s *Session, f *Func, step int) error

	// value is an Observer. It is called during the step.
	value(node string, step int, t Array) error

	// end is called when the step has ended without an error.
	end() error
}

func (o Observer) begin(*Session, *Func, int) error           { return nil }
func (o Observer) value(node string, step int, t Array) error { return o(node, step, t) }
func (o Observer) end() error                                 { return nil }

// observes reports whether the program was built with --observe.
func (p *Program) observes() bool {
	for i := range p.Funcs {
		if len(p.Funcs[i].Observed) > 0 {
			return true
		}
	}
	return false
}

// watch returns what receives the values of steps; nil for nothing.
func (o *Options) watch(p *Program) (watcher, error) {
	switch {
	case o.Observe != nil && !p.observes():
		return nil, inputError("Options.Observe: the program hands out no values: compile it with --observe REGEX")
	case o.Observe != nil:
		return o.Observe, nil
	case o.observeTo != "":
		return &observedFiles{dir: o.observeTo}, nil
	}
	return nil, nil
}

// handOver hands the values of one step to a watcher.
type handOver struct {
	to    watcher
	f     *Func
	step  int
	calls int
	err   error // of the watcher; the step ended there
}

// errObserver unwinds worker 0 out of emitted code because the observer has returned an error.
var errObserver = errors.New("the observer has ended the step")

// Observe hands a value out, if the model is observed. Emitted code calls it on worker 0 when all of the value is at
// the address. number is an index of Func.Observed, iteration one of its names. If the observer returns an error, it
// does not return: it unwinds worker 0 to end the step.
func (w *Worker) Observe(a *Args, number, iteration int, at unsafe.Pointer) {
	h := a.handOver
	if h == nil {
		return
	}
	o := &h.f.Observed[number]
	t := Array{Type: o.Type}
	n := 1
	for _, d := range o.Dims {
		size := d.eval(&a.Dims)
		t.Shape = append(t.Shape, size)
		n *= size
	}
	t.Data = unsafe.Slice((*byte)(at), o.Type.Bytes(n))
	h.calls++
	w.handing = true // see leave: the observer may panic, or end the goroutine
	h.err = h.to.value(o.Names[iteration], h.step, t)
	w.handing = false
	if h.err != nil {
		panic(errObserver)
	}
}

// observed is submit for a model that is watched. The step has ended when it returns.
func (s *Session) observed(ctx context.Context, fn int) error {
	m := s.model
	f := &m.program.Funcs[fn]
	m.observing.Lock()
	defer m.observing.Unlock()
	if err := m.watcher.begin(s, f, m.steps); err != nil {
		return err
	}
	h := &handOver{to: m.watcher, f: f, step: m.steps}
	s.args.handOver = h
	defer func() {
		s.args.handOver = nil
		if h.calls > 0 {
			m.steps++
		}
	}()
	err := s.start(ctx, fn)
	if h.err != nil {
		err = h.err // in place of the fault of worker 0
	}
	if err := s.finish(err); err != nil {
		return err
	}
	h.calls++ // the step has its number, even if it hands nothing out
	return m.watcher.end()
}

// view returns an input or output where it is.
func (s *Session) view(t *Tensor) Array {
	a := Array{Type: t.Type, Data: s.bytes(t, t.Type.Bytes(t.elems(&s.args.Dims)))}
	for _, d := range t.Dims {
		a.Shape = append(a.Shape, d.eval(&s.args.Dims))
	}
	return a
}
