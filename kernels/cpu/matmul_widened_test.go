package cpu_test

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu"
	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
	kt "github.com/ggmlc/ggmlc/kernels/kerneltest"
)

// partSizes are products of more than one part, and such that just fill one: parts have 24 rows, 64
// columns and 512 of k.
var partSizes = []struct{ rows, n, k int }{
	{2, 16, 511}, {3, 65, 512}, {5, 130, 513}, {23, 64, 514}, {24, 63, 1023}, {25, 129, 1024}, {31, 48, 1025}, {49, 81, 1539},
}

// bf16Products are all products of bf16. Those of two weights ignore res.
var bf16Products = []struct {
	name  string
	bytes int // of an element of the result
	run   func(o *operands, y unsafe.Pointer, r0, r1, c0, c1 int)
}{
	{"matmul", 4, func(o *operands, y unsafe.Pointer, r0, r1, c0, c1 int) {
		cpu.MatMulBF16(y, o.x.Pointer(), o.w.Pointer(), nil, weights(o.n, o.k), r0, r1, c0, c1)
	}},
	{"matmul with res", 4, func(o *operands, y unsafe.Pointer, r0, r1, c0, c1 int) {
		cpu.MatMulBF16(y, o.x.Pointer(), o.w.Pointer(), o.res.Pointer(), weights(o.n, o.k), r0, r1, c0, c1)
	}},
	{"swiglu", 4, func(o *operands, y unsafe.Pointer, r0, r1, c0, c1 int) {
		cpu.MatMulSwiGLUBF16(y, o.x.Pointer(), o.w.Pointer(), o.up.Pointer(), weights(o.n, o.k), r0, r1, c0, c1)
	}},
	{"swiglu to bf16", 2, func(o *operands, y unsafe.Pointer, r0, r1, c0, c1 int) {
		cpu.MatMulSwiGLUBF16ToBF16(y, o.x.Pointer(), o.w.Pointer(), o.up.Pointer(), weights(o.n, o.k), r0, r1, c0, c1)
	}},
}

// TestBF16Parts demands that products of several rows have the bits that each row has alone, whole and in
// boxes that write nothing outside of them.
func TestBF16Parts(t *testing.T) {
	kt.ForEach(t, func(t *testing.T) {
		for _, s := range partSizes {
			o := newOperands(t, dtype.BF16, s.rows, s.n, s.k, 2)
			for _, p := range bf16Products {
				what := fmt.Sprintf("%s of %v", p.name, s)
				size := s.rows * s.n * p.bytes
				whole, alone, cut := kt.NewBuffer(size, 0), kt.NewBuffer(size, 0), kt.NewBuffer(size, 0)
				p.run(o, whole.Pointer(), 0, s.rows, 0, s.n)
				whole.Check(t, what)
				for r := range s.rows {
					p.run(o, alone.Pointer(), r, r+1, 0, s.n)
				}
				for _, b := range kt.Boxes(kt.Rand(t), s.rows, s.n, tile.ColumnGranule) {
					one := kt.NewBuffer(size, 0)
					p.run(o, one.Pointer(), b[0], b[1], b[2], b[3])
					one.Owned(t, what, s.n*p.bytes, b[0], b[1], p.bytes*b[2], p.bytes*b[3])
					p.run(o, cut.Pointer(), b[0], b[1], b[2], b[3])
				}
				kt.Same(t, what+", rows alone", whole, alone)
				kt.Same(t, what+", in boxes", cut, alone)
			}
		}
	})
}

// TestBF16PartsInPlace adds a product to the matrix that it is written to.
func TestBF16PartsInPlace(t *testing.T) {
	kt.ForEach(t, func(t *testing.T) {
		o := newOperands(t, dtype.BF16, 27, 70, 600, 0)
		want, got := kt.NewBuffer(27*70*4, 0), kt.NewFloats(o.res.Floats(), 0)
		cpu.MatMulBF16(want.Pointer(), o.x.Pointer(), o.w.Pointer(), o.res.Pointer(), weights(o.n, o.k), 0, o.rows, 0, o.n)
		cpu.MatMulBF16(got.Pointer(), o.x.Pointer(), o.w.Pointer(), got.Pointer(), weights(o.n, o.k), 0, o.rows, 0, o.n)
		kt.Same(t, "in place", got, want)
	})
}

// TestBF16PartsAgainstGo compares all implementations with pure Go, but where tile registers add in another
// order.
func TestBF16PartsAgainstGo(t *testing.T) {
	for _, s := range partSizes {
		o := newOperands(t, dtype.BF16, s.rows, s.n, s.k, 0)
		var want *kt.Buffer
		kt.ForEach(t, func(t *testing.T) {
			if deepBF16(s.k) {
				t.Skip("skip: tile registers add in another order")
			}
			y := kt.NewBuffer(s.rows*s.n*4, 0)
			cpu.MatMulBF16(y.Pointer(), o.x.Pointer(), o.w.Pointer(), nil, weights(s.n, s.k), 0, s.rows, 0, s.n)
			if want == nil {
				want = y
			}
			kt.Same(t, fmt.Sprint(s), y, want)
		})
	}
}
