package runtime

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
	"unsafe"
)

// Session is one conversation, or one user of a module that is no language model. It has its own state (the KV
// cache), activations, inputs and outputs. Only one goroutine may use it at a time; a second one gets ErrBusy. Calls
// first wait for the steps that the methods named Start have begun. A session holds no system resources and need not be
// closed.
type Session struct {
	model  *Model
	args   Args
	state  arena
	active arena
	io     arena
	device stepper // nil without devices
	ticket *ticket
	busy   atomic.Bool
	slot   int  // of the state: the sequence that steps belong to
	length int  // positions of the sequence that are filled
	wide   bool // huge pages have been requested for the state

	// The last token that Generate yielded. It is part of the sequence but was not run.
	pending []int32

	grammar followedEnd
	summary Summary // of the last generation

	flow flow

	generating atomic.Bool // a loop over its tokens has begun and not ended

	past *past // nil for a session that other sessions use as memory
	seat *seat // nil for a session with memory of its own
}

// NewSession allocates the arenas of a session, zeroed. The system provides their memory as it is touched, so that a
// long context costs only what is used of it (see widen). Sizes that the system would never provide are an error.
func (m *Model) NewSession() (*Session, error) {
	if m.pool.queue.isClosed() {
		return nil, ErrClosed
	}
	p := m.program
	s := &Session{
		model: m, ticket: newTicket(),
		pending: make([]int32, 0, 1),
	}
	var err error
	if p.LM != nil {
		s.past = newPast(p.LM)
	}
	if s.state, err = allocateArena(p.StateBytes, "the session's state"); err != nil {
		return nil, err
	}
	if s.active, err = allocateArena(p.ActivationBytes, "activations"); err != nil {
		return nil, err
	}
	s.args = Args{Arena: s.active.base(), Weights: m.weights.base(), State: s.state.base()}
	for i, sym := range p.Symbols {
		s.args.Dims[i] = sym.Min
	}
	if err := s.allocateIO(); err != nil {
		return nil, err
	}
	return s, nil
}

// inputsAndOutputs names that memory in errors.
const inputsAndOutputs = "inputs and outputs"

// allocateIO allocates the inputs and outputs, and the session's memory on devices.
func (s *Session) allocateIO() (err error) {
	if s.model.devices != nil {
		if s.device, err = s.model.devices.session(s); err != nil {
			return &DeviceError{err}
		}
		return nil
	}
	if s.io, err = allocateArena(s.model.program.IOBytes, inputsAndOutputs); err != nil {
		return err
	}
	s.args.IO = s.io.base()
	return nil
}

// Model returns the model that s is a session of.
func (s *Session) Model() *Model { return s.model }

// Len returns the number of positions filled, by tokens of prompts and by generated ones passed to Decode.
func (s *Session) Len() int {
	s.settle()
	return s.length
}

// Reset forgets the sequence. The state of a language model is not cleared, as its positions are written before they
// are read. The state of any other module is zeroed.
func (s *Session) Reset() {
	s.settle()
	s.length, s.pending = 0, s.pending[:0]
	s.zeroStates()
}

// zeroStates zeros the states of a module that is no language model.
func (s *Session) zeroStates() {
	if s.model.program.LM != nil {
		return
	}
	s.state.zero()
	if s.device != nil {
		s.device.clear()
	}
}

// Truncate forgets all positions from n on, so that a conversation can continue from there. Models with sliding windows
// go back as far as their states have the positions of the window before n.
func (s *Session) Truncate(n int) error {
	s.settle()
	if n < 0 || n > s.length {
		return inputError("truncate to %d of %d positions", n, s.length)
	}
	if !s.past.has(n) {
		return s.past.lost(n)
	}
	s.length, s.pending = n, s.pending[:0]
	return nil
}

// rewind is Truncate for measurements, which need no positions of the sequence itself.
func (s *Session) rewind(n int) {
	if !s.past.has(n) {
		s.past.cut(0)
		s.past.low = 0
	}
	s.length, s.pending = n, s.pending[:0]
}

// Run runs one step of function fn (an index of Program.Funcs) with the sizes set by SetDim and the inputs stored in
// the IO arena. It allocates nothing. After an error the outputs are undefined, and of the state nothing has changed
// but what the step would have written.
func (s *Session) Run(ctx context.Context, fn int) error {
	if err := s.own(); err != nil {
		return err
	}
	defer s.busy.Store(false)
	if err := s.checkIndexes(&s.model.program.Funcs[fn]); err != nil {
		return err
	}
	return s.run(ctx, fn)
}

// own reserves a session with memory of its own for one call.
func (s *Session) own() error {
	if err := s.ownsMemory(); err != nil {
		return err
	}
	if err := s.reserve(); err != nil {
		return err
	}
	s.past.cut(0) // the function may write any positions
	return nil
}

// ownsMemory refuses a session that shares the memory of its inputs with others.
func (s *Session) ownsMemory() error {
	if s.seat != nil {
		return inputError("a session of several that share memory runs no functions one by one: use Prefill, Decode or Generate")
	}
	return nil
}

// checkIndexes refuses inputs that select rows beyond the present sizes, since kernels do not check them. It first
// sets the sizes that follow from positions, as these may bound rows.
func (s *Session) checkIndexes(f *Func) error {
	s.reach(f)
	for i := range f.Inputs {
		t := &f.Inputs[i]
		for _, d := range t.Below {
			if err := s.checkBelow(t, d.eval(&s.args.Dims)); err != nil {
				return err
			}
		}
	}
	for _, a := range f.Attends {
		if err := s.checkPositions(f, a); err != nil {
			return err
		}
	}
	return nil
}

