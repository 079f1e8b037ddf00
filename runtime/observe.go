package runtime

import "context"

// Observer is called with the values that a step of a program built with --observe has computed, when the step has
// ended. node is the name of the value in the compiler's texts, step counts the steps of the model from 0. t is valid
// until the call returns. An error fails the step: the session has then not taken its tokens. Steps of all sessions of
// the model wait for the call, so that it must not begin one.
type Observer func(node string, step int, t Array) error

// watcher is told what the steps of a model do.
type watcher interface {
	// begin is called before a step, when its inputs and sizes are set.
	begin(s *Session, f *Func, step int) error

	// value is an Observer.
	value(node string, step int, t Array) error

	// end is called after the last value of a step.
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

// observed is submit for a model that is watched. The step has ended when it returns.
func (s *Session) observed(ctx context.Context, fn int) error {
	m := s.model
	f := &m.program.Funcs[fn]
	m.observing.Lock()
	defer m.observing.Unlock()
	if err := m.watcher.begin(s, f, m.steps); err != nil {
		return err
	}
	if err := s.finish(s.start(ctx, fn)); err != nil {
		return err
	}
	step := m.steps
	m.steps++
	for i := range f.Observed {
		t := &f.Observed[i]
		if err := m.watcher.value(t.Name, step, s.view(t)); err != nil {
			return err
		}
	}
	return m.watcher.end()
}

// view returns an input, output or observed value where it is.
func (s *Session) view(t *Tensor) Array {
	a := Array{Type: t.Type, Data: s.bytes(t, t.Type.Bytes(t.elems(&s.args.Dims)))}
	for _, d := range t.Dims {
		a.Shape = append(a.Shape, d.eval(&s.args.Dims))
	}
	return a
}
