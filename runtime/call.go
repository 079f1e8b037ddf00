package runtime

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Call runs function fn (an index of Program.Funcs) once.
//
// in holds a slice for each input, dense and in row-major order. out holds a pointer to a slice for each output,
// which Call sets to a new slice. Element types are float32, float64, int8, int32, int64, uint8 and bool according to
// the tensor's dtype, and uint16 for the bits of f16 and bf16. The sizes of symbols follow from the lengths of the
// inputs, which have to determine all of them.
//
// The typed methods of generated packages call it. It allocates nothing but the outputs.
func (s *Session) Call(ctx context.Context, fn int, in, out []any) error {
	if err := s.own(); err != nil {
		return err
	}
	defer s.busy.Store(false)
	f := &s.model.program.Funcs[fn]
	arrays, err := inputArrays(f, in, out)
	if err != nil {
		return err
	}
	if err := s.sizeByLengths(f, arrays); err != nil {
		return err
	}
	if err := s.enterArrays(ctx, fn, arrays); err != nil {
		return err
	}
	for i := range f.Outputs {
		t := &f.Outputs[i]
		s.load(t, allocate(out[i], t.elems(&s.args.Dims)))
	}
	return nil
}

// enterArrays stores the inputs and runs the function.
func (s *Session) enterArrays(ctx context.Context, fn int, arrays [][]byte) error {
	if err := s.storeArrays(&s.model.program.Funcs[fn], arrays); err != nil {
		return err
	}
	return s.run(ctx, fn)
}

// storeArrays stores the inputs of a step and checks inputs that select rows.
func (s *Session) storeArrays(f *Func, arrays [][]byte) error {
	for i := range f.Inputs {
		s.store(&f.Inputs[i], arrays[i])
	}
	return s.checkIndexes(f)
}

// inputArrays returns the bytes of the inputs after checking all types.
func inputArrays(f *Func, in, out []any) ([][]byte, error) {
	if len(in) != len(f.Inputs) || len(out) != len(f.Outputs) {
		return nil, inputError("%s takes %d inputs and has %d outputs, not %d and %d", f.Name, len(f.Inputs), len(f.Outputs), len(in), len(out))
	}
	arrays := make([][]byte, len(in))
	for i, v := range in {
		t := &f.Inputs[i]
		b, ok := bytesOf(v, t.Type)
		if !ok {
			return nil, inputError("%s: input %s is %v, which a %T cannot hold", f.Name, t.Name, t.Type, v)
		}
		arrays[i] = b
	}
	for i, p := range out {
		if t := &f.Outputs[i]; !holds(p, t.Type) {
			return nil, inputError("%s: output %s is %v, which a %T cannot point to", f.Name, t.Name, t.Type, p)
		}
	}
	return arrays, nil
}

// bytesOf returns the memory of a slice whose element type represents d.
func bytesOf(v any, d dtype.DType) ([]byte, bool) {
	switch v := v.(type) {
	case []float32:
		return raw(v), d == dtype.F32
	case []float64:
		return raw(v), d == dtype.F64
	case []int8:
		return raw(v), d == dtype.I8
	case []int32:
		return raw(v), d == dtype.I32
	case []int64:
		return raw(v), d == dtype.I64
	case []uint8:
		return v, d == dtype.U8
	case []uint16:
		return raw(v), d == dtype.F16 || d == dtype.BF16
	case []bool:
		return raw(v), d == dtype.Bool
	}
	return nil, false
}

// holds reports whether p points to a slice that bytesOf takes.
func holds(p any, d dtype.DType) bool {
	switch p.(type) {
	case *[]float32:
		return d == dtype.F32
	case *[]float64:
		return d == dtype.F64
	case *[]int8:
		return d == dtype.I8
	case *[]int32:
		return d == dtype.I32
	case *[]int64:
		return d == dtype.I64
	case *[]uint8:
		return d == dtype.U8
	case *[]uint16:
		return d == dtype.F16 || d == dtype.BF16
	case *[]bool:
		return d == dtype.Bool
	}
	return false
}

