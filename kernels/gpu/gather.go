package gpu

import "github.com/ggmlc/ggmlc/kernels/gpu/kir"

// gather copies rows of a table, as f32.
func gather(l *lowering) {
	l.begin("gather", elementThreads)
	table, idx, y := l.tensor(l.n.Args[0]), l.tensor(l.n.Args[1]), l.tensor(l.n.Result())
	elems := y.Elems()
	l.perThread(l.size(elems), elementThreads, func(i *kir.Value) {
		c := l.coords(i, y.shape)
		row := l.loadI32(idx, l.element(idx, c[:1]))
		l.store(y, i, l.load(table, l.element(table, []*kir.Value{row, c[1]})))
	})
	l.end(units(elems, elementThreads))
}
