package shard

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
	if s.Axis == rank(from.ne)-1 && n == 1 {
		return times(rank(t.ne)-1, 1), accepted
	}
	return regroupInner(upTo(from.ne, s.Axis)/n, n, t.ne)
}

// regroupInner returns the state of a tensor in a new shape. inner elements follow each other before the pieces of the
// devices repeat.
func regroupInner(inner, repeats int64, ne [4]int64) (ir.Sharding, Reason) {
	for d := range ne {
		switch n := upTo(ne, d); {
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
	case t.contiguous() && from.contiguous():
		return regroup(t)
	case !s.IsSplit(), sameStrides(t, from):
		return s, accepted
	case t.permuted() || from.permuted() || s.Axis == 3:
		return refuse(ReasonPermuted)
	}
	for d := range 3 {
		if t.nb[d+1] == from.nb[s.Axis+1] {
			return times(d, 1), accepted
		}
	}
	return refuse(ReasonView)
}

// sameStrides reports whether strides agree, but for dimensions of extent 1 in both.
func sameStrides(a, b *tensor) bool {
	for d := range a.nb {
		if a.nb[d] != b.nb[d] && (a.ne[d] != 1 || b.ne[d] != 1) {
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
	first, length, repeats := true, t.ne[s.Axis], r.Segments[0].Times
	for _, src := range t.sources() {
		if !src.state.IsSplit() {
			continue
		}
		if !first && len(r.Segments) > 1 {
			return refuse(ReasonSeveral)
		}
		from := src.ne[src.state.Axis]
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
