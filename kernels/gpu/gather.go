package gpu

import "github.com/ggmlc/ggmlc/kernels/gpu/kir"

// gather copies rows of a table, as f32. A thread copies a run of elements, if rows consist of runs.
func gather(l *lowering) {
	if l.n.Args[0].Type.DType.BlockElems() > 1 {
		l.gatherBlocks()
		return
	}
	each := 1
	if l.n.Result().Type.Inner().DivisibleBy(runLen) {
		each = runLen
	}
	count := units(l.n.Result().Type.Elems(), each)
	threads := threadsFor(count)
	l.begin("gather", threads)
	table, idx, y := l.operand(0), l.operand(1), l.result()
	runs := each > 1 && l.prepareRuns(table, each)
	l.prepareAligned(y)
	l.perThread(l.size(count), threads, func(i *kir.Value) {
		e := l.Mul(i, l.Int(each))
		c := l.coords(e, y.shape)
		row := l.loadI32(idx, l.element(idx, c[:1]))
		x := l.loadSome(table, l.element(table, []*kir.Value{row, c[1]}), each, runs)
		if each == 1 {
			l.store(y, e, x[0])
			return
		}
		l.storeRun(y, e, x)
	})
	l.end(units(count, threads))
}

// gatherBlocks copies runs of rows of a table of blocks, each in one thread.
func (l *lowering) gatherBlocks() {
	l.begin("gather", elementThreads)
	table, idx, y := l.matrix(0), l.operand(1), l.result()
	f, ok := formatOf(table)
	if !ok {
		l.refuse("elements of %v in layout %v", table.DType, table.Layout)
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
