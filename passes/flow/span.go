package flow

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/check"
)

// Who owns what
//
// Workers share a node unit by unit: granule indices of one axis of its result are one unit, and a unit has the same
// worker, its owner, in all nodes that are divided into equally many. Two nodes need no barrier between them if every
// owner touches only bytes that it touches in both. To compare that, the elements of each operand and result are
// attributed to units in one way: by their position in the value that owns the bytes.
//
// Example: %q is f32[2,12,8] (tokens, heads, elements), and a node that writes it is divided along heads with a granule
// of 4. Element e of %q belongs to head (e mod 96)/8, hence to unit (e mod 96)/32: the period is 96, the stride 8, the
// width of a unit 4*8 = 32.
//
//	%q            f32[2,12,8]   axis 1, granule 4     period 96, stride 8, width 32
//	%f = reshape  f32[2,96]     axis 1, granule 32    period 96, stride 1, width 32
//	%p = permute  f32[12,8,2]   axis 0, granule 4     period 96, stride 8, width 32
//	%s = slice    f32[1,12,8]   axis 1, granule 4     period 96, stride 8, width 32
//	%h = slice    f32[2,4,8]    axis 1                unknown: heads 4 to 7 of %q are not units 0 to 1
//
// The first four are the same units of the same bytes: %q may be written by heads and %f read by columns without a
// barrier. The trace goes from the axis of a view to elements of the value that it views, view by view. A reshape does
// not move elements, so it changes neither period nor stride. A permute or slice maps axes to axes: the axis that the
// span counts is found again in the operand, and period and stride are computed there.
//
// Period and width are equal as polynomials of the symbols or not at all. So the comparison holds for every size.

// Span states which elements of a value a unit covers. Element e, counted in row-major order, belongs to unit
// (e mod Period) / (granule*Num/Den*Stride).
type Span struct {
	Period, Stride ir.Dim
	Num, Den       int64 // how many strides one index of the divided axis is
	block          int64 // elements of a block of bytes; a width is a multiple of it
}

// Equal reports whether two spans give every element to the same unit for every granule.
func (s *Span) Equal(o *Span) bool {
	return s.Num == o.Num && s.Den == o.Den && s.block == o.block && s.Stride.Equal(o.Stride) && s.Period.Equal(o.Period)
}

// width returns how many elements in a row belong to one unit of the granule. It is not ok if units would begin or end
// within a block of bytes.
func (s Span) width(granule int64) (w ir.Dim, ok bool) {
	if granule*s.Num%s.Den != 0 {
		return ir.Dim{}, false
	}
	w = s.Stride.Mul(ir.Const(granule * s.Num / s.Den))
	return w, w.DivisibleBy(s.block)
}

// Multiple returns the number of which a granule has to be a multiple so that its units have a width.
func (s Span) Multiple() int64 {
	m := s.Den / gcd(s.Num, s.Den)
	if s.block > 1 && s.Stride.Is(1) {
		perBlock := Rational{s.block * s.Den, s.Num}.reduced().Num
		m = Lcm(m, perBlock)
	}
	return m
}

// trace returns which elements of v's origin the indices of an axis of v cover. It is not ok if the views between them
// do not keep an index together, or if pass check could not prove that they do: with symbolic extents it knows periods
// by constant multiples only.
func trace(v *ir.Value, axis int) (s Span, ok bool) {
	if !check.Provable(v, axis) {
		return s, false
	}
	inner := innerElems(v.Type, axis)
	s = Span{Period: v.Type.Shape[axis].Mul(inner), Stride: inner, Num: 1, Den: 1}
	for next := Source(v); next != nil; next = Source(v) {
		if s, ok = s.throughView(v); !ok {
			return s, false
		}
		v = next
	}
	s.block = int64(v.Type.DType.BlockElems())
	return s, true
}

// innerElems returns how many elements one index of the axis has.
func innerElems(t ir.Type, axis int) ir.Dim {
	n := ir.Const(1)
	for _, d := range t.Shape[axis+1:] {
		n = n.Mul(d)
	}
	return n
}

// throughView turns a span of v into one of the value that v names.
func (s Span) throughView(v *ir.Value) (Span, bool) {
	if v.Def == nil {
		return s, true
	}
	axis := func(i int) int { return i }
	switch v.Def.Op {
	case ir.OpPermute:
		axis = func(i int) int { return v.Def.Attr.(*ir.PermuteAttr).Perm[i] }
	case ir.OpSlice:
	default: // reshapes and aliases keep the order of elements
		return s, true
	}
	i, fine, ok := s.axisOf(v.Type)
	if !ok {
		return s, false
	}
	from := v.Def.Args[0].Type
	j := axis(i)
	if !from.Shape[j].Equal(v.Type.Shape[i]) {
		return s, false // the axis itself is cut
	}
	s.Stride = innerElems(from, j)
	s.Period = from.Shape[j].Mul(s.Stride)
	s.Num, s.Den = s.Num*fine.Num, s.Den*fine.Den
	return s, true
}

// axisOf returns the axis of t whose indices s counts, and how many of these indices one stride is. It is less than
// one if s counts elements within an index.
func (s Span) axisOf(t ir.Type) (axis int, steps Rational, ok bool) {
	for i := range t.Shape {
		inner := innerElems(t, i)
		if t.Shape[i].Is(1) || !t.Shape[i].Mul(inner).Equal(s.Period) {
			continue
		}
		steps, ok = DimRatio(s.Stride, inner)
		return i, steps, ok
	}
	return 0, Rational{}, false
}
