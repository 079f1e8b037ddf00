package gpu

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// stateWrite writes rows of tokens to their sequences and positions.
func stateWrite(l *lowering) {
	l.begin("state_write", elementThreads)
	state, x, slot, pos := l.tensor(l.n.Args[0]), l.tensor(l.n.Args[1]), l.tensor(l.n.Args[2]), l.tensor(l.n.Args[3])
	elems := x.Elems()
	l.perThread(l.size(elems), elementThreads, func(i *kir.Value) {
		c := l.coords(i, x.shape)
		s, p := l.loadI32(slot, l.element(slot, c[:1])), l.loadI32(pos, l.element(pos, c[:1]))
		to := []*kir.Value{s, c[1], p, c[2]}
		l.store(state, l.element(state, to), l.load(x, l.element(x, c)))
	})
	l.end(units(elems, elementThreads))
}

// cast converts each element to another dtype.
func cast(l *lowering) {
	l.begin("cast", elementThreads)
	x, y := l.tensor(l.n.Args[0]), l.tensor(l.n.Result())
	elems := y.Elems()
	l.perThread(l.size(elems), elementThreads, func(i *kir.Value) {
		l.store(y, i, l.load(x, l.element(x, l.coords(i, y.shape))))
	})
	l.end(units(elems, elementThreads))
}

// words are the kinds in which elements of that many bytes are copied.
var words = map[int]kir.Kind{1: kir.U8, 2: kir.U16, 4: kir.U32, 8: kir.U64}

// copyBytes copies the elements of a view to where they are dense. A block is copied byte by byte.
func copyBytes(l *lowering) {
	l.begin("copy", elementThreads)
	x, y := l.tensor(l.n.Args[0]), l.tensor(l.n.Result())
	block, bytes := x.DType.BlockElems(), x.DType.BlockBytes()
	kind, parts := words[bytes], 1
	if block > 1 || kind == kir.Invalid {
		kind, parts = kir.U8, bytes
	}
	elems := y.Elems().FloorDiv(ir.Const(int64(block)))
	count := elems.Mul(ir.Const(int64(parts)))
	l.perThread(l.size(count), elementThreads, func(i *kir.Value) {
		at, part := i, l.zero
		if parts > 1 {
			at, part = l.Div(i, l.Int(parts)), l.Rem(i, l.Int(parts))
		}
		from := l.Div(l.element(x, l.coords(l.Mul(at, l.Int(block)), y.shape)), l.Int(block))
		get := l.Add(l.At(x.base, from, bytes), l.Offset(part, 1))
		l.Store(l.Add(l.At(y.base, at, bytes), l.Offset(part, 1)), l.Load(kir.Scalar(kind), get))
	})
	l.end(units(count, elementThreads))
}
