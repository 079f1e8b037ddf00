package ggml

import "github.com/ggmlc/ggmlc/ir"

// regroup returns the state of a tensor that has the elements of source 0 in another shape.
func regroup(t *tensor) (ir.Sharding, Reason) {
	s, from := t.in(0), t.source(0)
	switch {
	case !s.IsSplit():
		return s, accepted
	case len(s.Segments) > 1:
		return refuse(ReasonSegments)
	}
	n := s.Segments[0].Times
	if s.Axis == from.Rank()-1 && n == 1 {
		return times(t.Rank()-1, 1), accepted
	}
	return regroupInner(from.UpTo(s.Axis)/n, n, t)
}

// regroupInner returns the state of a tensor in a new shape. inner elements follow each other before the pieces of the
// devices repeat.
func regroupInner(inner, repeats int64, t *tensor) (ir.Sharding, Reason) {
	for d := range t.NE {
		switch n := t.UpTo(d); {
		case inner > 0 && n%inner == 0:
			return times(d, n/inner), accepted
		case n > inner && repeats != 1:
			return refuse(ReasonRepeats)
		case n > inner:
			return times(d, 1), accepted
		}
	}
	return refuse(ReasonShape)
}

// view returns the state of a view of source 0.
func view(t *tensor) (ir.Sharding, Reason) {
	s, from := t.in(0), t.source(0)
	switch {
	case t.Contiguous() && from.Contiguous():
		return regroup(t)
	case !s.IsSplit(), sameStrides(t, from):
		return s, accepted
	case t.Permuted() || from.Permuted() || s.Axis == 3:
		return refuse(ReasonPermuted)
	}
	for d := range 3 {
		if t.NB[d+1] == from.NB[s.Axis+1] {
			return times(d, 1), accepted
		}
	}
	return refuse(ReasonView)
}

// sameStrides reports whether strides agree, but for dimensions of extent 1 in both.
func sameStrides(a, b *tensor) bool {
	for d := range a.NB {
		if a.NB[d] != b.NB[d] && (a.NE[d] != 1 || b.NE[d] != 1) {
			return false
		}
	}
	return true
}

// counts fills in how many elements each device has of a split result: the share that it has of the first source that
// is split. Of several segments, the first one has them all.
func counts(t *tensor, s ir.Sharding, devices int) (ir.Sharding, Reason) {
	if !s.IsSplit() {
		return s, accepted
	}
	r := ir.Sharding{Kind: ir.ShardSplit, Axis: s.Axis}
	for _, seg := range s.Segments {
		r.Segments = append(r.Segments, ir.Segment{Times: seg.Times, Counts: make([]int64, devices)})
	}
	first, length, repeats := true, t.NE[s.Axis], r.Segments[0].Times
	for _, src := range t.sources() {
		if !src.state.IsSplit() {
			continue
		}
		if !first && len(r.Segments) > 1 {
			return refuse(ReasonSeveral)
		}
		from := src.NE[src.state.Axis]
		for j, c := range src.state.Counts() {
			entry := &r.Segments[0].Counts[j]
			switch {
			case first && (c*length)%(from*repeats) != 0:
				return refuse(ReasonDivide)
			case first:
				*entry = c * length / (from * repeats)
			case *entry*repeats*from != c*length:
				return refuse(ReasonRatio)
			}
		}
		first = false
	}
	return r, accepted
}
