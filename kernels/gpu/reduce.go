package gpu

import (
	"math"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// rows is a kernel with a workgroup for each row of the first operand.
type rows struct {
	*team
	x, y   *tensor
	n      *kir.Value // elements of a row
	unit   *kir.Value // the row
	xAt    *kir.Value // its first element in x
	xInner *kir.Value

	// A row of a constant number of runs, of which a thread has a few, is read once. Otherwise held is nil.
	runs int // of a row
	each int // of a thread; the last one of some threads is beyond the row
	held [][]*kir.Value
}

// mostHeld is how many elements of a row a thread holds in registers.
const mostHeld = 32

// rowThreads returns the size of workgroups for rows of n elements: enough that a thread has few of them.
func rowThreads(n ir.Dim) int {
	threads := 64
	for int64(threads) < n.Upper()/8 && threads < 256 {
		threads *= 2
	}
	return threads
}

// newRows begins a kernel with a workgroup for each row.
func newRows(l *lowering) *rows {
	inner := l.n.Args[0].Type.Inner()
	threads := rowThreads(inner)
	l.begin(l.n.Op.String(), threads)
	x := l.operand(0)
	r := &rows{team: l.team(threads), x: x, y: l.result(), n: l.size(inner), xInner: l.innerStride(x)}
	if n, ok := inner.IsConst(); ok && n <= int64(threads)*mostHeld && l.prepareRuns(x, runLen) {
		r.runs = int(n) / runLen
		r.each = (r.runs + threads - 1) / threads
	}
	l.prepareAligned(r.y)
	return r
}

// perRow runs body for each row, with the whole workgroup, and ends the kernel.
func (r *rows) perRow(body func()) {
	count := r.x.Rows()
	r.perGroup(r.size(count), func(u *kir.Value) {
		r.unit, r.xAt = u, r.row(r.x, u)
		r.load()
		body()
	})
	r.end(count)
}

// run returns the first element of the thread's run number g, and whether it is in the row; nil if that is so for all
// threads.
func (r *rows) run(g int) (e, in *kir.Value) {
	i := r.Add(r.Thread(), r.Int(g*r.threads))
	if (g+1)*r.threads > r.runs {
		in = r.Lt(i, r.Int(r.runs))
	}
	return r.Mul(i, r.Int(runLen)), in
}

// load loads the elements that the thread holds; zeros for those beyond the row.
func (r *rows) load() {
	r.held = nil
	for g := range r.each {
		e, in := r.run(g)
		load := func() []*kir.Value { return r.loadRun(r.x, r.Add(r.xAt, e), runLen) }
		if in == nil {
			r.held = append(r.held, load())
			continue
		}
		r.held = append(r.held, r.Choose(in, load, func() []*kir.Value {
			return slices.Repeat([]*kir.Value{r.Float(0)}, runLen)
		}))
	}
}

// get returns element i of the row.
func (r *rows) get(i *kir.Value) *kir.Value {
	return r.team.load(r.x, r.Add(r.xAt, r.Mul(i, r.xInner)))
}

// fold returns join over init and the thread's own elements, in order.
func (r *rows) fold(init *kir.Value, join func(sum, x *kir.Value) *kir.Value) *kir.Value {
	if r.held == nil {
		return r.strided(r.n, r.threads, []*kir.Value{init}, func(i *kir.Value, c []*kir.Value) []*kir.Value {
			return []*kir.Value{join(c[0], r.get(i))}
		})[0]
	}
	for g, run := range r.held {
		next := init
		for _, x := range run {
			next = join(next, x)
		}
		if _, in := r.run(g); in != nil {
			next = r.Select(in, next, init)
		}
		init = next
	}
	return init
}

// total returns the sum of f over the elements of the row.
func (r *rows) total(f func(x *kir.Value) *kir.Value) *kir.Value {
	return r.sum(r.fold(r.Float(0), func(sum, x *kir.Value) *kir.Value { return r.Add(sum, f(x)) }))
}

// largest returns the largest element of the row; NaN if one is.
func (r *rows) largest() *kir.Value {
	return r.most(r.fold(r.Float(float32(math.Inf(-1))), r.maxOrNaN))
}

// put stores f of elements of the row in the result, which has as many. f gets one or more that follow each other, and
// the number of the first.
func (r *rows) put(f func(i *kir.Value, x []*kir.Value) []*kir.Value) {
	first := r.Mul(r.unit, r.n)
	if r.held == nil {
		r.strided(r.n, r.threads, nil, func(i *kir.Value, _ []*kir.Value) []*kir.Value {
			r.store(r.y, r.Add(first, i), f(i, []*kir.Value{r.get(i)})[0])
			return nil
		})
		return
	}
	for g, run := range r.held {
		e, in := r.run(g)
		store := func() { r.storeRun(r.y, r.Add(first, e), f(e, run)) }
		if in == nil {
			store()
		} else {
			r.If(in, store)
		}
	}
}

// mean returns a sum over the elements of the row divided by their number.
func (r *rows) mean(sum *kir.Value) *kir.Value { return r.Div(sum, r.Convert(r.n, kir.F32)) }

// rowVector is an operand with an element for each of a row.
type rowVector struct {
	*tensor
	runs bool // consists of runs
	step *kir.Value
}

func (l *lowering) rowVector(i int) *rowVector {
	t := l.operand(i)
	return &rowVector{t, l.prepareRuns(t, runLen), l.innerStride(t)}
}

// from returns n elements from i on.
func (r *rows) from(v *rowVector, i *kir.Value, n int) []*kir.Value {
	if v.runs && n == runLen {
		return r.loadRun(v.tensor, i, n)
	}
	list := make([]*kir.Value, n)
	for j := range list {
		list[j] = r.team.load(v.tensor, r.Mul(r.Add(i, r.Int(j)), v.step))
	}
	return list
}

// each returns f of every element.
func each(x []*kir.Value, f func(i int, x *kir.Value) *kir.Value) []*kir.Value {
	y := make([]*kir.Value, len(x))
	for i := range x {
		y[i] = f(i, x[i])
	}
	return y
}

func softmax(l *lowering) {
	r := newRows(l)
	r.perRow(func() {
		top := r.largest()
		sum := r.total(func(x *kir.Value) *kir.Value { return r.Exp(r.Sub(x, top)) })
		r.put(func(_ *kir.Value, x []*kir.Value) []*kir.Value {
			return each(x, func(_ int, x *kir.Value) *kir.Value { return r.Div(r.Exp(r.Sub(x, top)), sum) })
		})
	})
}

// reduce computes one number for each row.
func reduce(l *lowering) {
	r := newRows(l)
	r.perRow(func() {
		var y *kir.Value
		if l.n.Op == ir.OpReduceMax {
			y = r.largest()
		} else {
			y = r.total(func(x *kir.Value) *kir.Value { return x })
		}
		if l.n.Op == ir.OpReduceMean {
			y = r.mean(y)
		}
		l.If(l.Eq(l.Thread(), l.zero), func() { l.store(r.y, r.unit, y) })
	})
}