// checkBelow refuses elements of an i32 input that are not in [0, rows).
func (s *Session) checkBelow(t *Tensor, rows int) error {
	for i, v := range s.Ints(t) {
		if v < 0 || int(v) >= rows {
			return notBelow(t, i, v, rows)
		}
	}
	return nil
}

// notBelow is the error of an element that selects no row.
func notBelow(t *Tensor, i int, v int32, rows int) error {
	return inputError("%s: element %d is %d: it selects one of %d", t.Name, i, v, rows)
}

// reach sets the sizes that follow from the positions in f's inputs.
func (s *Session) reach(f *Func) {
	for _, r := range f.Reaches {
		s.args.Dims[r.Sym] = s.model.program.Symbols[r.Sym].Min
	}
	for _, r := range f.Reaches {
		size, most := &s.args.Dims[r.Sym], s.model.program.Symbols[r.Sym].Max
		for _, p := range s.Ints(&f.Inputs[r.Pos]) {
			*size = max(*size, min(int(p)+1, most))
		}
	}
}

// checkPositions refuses tokens whose position is not below the length of their sequence. The elements of the slot
// input have been checked before.
func (s *Session) checkPositions(f *Func, a Attend) error {
	slot, pos, lengths := &f.Inputs[a.Slot], &f.Inputs[a.Pos], &f.Inputs[a.Lengths]
	slots, all := s.Ints(slot), s.Ints(lengths)
	for i, p := range s.Ints(pos) {
		if at := slots[i]; int(at) >= len(all) || p >= all[at] {
			return inputError("%s: element %d is %d: it has to be below the length of sequence %d, given by %s", pos.Name, i, p, at, lengths.Name)
		}
	}
	return nil
}

// run runs one step and returns when all its work has ended.
func (s *Session) run(ctx context.Context, fn int) error {
	begin := time.Now()
	s.begin(alone)
	err := s.finish(s.submit(ctx, fn))
	s.model.stepped(ctx, begin, StepMetrics{Func: s.model.program.Funcs[fn].Name, Tokens: s.encoded(fn), Sessions: 1, Err: err})
	return err
}

// stepOrder is whether a step may begin while earlier steps of the session are in flight.
type stepOrder bool

const (
	alone       stepOrder = false // after all earlier steps have ended
	overlapping stepOrder = true
)

// begin prepares the next step. Its inputs may be written afterwards.
func (s *Session) begin(order stepOrder) {
	if s.device != nil {
		s.vacate(order)
		s.device.begin(order)
	}
	if s.model.options.Poison && order == alone {
		s.active.poison()
	}
}

// vacate lands the steps whose outputs are where the next step has its own.
func (s *Session) vacate(order stepOrder) {
	if order == alone {
		s.flow.landAll(s)
		return
	}
	s.flow.landSlot(s, s.device.upcoming())
}

// submit runs a function. Work on devices may still be in progress when it returns.
func (s *Session) submit(ctx context.Context, fn int) error {
	if s.model.watcher != nil {
		return s.observed(ctx, fn)
	}
	return s.start(ctx, fn)
}

// start is submit without an observer.
func (s *Session) start(ctx context.Context, fn int) error {
	if s.device == nil {
		return s.model.run(ctx, s, fn)
	}
	s.device.submit()
	defer s.device.submitted()
	return s.model.run(ctx, s, fn)
}

// finish returns when all steps have ended, with err and the error of any of them.
func (s *Session) finish(err error) error {
	if s.device == nil {
		return err
	}
	failed := s.device.finish()
	if failed != nil && errors.Is(err, ErrFault) {
		return failed // the worker stopped because of it
	}
	return errors.Join(err, failed)
}

// SetDim sets the size of a symbol (an index of Program.Symbols) for later steps.
func (s *Session) SetDim(symbol, n int) error {
	sym := &s.model.program.Symbols[symbol]
	if n < sym.Min || n > sym.Max {
		return inputError("%s = %d: the program was compiled for %d to %d", sym.Name, n, sym.Min, sym.Max)
	}
	s.args.Dims[symbol] = n
	return nil
}

// Dim returns the present size of a symbol.
func (s *Session) Dim(symbol int) int { return s.args.Dims[symbol] }

// Floats returns the present elements of an f32 input or output, in the IO arena itself. It works for tensors whose
// symbolic dimensions are outermost, which are dense; Store and Load handle the others. Outputs are valid until the
// next step of the session.
func (s *Session) Floats(t *Tensor) []float32 {
	return unsafe.Slice((*float32)(s.at(t)), t.elems(&s.args.Dims))
}

// Ints is Floats for i32.
func (s *Session) Ints(t *Tensor) []int32 {
	return unsafe.Slice((*int32)(s.at(t)), t.elems(&s.args.Dims))
}

func (s *Session) at(t *Tensor) unsafe.Pointer { return unsafe.Add(s.args.IO, t.Offset) }

// elems returns the number of elements at the given sizes.
func (t *Tensor) elems(dims *[MaxSymbols]int) int {
	n := 1
	for _, d := range t.Dims {
		n *= d.eval(dims)
	}
	return n
}
