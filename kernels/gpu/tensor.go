package gpu

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// tensor is an operand or result as a kernel addresses it.
type tensor struct {
	ir.Type
	base    *kir.Value
	shape   []*kir.Value
	strides []*kir.Value // in elements
	aligned *kir.Value   // whether the address is a multiple of alignment; nil if no one asked
}

// operand returns operand i of the node, which is plain.
func (l *lowering) operand(i int) *tensor { return l.tensor(l.n.Args[i], l.operands[i], dtype.Plain) }

// matrix returns operand i, which is read as formatOf tells.
func (l *lowering) matrix(i int) *tensor {
	return l.tensor(l.n.Args[i], l.operands[i], dtype.Plain, dtype.Planar)
}

// result returns the node's result, which is plain.
func (l *lowering) result() *tensor { return l.tensor(l.n.Result(), l.y, dtype.Plain) }

// tensor returns the tensor at an address of a value that is in one of some layouts.
func (l *lowering) tensor(v *ir.Value, base *kir.Value, layouts ...dtype.Layout) *tensor {
	if !slices.Contains(layouts, v.Type.Layout) {
		l.refuse("%v is in layout %v", v, v.Type.Layout)
	}
	if n := reach(v.Type); n > maxElems {
		l.refuse("%v reaches over %d elements, more than %d", v, n, int64(maxElems))
	}
	t := &tensor{Type: v.Type, base: base}
	for _, d := range v.Type.Shape {
		t.shape = append(t.shape, l.size(d))
	}
	for _, d := range v.Type.StrideDims() {
		t.strides = append(t.strides, l.size(d))
	}
	return t
}

// maxElems is how many elements a kernel counts: in i32, with room for the last step of a loop over them.
const maxElems = 1<<31 - 1<<20

// reach returns the number of elements from the first to the last of a tensor, at the upper bounds of symbols.
func reach(t ir.Type) int64 {
	return t.MaxBytes() / int64(t.DType.BlockBytes()) * int64(t.DType.BlockElems())
}

// coords returns the coordinates of element i of the first axes of a shape, in row order. All but the first extent
// divide.
func (l *lowering) coords(i *kir.Value, shape []*kir.Value) []*kir.Value {
	c := make([]*kir.Value, len(shape))
	for a := len(shape) - 1; a > 0; a-- {
		c[a] = l.Rem(i, shape[a])
		i = l.Div(i, shape[a])
	}
	if len(c) > 0 {
		c[0] = i
	}
	return c
}

// element returns the number of the element at coordinates, counted in elements from the first; fewer coordinates than
// axes name the first element there.
func (l *lowering) element(t *tensor, coords []*kir.Value) *kir.Value {
	at := l.zero
	for a, c := range coords {
		at = l.Add(at, l.Mul(c, t.strides[a]))
	}
	return at
}

// row returns the number of the first element of row r, of all rows in row order.
func (l *lowering) row(t *tensor, r *kir.Value) *kir.Value {
	n := max(t.Rank()-1, 0)
	return l.element(t, l.coords(r, t.shape[:n]))
}

// innerStride returns the elements from one to the next of a row.
func (l *lowering) innerStride(t *tensor) *kir.Value {
	if len(t.strides) == 0 {
		return l.one
	}
	return t.strides[len(t.strides)-1]
}

// load returns element number e as f32. Elements of block formats are counted in row order.
func (l *lowering) load(t *tensor, e *kir.Value) *kir.Value {
	switch t.DType {
	case dtype.F32:
		return l.Load(kir.Scalar(kir.F32), l.At(t.base, e, 4))
	case dtype.F16:
		return l.Convert(l.Load(kir.Scalar(kir.F16), l.At(t.base, e, 2)), kir.F32)
	case dtype.BF16:
		return l.Convert(l.Load(kir.Scalar(kir.BF16), l.At(t.base, e, 2)), kir.F32)
	case dtype.Q8_0:
		return l.loadQ8_0(t, e)
	case dtype.Q4_0:
		return l.loadQ4_0(t, e)
	}
	l.refuse("elements of %v", t.DType)
	return l.Float(0)
}

// store stores an f32 as element number e.
func (l *lowering) store(t *tensor, e, x *kir.Value) {
	switch t.DType {
	case dtype.F32:
		l.Store(l.At(t.base, e, 4), x)
	case dtype.F16:
		l.Store(l.At(t.base, e, 2), l.Convert(x, kir.F16))
	case dtype.BF16:
		l.Store(l.At(t.base, e, 2), l.Convert(x, kir.BF16))
	default:
		l.refuse("results of %v", t.DType)
	}
}

// loadI32 returns element number e of an i32 tensor.
func (l *lowering) loadI32(t *tensor, e *kir.Value) *kir.Value {
	if t.DType != dtype.I32 {
		l.refuse("indices of %v", t.DType)
	}
	return l.Load(kir.Scalar(kir.I32), l.At(t.base, e, 4))
}

// block returns the address of the block of element e, and the number of the element in it.
func (l *lowering) block(t *tensor, e *kir.Value) (address, at *kir.Value) {
	n := l.Int(t.DType.BlockElems())
	return l.At(t.base, l.Div(e, n), t.DType.BlockBytes()), l.Rem(e, n)
}

// scale returns the f16 at an address as f32.
func (l *lowering) scaleAt(address *kir.Value) *kir.Value {
	return l.Convert(l.Load(kir.Scalar(kir.F16), address), kir.F32)
}

// loadQ8_0 decodes an element of a block of 32: an f16 scale and 32 signed bytes (ggml's block_q8_0).
func (l *lowering) loadQ8_0(t *tensor, e *kir.Value) *kir.Value {
	address, at := l.block(t, e)
	q := l.Load(kir.Scalar(kir.I8), l.Add(address, l.Offset(l.Add(at, l.Int(2)), 1)))
	return l.Mul(l.scaleAt(address), l.Convert(q, kir.F32))
}

// loadQ4_0 decodes an element of a block of 32: an f16 scale and 16 bytes; byte j has element j in its low half and
// element j+16 in its high half, each plus 8 (ggml's block_q4_0).
func (l *lowering) loadQ4_0(t *tensor, e *kir.Value) *kir.Value {
	address, at := l.block(t, e)
	pair := l.Load(kir.Scalar(kir.U8), l.Add(address, l.Offset(l.Add(l.Rem(at, l.Int(16)), l.Int(2)), 1)))
	shift := l.Bitcast(l.Mul(l.Div(at, l.Int(16)), l.Int(4)), kir.Scalar(kir.U32))
	q := l.And(l.Shr(l.Convert(pair, kir.U32), shift), l.Uint(15))
	return l.Mul(l.scaleAt(address), l.Convert(l.Sub(l.Bitcast(q, kir.Scalar(kir.I32)), l.Int(8)), kir.F32))
}
