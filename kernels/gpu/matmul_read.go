package gpu

import (
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// reader reads runs of the rows of matrices and the elements of x that they are multiplied with. What it returns for a row
// is computed before the loop over its runs.
type reader interface {
	runs(p *product) *kir.Value                              // runs of a row
	row(l *lowering, w *tensor, r *kir.Value) *kir.Value     // row r of a matrix
	run(l *lowering, w *tensor, row, i *kir.Value) run       // run i of it
	xRow(l *lowering, x *tensor, r *kir.Value) *kir.Value    // row r of x
	x(l *lowering, x *tensor, row *kir.Value, r run) []piece // the elements of x for the pieces of a run
	zero(l *lowering) *kir.Value                             // a piece
	total(l *lowering, x *kir.Value) *kir.Value              // the sum of the elements of a piece
}

// single reads single elements of floats, with any strides.
type single struct{}

func (single) runs(p *product) *kir.Value { return p.size(p.x.Inner()) }

func (single) row(l *lowering, w *tensor, r *kir.Value) *kir.Value { return l.row(w, r) }

func (single) run(l *lowering, w *tensor, row, i *kir.Value) run {
	return run{first: i, pieces: []piece{{0, l.load(w, l.Add(row, l.Mul(i, l.innerStride(w))))}}}
}

func (single) xRow(l *lowering, x *tensor, r *kir.Value) *kir.Value { return l.row(x, r) }

func (single) x(l *lowering, x *tensor, row *kir.Value, r run) []piece {
	return []piece{{0, l.load(x, l.Add(row, l.Mul(r.first, l.innerStride(x))))}}
}

func (single) zero(l *lowering) *kir.Value { return l.Float(0) }

func (single) total(_ *lowering, x *kir.Value) *kir.Value { return x }

// vectors has what readers of whole runs have in common. The rows of matrices are addresses.
type vectors struct{ format }

func (f vectors) runs(p *product) *kir.Value {
	return p.Div(p.size(p.x.Inner()), p.Int(f.length))
}

func (f vectors) row(l *lowering, w *tensor, r *kir.Value) *kir.Value {
	return l.At(w.base, l.Div(l.row(w, r), l.Int(w.DType.BlockElems())), w.DType.BlockBytes())
}

func (f vectors) run(l *lowering, _ *tensor, row, i *kir.Value) run {
	return f.decode(l, row, i, f.length)
}

func (vectors) zero(l *lowering) *kir.Value { return l.splat(l.Float(0)) }

func (vectors) total(l *lowering, x *kir.Value) *kir.Value {
	return l.Add(l.Add(l.Extract(x, 0), l.Extract(x, 1)), l.Add(l.Extract(x, 2), l.Extract(x, 3)))
}

// loose reads runs of blocks, and of x single elements with any strides.
type loose struct{ vectors }

func (loose) xRow(l *lowering, x *tensor, r *kir.Value) *kir.Value { return l.row(x, r) }

func (loose) x(l *lowering, x *tensor, row *kir.Value, r run) []piece {
	var list []piece
	for _, p := range r.pieces {
		var lanes [4]*kir.Value
		for i := range lanes {
			at := l.Add(r.first, l.Int(p.at+i))
			lanes[i] = l.load(x, l.Add(row, l.Mul(at, l.innerStride(x))))
		}
		list = append(list, piece{p.at, l.Vector(lanes[:]...)})
	}
	return list
}

// wide reads whole runs, and of x vectors of four elements. Rows of x are addresses.
type wide struct {
	vectors
	k int // elements of a row
}

func (wide) xRow(l *lowering, x *tensor, r *kir.Value) *kir.Value {
	return l.At(x.base, l.row(x, r), 4)
}

func (wide) x(l *lowering, _ *tensor, row *kir.Value, r run) []piece {
	var list []piece
	first := l.At(row, r.first, 4)
	for _, p := range r.pieces {
		list = append(list, piece{p.at, l.loadAt(kir.Vector(kir.F32, 4), first, 4*p.at)})
	}
	return list
}

// anyReader returns the reader for x and matrices w with any addresses and strides.
func (l *lowering) anyReader(w *tensor) reader {
	f, ok := formats[w.DType]
	switch {
	case w.DType.BlockElems() == 1:
		return single{}
	case !ok:
		l.refuse("elements of %v", w.DType)
		return single{}
	}
	return loose{vectors{f}}
}

// wideReader returns the reader for x and matrices w that begin at multiples of 16. If they have other formats or strides
// than it needs, ok is false.
func (l *lowering) wideReader(x, w *tensor) (from wide, ok bool) {
	f, ok := formats[w.DType]
	k, constant := x.Inner().IsConst()
	if !ok || !constant || k%int64(f.length) != 0 || x.DType != dtype.F32 || !w.Dense() {
		return wide{}, false
	}
	strides := x.StrideDims()
	for a, d := range strides {
		n, constant := d.IsConst()
		if last := a == len(strides)-1; !constant || last && n != 1 || !last && n%4 != 0 {
			return wide{}, false
		}
	}
	return wide{vectors{f}, int(k)}, true
}
