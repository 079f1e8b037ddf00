package runtime

import (
	"fmt"
	"os"
	"slices"
	"unsafe"
)

// IOSize returns how many bytes the inputs and outputs of a session take, and the alignment that they need: Align, or
// with devices the size of a page. With devices the bytes hold an instance for each step that may be in flight.
func (m *Model) IOSize() (bytes int64, align int) {
	p := m.program
	if m.devices == nil {
		return p.IOBytes, Align
	}
	return wholePages(p.IOBytes) * int64(p.Devices.pipeline()), os.Getpagesize()
}

// PlaceIO moves the inputs and outputs of the session's later steps to the caller's memory, which has the size and the
// alignment that IOSize returns. Steps then read inputs from there and write outputs there, without copies: each tensor
// is at its Tensor.Offset, and Input and Output return it. Inputs in mem stay as they are. The memory has to stay as
// long as the session, or until the next PlaceIO.
//
// Memory of another alignment is refused. It can be copied from and to by Call, WriteInput and ReadOutput.
func (s *Session) PlaceIO(mem []byte) error {
	if err := s.ownsMemory(); err != nil {
		return err
	}
	if err := s.reserve(); err != nil {
		return err
	}
	defer s.busy.Store(false)
	size, align := s.model.IOSize()
	at := uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
	if int64(len(mem)) < size || at%uintptr(align) != 0 {
		return inputError("%d bytes at %#x for inputs and outputs: %s needs %d bytes at a multiple of %d", len(mem), at, s.model.program.Name, size, align)
	}
	if s.device != nil {
		return s.device.place(arena{mem[:size:size]})
	}
	s.io = arena{mem[:size:size]}
	s.args.IO = s.io.base()
	return nil
}

// place binds the devices to inputs and outputs in other memory. No step is in flight.
func (d *deviceSession) place(all arena) error {
	blocks := make([]*Block, len(d.blocks))
	for i, old := range d.blocks {
		b, err := d.set.bind(i, old.Memory, d.instance(all, i))
		if err != nil {
			return &DeviceError{err}
		}
		b.Dims, b.Step = old.Dims, old.Step
		blocks[i] = b
	}
	d.all, d.blocks = all, blocks
	d.use(blocks[d.block.Slot])
	return nil
}

// instance returns the part of all inputs and outputs that a step in flight has.
func (d *deviceSession) instance(all arena, slot int) arena {
	n := d.session.model.program.IOBytes
	at := int64(slot) * wholePages(n)
	return arena{all.bytes[at : at+n]}
}

// Input returns an input of function fn (an index of Program.Funcs) where the session has it, with its present sizes.
// It is valid until the next step begins.
func (s *Session) Input(fn int, name string) (Array, error) {
	f := &s.model.program.Funcs[fn]
	return s.tensorAt(f, f.Inputs, name, "input")
}

// Output is Input for an output of the last step, which has to be one of function fn.
func (s *Session) Output(fn int, name string) (Array, error) {
	f := &s.model.program.Funcs[fn]
	return s.tensorAt(f, f.Outputs, name, "output")
}

// ReadOutput returns a copy of an output of the last step, which has to be one of function fn.
func (s *Session) ReadOutput(fn int, name string) (Array, error) {
	a, err := s.Output(fn, name)
	a.Data = slices.Clone(a.Data)
	return a, err
}

// WriteInput sets the sizes of an input of function fn and copies its elements, for a later Run.
func (s *Session) WriteInput(fn int, name string, a Array) error {
	f := &s.model.program.Funcs[fn]
	t := f.Input(name)
	switch {
	case t == nil:
		return noTensor(f, f.Inputs, name, "input")
	case a.Type != t.Type || len(a.Shape) != len(t.Dims):
		return inputError("%s: %s is %v %s; given is %v %s", f.Name, name, t.Type, s.model.program.shape(t), a.Type, tuple(a.Shape))
	}
	if err := s.ownsMemory(); err != nil {
		return err
	}
	if err := s.reserve(); err != nil {
		return err
	}
	defer s.busy.Store(false)
	was := s.args.Dims
	err := s.sizeByShape(t, a)
	if n := t.Type.Bytes(t.elems(&s.args.Dims)); err == nil && len(a.Data) != n {
		err = inputError("%s: %s has %d bytes, its shape %s needs %d", f.Name, name, len(a.Data), tuple(a.Shape), n)
	}
	if err != nil {
		s.args.Dims = was
		return err
	}
	s.store(t, a.Data)
	return nil
}

// sizeByShape sets the symbols of a tensor to the sizes that an array has.
func (s *Session) sizeByShape(t *Tensor, a Array) error {
	for i, d := range t.Dims {
		if n, ok := d.invert(a.Shape[i]); ok {
			if err := s.SetDim(d.Sym, n); err != nil {
				return fmt.Errorf("%s: %w", t.Name, err)
			}
		}
	}
	for i, d := range t.Dims {
		if a.Shape[i] != d.eval(&s.args.Dims) {
			return s.shapeError(t, a)
		}
	}
	return nil
}

// tensorAt returns one of a function's tensors in place.
func (s *Session) tensorAt(f *Func, list []Tensor, name, kind string) (Array, error) {
	if err := s.ownsMemory(); err != nil {
		return Array{}, err
	}
	s.settle()
	t := find(list, name)
	if t == nil {
		return Array{}, noTensor(f, list, name, kind)
	}
	return s.view(t), nil
}

// noTensor describes a name that a function does not have.
func noTensor(f *Func, list []Tensor, name, kind string) error {
	return inputError("%s has no %s %q: it has %s", f.Name, kind, name, signature(list))
}
