package gpu

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

func rmsNorm(l *lowering) {
	r := newRows(l)
	w := l.rowVector(1)
	r.perRow(func() {
		f := r.rms(l.n.Attr.(*ir.NormAttr).Eps)
		r.put(func(i *kir.Value, x []*kir.Value) []*kir.Value { return r.scaled(x, f, w, i) })
	})
}

// rms returns the factor of all elements of a row.
func (r *rows) rms(eps float32) *kir.Value {
	square := r.mean(r.total(func(x *kir.Value) *kir.Value { return r.Mul(x, x) }))
	return r.Div(r.Float(1), r.Sqrt(r.Add(square, r.Float(eps))))
}

// scaled returns the elements x, which are those from i on, times f and their weights.
func (r *rows) scaled(x []*kir.Value, f *kir.Value, w *rowVector, i *kir.Value) []*kir.Value {
	weights := r.from(w, i, len(x))
	return each(x, func(j int, x *kir.Value) *kir.Value { return r.Mul(r.Mul(x, f), weights[j]) })
}

// rmsNormQuantize is rms_norm with a result in the format of activations. A thread makes whole blocks of q8a.
func rmsNormQuantize(l *lowering) {
	a := l.n.Attr.(*ir.NormQuantizeAttr)
	if l.refuseLongBlocks() {
		return
	}
	r := newRows(l)
	w := l.rowVector(1)
	r.perRow(func() {
		f := r.rms(a.Eps)
		if a.To != dtype.Q8A {
			r.put(func(i *kir.Value, x []*kir.Value) []*kir.Value { return r.scaled(x, f, w, i) })
			return
		}
		blocks := r.Div(r.n, r.Int(blockLen))
		r.strided(blocks, r.threads, nil, func(b *kir.Value, _ []*kir.Value) []*kir.Value {
			i := r.Mul(b, r.Int(blockLen))
			r.storeQ8A(r.y, r.Add(r.Mul(r.unit, blocks), b), r.scaled(r.blockOf(i), f, w, i))
			return nil
		})
	})
}

// blockOf returns the elements of a block of the row.
func (r *rows) blockOf(i *kir.Value) []*kir.Value {
	x := make([]*kir.Value, blockLen)
	for j := range x {
		x[j] = r.get(r.Add(i, r.Int(j)))
	}
	return x
}

func layerNorm(l *lowering) {
	r := newRows(l)
	w := l.rowVector(1)
	var bias *rowVector
	if l.n.Arg(2) != nil {
		bias = l.rowVector(2)
	}
	r.perRow(func() {
		mean := r.mean(r.total(func(x *kir.Value) *kir.Value { return x }))
		variance := r.mean(r.total(func(x *kir.Value) *kir.Value { d := r.Sub(x, mean); return r.Mul(d, d) }))
		f := r.Div(r.Float(1), r.Sqrt(r.Add(variance, r.Float(l.n.Attr.(*ir.NormAttr).Eps))))
		r.put(func(i *kir.Value, x []*kir.Value) []*kir.Value {
			y := r.scaled(each(x, func(_ int, x *kir.Value) *kir.Value { return r.Sub(x, mean) }), f, w, i)
			if bias == nil {
				return y
			}
			terms := r.from(bias, i, len(y))
			return each(y, func(j int, y *kir.Value) *kir.Value { return r.Add(y, terms[j]) })
		})
	})
}
