package runtime

import (
	"context"
	"slices"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
)

// StateInfo describes a state of sessions: its place, its type and its shape at the bounds of all symbols.
type StateInfo struct {
	Name   string
	Type   dtype.DType
	Layout dtype.Layout
	Dims   []int // outermost first

	Memory        int   // its chunk: a number of Layout.Memory, which without devices is 0
	Offset, Bytes int64 // in that chunk

	// Of a state [Sequences, Heads, rows, elements] of a language model. The rows of positions follow each other, or in
	// layouts of panels groups of them. Heads is 0 for a state of another shape.
	Heads int
	Rows  int // of a ring; 0: there is a row for each position
}

// State returns the state with that name, or nil.
func (p *Program) State(name string) *StateInfo {
	for i := range p.States {
		if p.States[i].Name == name {
			return &p.States[i]
		}
	}
	return nil
}

// checkStateTable panics when a state is outside of its memory.
func (p *Program) checkStateTable() {
	for i := range p.States {
		st := &p.States[i]
		limit := p.StateBytes
		if p.Devices != nil {
			limit = p.Devices.stateBytes(st.Memory)
		}
		if st.Offset < 0 || st.Bytes < 0 || st.Offset > limit-st.Bytes {
			p.broken("the state %q has %d bytes at %d, in a chunk of %d", st.Name, st.Bytes, st.Offset, limit)
		}
	}
}

// ReadState returns the elements of a state, dense and in row-major order, for any layout in which the program
// stores them. Elements of a quantized type are blocks of that type.
func (s *Session) ReadState(name string) (Array, error) {
	st, err := s.StartReadState(context.Background(), name)
	if err != nil {
		return Array{}, err
	}
	return st.Wait()
}

// WriteState sets all elements of a state, given as ReadState returns them.
func (s *Session) WriteState(name string, a Array) error {
	st, err := s.StartWriteState(context.Background(), name, a)
	if err != nil {
		return err
	}
	return st.Wait()
}

// StateStep is a ReadState in progress.
type StateStep struct {
	step  *Step
	array Array
}

// Wait returns when the state has been read, with its elements, which are the caller's. See Step.Wait.
func (st *StateStep) Wait() (Array, error) {
	if err := st.step.Wait(); err != nil {
		return Array{}, err
	}
	return st.array, nil
}

// StartReadState is ReadState without the wait. It reads the state as the steps that were started before leave it. A
// device copies while the host continues.
func (s *Session) StartReadState(ctx context.Context, name string) (*StateStep, error) {
	info, err := s.stateNamed(name)
	if err != nil {
		return nil, err
	}
	st := &StateStep{step: &Step{fn: noFunc}}
	st.step.run = func(ctx context.Context) (func() error, error) {
		if ctx.Err() != nil {
			return nil, cancelled(ctx)
		}
		s.begin(alone)
		stored := make([]byte, info.Bytes)
		done, err := s.copyState(info, stored, fromState)
		if err != nil {
			return nil, err
		}
		return s.later(func() error {
			if err := done(); err != nil {
				return err
			}
			data, err := info.plain(stored)
			st.array = Array{Type: info.Type, Shape: slices.Clone(info.Dims), Data: data}
			return err
		})
	}
	return started(st, s.enqueue(ctx, st.step))
}

// StartWriteState is WriteState without the wait. The array must not change before Wait returns.
func (s *Session) StartWriteState(ctx context.Context, name string, a Array) (*Step, error) {
	info, err := s.stateNamed(name)
	if err != nil {
		return nil, err
	}
	if a.Type != info.Type || !slices.Equal(a.Shape, info.Dims) || len(a.Data) != info.plainBytes() {
		return nil, inputError("state %q is %v %s, %d bytes; given is %v %s, %d bytes", name, info.Type, tuple(info.Dims), info.plainBytes(), a.Type, tuple(a.Shape), len(a.Data))
	}
	st := &Step{fn: noFunc}
	st.run = func(ctx context.Context) (func() error, error) {
		if ctx.Err() != nil {
			return nil, cancelled(ctx)
		}
		s.begin(alone)
		s.past.cut(0) // the positions are not those of the tokens any more
		done, err := s.copyState(info, info.stored(a.Data), toState)
		if err != nil {
			return nil, err
		}
		return s.later(done)
	}
	return started(st, s.enqueue(ctx, st))
}

