package gpu

import (
	"math"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// rowThreads is the size of workgroups that compute a row together.
const rowThreads = 64

// team combines the numbers of the threads of a workgroup through shared memory.
type team struct {
	*lowering
	part    *kir.Shared
	threads int // a power of two
}

func (l *lowering) team(threads int) *team {
	return &team{l, l.NewShared("part", kir.Scalar(kir.F32), threads), threads}
}

// sum returns the sum of x over all threads, most the largest; in a tree, so that the order is fixed.
func (t *team) sum(x *kir.Value) *kir.Value  { return t.combine(x, t.Add) }
func (t *team) most(x *kir.Value) *kir.Value { return t.combine(x, t.maxOrNaN) }

func (l *lowering) maxOrNaN(a, b *kir.Value) *kir.Value { return l.orNaN(a, l.orNaN(b, l.Max(a, b))) }

func (t *team) combine(x *kir.Value, join func(a, b *kir.Value) *kir.Value) *kir.Value {
	me := t.Thread()
	t.SharedStore(t.part, me, x)
	t.Barrier()
	for n := t.threads / 2; n > 0; n /= 2 {
		t.If(t.Lt(me, t.Int(n)), func() {
			t.SharedStore(t.part, me, join(t.SharedLoad(t.part, me), t.SharedLoad(t.part, t.Add(me, t.Int(n)))))
		})
		t.Barrier()
	}
	all := t.SharedLoad(t.part, t.zero)
	t.Barrier() // the next combine overwrites it
	return all
}

// rows is a kernel with a workgroup for each row of the first operand.
type rows struct {
	*team
	x, y   *tensor
	n      *kir.Value // elements of a row
	unit   *kir.Value // the row
	xAt    *kir.Value // its first element in x
	xInner *kir.Value
}

// perRow builds a kernel that runs body for each row of the first operand, with the whole workgroup.
func perRow(l *lowering, body func(r *rows)) {
	x := l.tensor(l.n.Args[0])
	r := &rows{team: l.team(rowThreads), x: x, y: l.tensor(l.n.Result()), n: l.size(x.Inner()), xInner: l.innerStride(x)}
	count := x.Rows()
	l.perGroup(l.size(count), func(u *kir.Value) {
		r.unit, r.xAt = u, l.row(x, u)
		body(r)
	})
	l.end(count)
}

// get returns element i of the row.
func (r *rows) get(i *kir.Value) *kir.Value {
	return r.load(r.x, r.Add(r.xAt, r.Mul(i, r.xInner)))
}

// total returns the sum of f over the elements of the row.
func (r *rows) total(f func(x *kir.Value) *kir.Value) *kir.Value {
	own := r.strided(r.n, r.threads, []*kir.Value{r.Float(0)}, func(i *kir.Value, c []*kir.Value) []*kir.Value {
		return []*kir.Value{r.Add(c[0], f(r.get(i)))}
	})
	return r.sum(own[0])
}

// largest returns the largest element of the row; NaN if one is.
func (r *rows) largest() *kir.Value {
	own := r.strided(r.n, r.threads, []*kir.Value{r.Float(float32(math.Inf(-1)))}, func(i *kir.Value, c []*kir.Value) []*kir.Value {
		return []*kir.Value{r.maxOrNaN(c[0], r.get(i))}
	})
	return r.most(own[0])
}

// put stores f of each element of the row in the result, which has as many.
func (r *rows) put(f func(i, x *kir.Value) *kir.Value) {
	r.strided(r.n, r.threads, nil, func(i *kir.Value, _ []*kir.Value) []*kir.Value {
		r.store(r.y, r.Add(r.Mul(r.unit, r.n), i), f(i, r.get(i)))
		return nil
	})
}

// mean returns a sum over the elements of the row divided by their number.
func (r *rows) mean(sum *kir.Value) *kir.Value { return r.Div(sum, r.Convert(r.n, kir.F32)) }

func rmsNorm(l *lowering) {
	l.begin("rms_norm", rowThreads)
	eps, w := l.n.Attr.(*ir.NormAttr).Eps, l.tensor(l.n.Args[1])
	step := l.innerStride(w)
	perRow(l, func(r *rows) {
		square := r.mean(r.total(func(x *kir.Value) *kir.Value { return r.Mul(x, x) }))
		f := r.Div(r.Float(1), r.Sqrt(r.Add(square, r.Float(eps))))
		r.put(func(i, x *kir.Value) *kir.Value { return r.Mul(r.Mul(x, f), r.load(w, r.Mul(i, step))) })
	})
}

func layerNorm(l *lowering) {
	l.begin("layer_norm", rowThreads)
	eps, w := l.n.Attr.(*ir.NormAttr).Eps, l.tensor(l.n.Args[1])
	var bias *tensor
	if v := l.n.Arg(2); v != nil {
		bias = l.tensor(v)
	}
	perRow(l, func(r *rows) {
		mean := r.mean(r.total(func(x *kir.Value) *kir.Value { return x }))
		variance := r.mean(r.total(func(x *kir.Value) *kir.Value { d := r.Sub(x, mean); return r.Mul(d, d) }))
		f := r.Div(r.Float(1), r.Sqrt(r.Add(variance, r.Float(eps))))
		r.put(func(i, x *kir.Value) *kir.Value {
			y := r.Mul(r.Mul(r.Sub(x, mean), f), r.load(w, r.Mul(i, r.innerStride(w))))
			if bias != nil {
				y = r.Add(y, r.load(bias, r.Mul(i, r.innerStride(bias))))
			}
			return y
		})
	})
}

func softmax(l *lowering) {
	l.begin("softmax", rowThreads)
	perRow(l, func(r *rows) {
		top := r.largest()
		sum := r.total(func(x *kir.Value) *kir.Value { return r.Exp(r.Sub(x, top)) })
		r.put(func(_, x *kir.Value) *kir.Value { return r.Div(r.Exp(r.Sub(x, top)), sum) })
	})
}

// reduce computes one number for each row.
func reduce(l *lowering) {
	l.begin(l.n.Op.String(), rowThreads)
	perRow(l, func(r *rows) {
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
