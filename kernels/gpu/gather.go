package gpu

import "github.com/ggmlc/ggmlc/kernels/gpu/kir"

// gather copies rows of a table, as f32.
func gather(l *lowering) {
	l.begin("gather", elementThreads)
	table, idx, y := l.tensor(l.n.Args[0]), l.tensor(l.n.Args[1]), l.tensor(l.n.Result())
	if table.DType.BlockElems() > 1 {
		l.gatherBlocks(table, idx, y)
		return
	}
	elems := y.Elems()
	l.perThread(l.size(elems), elementThreads, func(i *kir.Value) {
		c := l.coords(i, y.shape)
		row := l.loadI32(idx, l.element(idx, c[:1]))
		l.store(y, i, l.load(table, l.element(table, []*kir.Value{row, c[1]})))
	})
	l.end(units(elems, elementThreads))
}

// gatherBlocks copies runs of rows of a table of blocks, each in one thread.
func (l *lowering) gatherBlocks(table, idx, y *tensor) {
	f, ok := formats[table.DType]
	if !ok {
		l.refuse("elements of %v", table.DType)
		return
	}
	from := vectors{f}
	runs := units(y.Elems(), f.length)
	each := l.size(units(y.Inner(), f.length))
	l.perThread(l.size(runs), elementThreads, func(i *kir.Value) {
		to := l.Div(i, each)
		row := from.row(l, table, l.loadI32(idx, l.element(idx, []*kir.Value{to})))
		r := from.run(l, table, row, l.Rem(i, each))
		first := l.Add(l.Mul(to, y.strides[0]), r.first)
		for _, p := range r.pieces {
			x := l.scaled(p.x, r)
			for lane := range 4 {
				l.store(y, l.Add(first, l.Int(p.at+lane)), l.Extract(x, lane))
			}
		}
	})
	l.end(units(runs, elementThreads))
}