// noFunc is the function of steps that run none: no step overlaps with them.
const noFunc = -1

// stateNamed finds a state that s can read and write as a whole.
func (s *Session) stateNamed(name string) (*StateInfo, error) {
	p := s.model.program
	info := p.State(name)
	switch {
	case info == nil && len(p.States) == 0:
		return nil, inputError("there is no state %q: %s has none", name, p.Name)
	case info == nil:
		return nil, inputError("there is no state %q: %s has %d, the first is %q", name, p.Name, len(p.States), p.States[0].Name)
	case s.seat != nil:
		return nil, inputError("state %q is that of several sessions, which share memory: use Save and Load, or a session of NewSession", name)
	case info.Layout == dtype.Planar:
		return nil, inputError("state %q is stored in planes, which only the device reads: use Save and Load", name)
	}
	return info, nil
}

// direction is that of a copy between a state and memory of the host.
type direction bool

const (
	fromState direction = false
	toState   direction = true
)

// copyState begins to copy all bytes of a state, and returns what waits until it is done.
func (s *Session) copyState(info *StateInfo, host []byte, d direction) (done func() error, err error) {
	if b := s.hostState(info); b != nil {
		if d == toState {
			copy(b, host)
		} else {
			copy(host, b)
		}
		return func() error { return nil }, nil
	}
	f := s.device.ferry(hostMemory(host))
	at, buffer := Span{info.Memory, int(info.Offset)}, Span{Memory: len(s.device.memories())}
	if d == toState {
		err = f.copy(at, buffer, 1, len(host), 0)
	} else {
		err = f.copy(buffer, at, 1, len(host), 0)
	}
	return f.wait, err
}

// hostState returns the bytes of a state in memory of the host, or nil.
func (s *Session) hostState(info *StateInfo) []byte {
	if s.device == nil {
		return s.state.bytes[info.Offset : info.Offset+info.Bytes]
	}
	if m, ok := s.device.memories()[info.Memory].(HostMemory); ok {
		return m.slice()[info.Offset : info.Offset+info.Bytes]
	}
	return nil
}

// slice returns the bytes of the memory.
func (m HostMemory) slice() []byte { return unsafe.Slice((*byte)(m.Base), m.Size) }

// matrices returns a state as n matrices of so many rows and columns.
func (st *StateInfo) matrices() (n, rows, cols int) {
	n, rows, cols = 1, 1, 1
	for i, d := range st.Dims {
		switch len(st.Dims) - i {
		case 1:
			cols = d
		case 2:
			rows = d
		default:
			n *= d
		}
	}
	return n, rows, cols
}

// plainBytes returns the size of the elements in row-major order.
func (st *StateInfo) plainBytes() int {
	n, rows, cols := st.matrices()
	return n * rows * st.Type.RowBytes(cols)
}

// plain returns the elements of a state in row-major order, given its bytes, which may become the result.
func (st *StateInfo) plain(stored []byte) ([]byte, error) {
	if st.Layout == dtype.Plain {
		return stored, nil
	}
	n, rows, cols := st.matrices()
	out, each := make([]byte, 0, st.plainBytes()), len(stored)/max(n, 1)
	for i := range n {
		plain := make([]byte, rows*st.Type.RowBytes(cols))
		tile.Unpack(st.Type, plain, stored[i*each:(i+1)*each], rows, cols)
		out = append(out, plain...)
	}
	return out, nil
}

// stored returns the bytes of a state, given its elements in row-major order.
func (st *StateInfo) stored(plain []byte) []byte {
	if st.Layout == dtype.Plain {
		return plain
	}
	n, rows, cols := st.matrices()
	out := make([]byte, st.Bytes)
	each, size := len(out)/max(n, 1), rows*st.Type.RowBytes(cols)
	for i := range n {
		tile.Pack(st.Type, out[i*each:(i+1)*each], plain[i*size:(i+1)*size], rows, cols)
	}
	return out
}
