package passes

import (
	"context"
	"errors"
	"time"

	"github.com/ggmlc/ggmlc/ir"
)

// verifying is the proof that a pass has left a well-formed module. It goes on beside the
// beginning of the next pass, if that one only looks at the module at first (Pass.Looks).
type verifying struct {
	pass   *Pass
	before *ir.Module // as it was before the pass, for a reproducer
	stats  *PassStats // of the pass

	ctx     context.Context // of the next pass: done when the module turns out to be broken
	done    chan struct{}
	figures Figures
	err     error
}

// lookingEnds is how long a pass that looks at a broken module has to find its end.
const lookingEnds = time.Second

// look runs a pass while the module is being verified, if it is. A pass that does not come to an end
// because the module is broken, such as by views that lead back to themselves, is left behind: it
// can change nothing, as Change lets nobody pass.
func (r *runner) look(c *Context, p *Pass) error {
	v := r.pending
	if v == nil {
		return r.call(c, p)
	}
	ended := make(chan error, 1)
	go func() { ended <- r.call(c, p) }()
	select {
	case err := <-ended:
		return err
	case <-v.done:
	}
	if v.err == nil {
		return <-ended
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(lookingEnds):
		return errors.New("it does not end on a broken module")
	}
}

// begin verifies the module behind a pass.
func (r *runner) begin(ctx context.Context, p *Pass, stats *PassStats, before *ir.Module) {
	v := &verifying{pass: p, before: before, stats: stats, done: make(chan struct{})}
	var cancel context.CancelFunc
	v.ctx, cancel = context.WithCancel(ctx)
	r.pending = v
	go func() {
		defer close(v.done)
		if v.figures, v.err = r.verify(); v.err != nil {
			cancel()
		}
	}()
}

// settle waits for the verification that goes on, if any, and returns what was found wrong
// with the module, once and for all.
func (r *runner) settle() error {
	r.settling.Lock() // the pass may ask while the runner does
	defer r.settling.Unlock()
	v := r.pending
	if v == nil {
		return r.broken
	}
	<-v.done
	r.pending = nil
	v.stats.Figures, r.figures = v.figures, v.figures
	if v.err != nil {
		r.broken = r.failed(v.pass, v.before, &InternalError{Pass: v.pass.Name, Module: r.m.Name, Err: v.err})
	}
	return r.broken
}

// verify checks that the module holds what it promises, and counts what it has: neither
// changes it, so that both are done at once.
func (r *runner) verify() (Figures, error) {
	var fig Figures
	counted := make(chan bool, 1)
	go func() {
		done := false
		defer func() {
			_ = recover() // nodes that are broken cannot be counted: the verifier says what is
			counted <- done
		}()
		fig, done = Measure(r.m), true
	}()
	err := r.verifier.Verify(r.m)
	if done := <-counted; !done && err == nil {
		fig = Measure(r.m)
	}
	return fig, err
}
