package gpu

import (
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// reader reads runs of the rows of matrices and the elements of x that they are multiplied with. What it returns for a
// row is computed before the loop over its runs.
type reader interface {
	elems() int                                           // of a run
	row(l *lowering, w *tensor, r *kir.Value) *kir.Value  // row r of a matrix
	run(l *lowering, w *tensor, row, i *kir.Value) run    // run i of it
	xRow(l *lowering, x *tensor, r *kir.Value) *kir.Value // row r of x
	x(l *lowering, x *tensor, row *kir.Value, r run) run  // the elements of x for the pieces of a run
	zero(l *lowering) *kir.Value                          // a sum of no products
	add(l *lowering, x, w run, sum *kir.Value) *kir.Value // a sum plus the products of the elements
	total(l *lowering, sum *kir.Value) *kir.Value         // a sum as one number
}

// single reads single elements of floats, with any strides.
type single struct{}

func (single) elems() int { return 1 }

func (single) row(l *lowering, w *tensor, r *kir.Value) *kir.Value { return l.row(w, r) }

func (single) run(l *lowering, w *tensor, row, i *kir.Value) run {
	return run{first: i, pieces: []piece{{0, l.load(w, l.Add(row, l.Mul(i, l.innerStride(w))))}}}
}

func (single) xRow(l *lowering, x *tensor, r *kir.Value) *kir.Value { return l.row(x, r) }

func (single) x(l *lowering, x *tensor, row *kir.Value, r run) run {
	return run{pieces: []piece{{0, l.load(x, l.Add(row, l.Mul(r.first, l.innerStride(x))))}}}
}

func (single) zero(l *lowering) *kir.Value { return l.Float(0) }

func (single) add(l *lowering, x, w run, sum *kir.Value) *kir.Value { return l.addFloats(x, w, sum) }

func (single) total(_ *lowering, sum *kir.Value) *kir.Value { return sum }

// addFloats adds the products of elements, of which w may have a scale.
func (l *lowering) addFloats(x, w run, sum *kir.Value) *kir.Value {
	if w.scale == nil {
		for i, p := range w.pieces {
			sum = l.FMA(x.pieces[i].x, p.x, sum)
		}
		return sum
	}
	own := l.Mul(x.pieces[0].x, w.pieces[0].x)
	for i, p := range w.pieces[1:] {
		own = l.FMA(x.pieces[i+1].x, p.x, own)
	}
	sum = l.FMA(l.splat(w.scale), own, sum)
	if w.plus != nil {
		sum = l.FMA(l.splat(w.plus), x.total, sum)
	}
	return sum
}

// added returns a run of activations with the sum of its floats, if the run that it is multiplied with needs it.
func (l *lowering) added(x, w run) run {
	if w.plus != nil {
		x.total = x.pieces[0].x
		for _, p := range x.pieces[1:] {
			x.total = l.Add(x.total, p.x)
		}
	}
	return x
}

// vectors has what readers of whole runs have in common. The rows of matrices are addresses.
type vectors struct{ format }

func (f vectors) elems() int { return f.length }

func (f vectors) row(l *lowering, w *tensor, r *kir.Value) *kir.Value {
	return l.addressOfRow(w, r)
}

// addressOfRow returns the address of row r of t.
func (l *lowering) addressOfRow(t *tensor, r *kir.Value) *kir.Value {
	if k, constant := t.Inner().IsConst(); constant && t.Layout != dtype.Plain {
		return l.At(t.base, r, int(dtype.PackedBytes(t.DType, t.Layout, 1, k)))
	}
	return l.At(t.base, l.Div(l.row(t, r), l.Int(t.DType.BlockElems())), t.DType.BlockBytes())
}

func (f vectors) run(l *lowering, _ *tensor, row, i *kir.Value) run {
	return l.floats(f.decode(l, row, i, f.length))
}

func (vectors) zero(l *lowering) *kir.Value { return l.splat(l.Float(0)) }

func (vectors) add(l *lowering, x, w run, sum *kir.Value) *kir.Value { return l.addFloats(x, w, sum) }

func (vectors) total(l *lowering, sum *kir.Value) *kir.Value {
	return l.Add(l.Add(l.Extract(sum, 0), l.Extract(sum, 1)), l.Add(l.Extract(sum, 2), l.Extract(sum, 3)))
}

// loose reads runs of blocks, and of x single elements with any strides.
type loose struct{ vectors }

func (loose) xRow(l *lowering, x *tensor, r *kir.Value) *kir.Value { return l.row(x, r) }

func (loose) x(l *lowering, x *tensor, row *kir.Value, r run) run {
	var list []piece
	for _, p := range r.pieces {
		var lanes [4]*kir.Value
		for i := range lanes {
			at := l.Add(r.first, l.Int(p.at+i))
			lanes[i] = l.load(x, l.Add(row, l.Mul(at, l.innerStride(x))))
		}
		list = append(list, piece{p.at, l.Vector(lanes[:]...)})
	}
	return l.added(run{pieces: list}, r)
}

// wide reads whole runs, and of x vectors of four elements. Rows of x are addresses.
type wide struct {
	vectors
	k int // elements of a row; 0 if that is a symbol
}

func (wide) xRow(l *lowering, x *tensor, r *kir.Value) *kir.Value {
	return l.addressOfRow(x, r)
}

func (wide) x(l *lowering, _ *tensor, row *kir.Value, r run) run {
	var list []piece
	first := l.At(row, r.first, 4)
	for _, p := range r.pieces {
		list = append(list, piece{p.at, l.loadAt(kir.Vector(kir.F32, 4), first, 4*p.at)})
	}
	return l.added(run{pieces: list}, r)
}

// quad returns vector of four number at of a row of x, floats or quantized activations.
func (wide) quad(l *lowering, x *tensor, row, at *kir.Value) *kir.Value {
	if x.DType == dtype.Q8A {
		return l.quadOfBytes(row, at)
	}
	return l.Load(kir.Vector(kir.F32, 4), l.At(row, at, 16))
}

// readers returns a reader for operands that begin at multiples of 16, nil if there is none for their formats and
// strides, and one for others, nil if the first is for all addresses. If tiles can be read as well, from.k is not 0.
func (p *product) readers() (fast, other reader, from wide) {
	x, w := p.x, p.matrices[0]
	f, ok := formatOf(w)
	if k, constant := x.Inner().IsConst(); constant {
		from.k = int(k)
	}
	from.format = f
	switch blocks := w.DType.BlockElems() > 1; {
	case blocks && !ok:
		p.refuse("elements of %v in layout %v", w.DType, w.Layout)
		return nil, single{}, wide{}
	case blocks && x.DType == dtype.Q8A:
		return packed{vectors{f}}, nil, from
	case blocks:
		other = loose{vectors{f}}
	default:
		other = single{}
	}
	if ok && hasRuns(w, f.length) && x.DType == dtype.F32 && hasRuns(x, 4) {
		return from, other, from
	}
	return nil, other, wide{}
}

// hasRuns reports whether all rows of t are runs of n elements, which begin at multiples of n elements.
func hasRuns(t *tensor, n int) bool {
	for a, d := range t.StrideDims() {
		if last := a == t.Rank()-1; last && !d.Is(1) || !last && !d.DivisibleBy(int64(n)) {
			return false
		}
	}
	return t.Inner().DivisibleBy(int64(n))
}