// allocate sets *p to a new slice of n elements and returns its memory.
func allocate(p any, n int) []byte {
	switch p := p.(type) {
	case *[]float32:
		return renew(p, n)
	case *[]float64:
		return renew(p, n)
	case *[]int8:
		return renew(p, n)
	case *[]int32:
		return renew(p, n)
	case *[]int64:
		return renew(p, n)
	case *[]uint8:
		return renew(p, n)
	case *[]uint16:
		return renew(p, n)
	case *[]bool:
		return renew(p, n)
	}
	panic("runtime: internal error: allocate after holds")
}

func renew[T any](p *[]T, n int) []byte {
	*p = make([]T, n)
	return raw(*p)
}

// raw returns the memory of a slice.
func raw[T any](v []T) []byte {
	var t T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(t)))
}

// sizeByLengths sets the symbols that the inputs' lengths determine, then checks all lengths. A tensor determines a
// symbol if all its other symbols are known.
func (s *Session) sizeByLengths(f *Func, arrays [][]byte) error {
	var known [MaxSymbols]bool
	for progress := true; progress; {
		progress = false
		for i := range f.Inputs {
			t := &f.Inputs[i]
			sym, n, ok := t.solve(len(arrays[i])/t.Type.BlockBytes(), &s.args.Dims, &known)
			if !ok {
				continue
			}
			if err := s.SetDim(sym, n); err != nil {
				return fmt.Errorf("%s: %w", t.Name, err)
			}
			known[sym], progress = true, true
		}
	}
	for i := range f.Inputs {
		t := &f.Inputs[i]
		for _, d := range t.Dims {
			if d.Scale != 0 && !known[d.Sym] {
				return inputError("%s has %d elements, which does not determine %s", t.Name, len(arrays[i])/t.Type.BlockBytes(), s.model.program.Symbols[d.Sym].Name)
			}
		}
		if want, got := t.elems(&s.args.Dims), len(arrays[i])/t.Type.BlockBytes(); want != got {
			return inputError("%s has %d elements, %s needs %d (%s)", t.Name, got, f.Name, want, s.sizes())
		}
	}
	return nil
}

// solve finds the size of the one unknown symbol of a tensor of n elements.
func (t *Tensor) solve(n int, dims *[MaxSymbols]int, known *[MaxSymbols]bool) (sym, size int, ok bool) {
	rest, at := 1, -1
	for i, d := range t.Dims {
		switch {
		case d.Scale == 0 || known[d.Sym]:
			rest *= d.eval(dims)
		case at >= 0:
			return 0, 0, false
		default:
			at = i
		}
	}
	if at < 0 || rest == 0 || n%rest != 0 {
		return 0, 0, false
	}
	size, ok = t.Dims[at].invert(n / rest)
	return t.Dims[at].Sym, size, ok
}

// invert returns the symbol's size for which the extent is n.
func (d Dim) invert(n int) (int, bool) {
	if d.Scale == 0 || (n-d.Const)%d.Scale != 0 {
		return 0, false
	}
	return (n - d.Const) / d.Scale, true
}

// sizes prints the present size of every symbol, for an error.
func (s *Session) sizes() string {
	text := ""
	for i, sym := range s.model.program.Symbols {
		text += fmt.Sprintf(", %s = %d", sym.Name, s.args.Dims[i])
	}
	if text == "" {
		return "all sizes are fixed"
	}
	return text[2:]
}

// store copies a dense array into the arena, unless it is there already: the caller may have it from Input.
func (s *Session) store(t *Tensor, dense []byte) {
	to := s.bytes(t, len(dense))
	if unsafe.SliceData(to) != unsafe.SliceData(dense) {
		copy(to, dense)
	}
}

// load copies a tensor out of the arena into a dense array.
func (s *Session) load(t *Tensor, dense []byte) { copy(dense, s.bytes(t, len(dense))) }

// bytes returns the first n bytes of t in the arena. Elements are dense in the actual sizes there, as emitted code
// computes its strides from them.
func (s *Session) bytes(t *Tensor, n int) []byte {
	return s.io.bytes[t.Offset : t.Offset+int64(t.extent(s.model.program))][:n]
}

// copyOut copies a tensor out of an arena of inputs and outputs into a dense array.
func copyOut(dense []byte, io arena, t *Tensor) { copy(dense, io.bytes[t.Offset:]) }
