package gpu

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// words are the kinds in which elements of that many bytes are copied.
var words = map[int]kir.Kind{1: kir.U8, 2: kir.U16, 4: kir.U32, 8: kir.U64}

// move copies elements of x, or blocks of them, as bytes: that at coordinates c of x to element to(c) of y, which is
// dense.
func (l *lowering) move(x, y *tensor, to func(c []*kir.Value) *kir.Value) ir.Dim {
	block, bytes := x.DType.BlockElems(), x.DType.BlockBytes()
	kind, parts := words[bytes], 1
	if block > 1 || kind == kir.Invalid {
		kind, parts = kir.U8, bytes
	}
	count := x.Elems().FloorDiv(ir.Const(int64(block))).Mul(ir.Const(int64(parts)))
	l.perThread(l.size(count), elementThreads, func(i *kir.Value) {
		at, part := i, l.zero
		if parts > 1 {
			at, part = l.Div(i, l.Int(parts)), l.Rem(i, l.Int(parts))
		}
		c := l.coords(l.Mul(at, l.Int(block)), x.shape)
		inBlocks := func(t *tensor, e *kir.Value) *kir.Value {
			return l.Add(l.At(t.base, l.Div(e, l.Int(block)), bytes), l.Offset(part, 1))
		}
		l.Store(inBlocks(y, to(c)), l.Load(kir.Scalar(kind), inBlocks(x, l.element(x, c))))
	})
	return count
}

// copyBytes copies the elements of a view to where they are dense.
func copyBytes(l *lowering) {
	l.begin("copy", elementThreads)
	x, y := l.operand(0), l.result()
	count := l.move(x, y, func(c []*kir.Value) *kir.Value { return l.element(y, c) })
	l.end(units(count, elementThreads))
}

// concat copies each operand to its part of the result.
func concat(l *lowering) {
	l.begin("concat", elementThreads)
	axis := l.n.Attr.(*ir.ConcatAttr).Axis
	y, from, most := l.result(), ir.Const(0), ir.Const(0)
	var parts []*tensor
	for i := range l.n.Args {
		parts = append(parts, l.operand(i))
	}
	for _, x := range parts {
		first := l.Mul(l.size(from), y.strides[axis])
		count := l.move(x, y, func(c []*kir.Value) *kir.Value { return l.Add(first, l.element(y, c)) })
		from, most = from.Add(x.Shape[axis]), most.Max(count)
	}
	l.end(units(most, elementThreads))
}
