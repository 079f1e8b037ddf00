package readback

import (
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
)

// strips is a set of elements of a dense result, counted from its first: count strips
// [lo,hi), each so many elements after the one before.
type strips struct {
	count, stride ir.Dim
	lo, hi        ir.Dim
}

// equal reports whether two sets are equal for all sizes, as far as arithmetic shows. The
// distance between strips does not matter where there is one strip.
func (s strips) equal(o strips) bool {
	return s.count.Equal(o.count) && s.lo.Equal(o.lo) && s.hi.Equal(o.hi) && (s.count.Is(1) || s.stride.Equal(o.stride))
}

func (s strips) String() string {
	if s.count.Is(1) {
		return fmt.Sprintf("elements [%s,%s)", readable(s.lo), readable(s.hi))
	}
	return fmt.Sprintf("%s times elements [%s,%s), each %s after the one before", readable(s.count), readable(s.lo), readable(s.hi), readable(s.stride))
}

// matrix is what a kernel is told to compute: rows [r0,r1) and columns [c0,c1) of a result
// that it sees as rows of so many columns, each column being unit elements.
type matrix struct {
	cols, unit     ir.Dim
	r0, r1, c0, c1 ir.Dim
	times          *ir.Dim // how often it is called, with the index of the loop in its rows
}

// strips returns the elements that a kernel computes.
func (b matrix) strips() (strips, error) {
	row := b.cols.Mul(b.unit)
	if b.c0.Is(0) && b.c1.Equal(b.cols) { // whole rows follow each other
		s := strips{count: ir.Const(1), lo: b.r0.Mul(row), hi: b.r1.Mul(row)}
		if b.times == nil {
			return s, nil
		}
		// In call i the rows begin i times a distance later.
		first, next := at(s.lo, 0), at(s.lo, 1)
		s.count, s.stride = *b.times, next.Sub(first)
		for _, end := range []*ir.Dim{&s.lo, &s.hi} {
			begin := at(*end, 0)
			if !begin.Add(s.stride.Mul(index)).Equal(*end) {
				return s, fmt.Errorf("the distances between the calls of the loop differ")
			}
			*end = begin
		}
		return s, nil
	}
	if b.times != nil {
		return strips{}, fmt.Errorf("a loop over a part of the columns")
	}
	begin := b.r0.Mul(row)
	return strips{count: b.r1.Sub(b.r0), stride: row, lo: begin.Add(b.c0.Mul(b.unit)), hi: begin.Add(b.c1.Mul(b.unit))}, nil
}

// at returns d for one call of the loop around a kernel.
func at(d ir.Dim, i int64) ir.Dim {
	loop := index
	var sym *ir.Symbol
	loop.Symbols(func(s *ir.Symbol) { sym = s })
	return d.Subst(func(s *ir.Symbol) ir.Dim {
		if s == sym {
			return ir.Const(i)
		}
		return ir.Sym(s)
	})
}

// owned returns the elements of a node's result that a worker has to compute: all of them, or the
// indices of the divided axis between the borders. Of f32 [8,64] that is divided on axis 1, a worker
// with the borders 16 and 32 owns 8 strips of the elements [16,32), each 64 after the one before.
func owned(shape []ir.Dim, p ir.Partition, lo, hi ir.Dim) strips {
	if p.Mode != ir.PartSplit {
		return strips{count: ir.Const(1), hi: product(shape)}
	}
	inner := product(shape[p.Axis+1:])
	return strips{
		count: product(shape[:p.Axis]), stride: shape[p.Axis].Mul(inner),
		lo: lo.Mul(inner), hi: hi.Mul(inner),
	}
}

func product(ds []ir.Dim) ir.Dim {
	p := ir.Const(1)
	for _, d := range ds {
		p = p.Mul(d)
	}
	return p
}

// shareBorders returns the borders of a node whose run of nodes is computed in pieces of l:
// its units are as many as those of the loop, each so many of its own elements.
func shareBorders(l *shareLoop, p ir.Partition) (lo, hi ir.Dim, err error) {
	lo, hi = share(l.n, l.granule)
	scale := func(d ir.Dim) ir.Dim {
		if p.Granule >= l.granule {
			return d.Mul(ir.Const(p.Granule / max(l.granule, 1)))
		}
		return d.FloorDiv(ir.Const(l.granule / max(p.Granule, 1)))
	}
	big, small := max(p.Granule, l.granule), min(p.Granule, l.granule)
	if small < 1 || big%small != 0 || !scale(l.n).Equal(p.N) {
		return lo, hi, fmt.Errorf("pieces of %s by %d are not units of %s by %d", readable(l.n), l.granule, readable(p.N), p.Granule)
	}
	return scale(lo), scale(hi), nil
}
