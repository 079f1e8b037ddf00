package gpu

import "github.com/ggmlc/ggmlc/kernels/gpu/kir"

// take copies elements of rows.
func take(l *lowering) {
	l.begin("take", elementThreads)
	x, idx, y := l.operand(0), l.operand(1), l.result()
	elems := y.Elems()
	k, inner := l.size(y.Inner()), l.innerStride(x)
	l.perThread(l.size(elems), elementThreads, func(i *kir.Value) {
		from := l.loadI32(idx, l.element(idx, l.coords(i, y.shape)))
		l.store(y, i, l.load(x, l.Add(l.row(x, l.Div(i, k)), l.Mul(from, inner))))
	})
	l.end(units(elems, elementThreads))
}

// expertsSum adds the weighted results of the experts of each token, in order.
func expertsSum(l *lowering) {
	l.begin("experts_sum", elementThreads)
	y, p, z := l.operand(0), l.operand(1), l.result()
	elems := z.Elems()
	l.perThread(l.size(elems), elementThreads, func(i *kir.Value) {
		c := l.coords(i, z.shape)
		sum := l.For(l.zero, y.shape[1], l.one, []*kir.Value{l.Float(0)}, func(e *kir.Value, s []*kir.Value) []*kir.Value {
			share := l.load(p, l.element(p, []*kir.Value{c[0], e}))
			return []*kir.Value{l.FMA(share, l.load(y, l.element(y, []*kir.Value{c[0], e, c[1]})), s[0])}
		})
		l.store(z, i, sum[0])
	})
	l.end(units(elems, elementThreads))
}
