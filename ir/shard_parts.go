package ir

import "slices"

// Fits of slices and concatenations along a divided axis: what some devices have of a value is taken out, computed
// there, and put together again. So attention that is written out for each head is divided by heads.

// splitSlice returns the state of what n slices along its split axis, and the range; ok is false for another node.
func splitSlice(n *Node, states func(*Value) Sharding) (have Sharding, start, size int64, ok bool) {
	a, isSlice := n.Attr.(*SliceAttr)
	if !isSlice {
		return have, 0, 0, false
	}
	have = states(n.Args[0])
	start, ok1 := a.Start.IsConst()
	size, ok2 := a.Len.IsConst()
	return have, start, size, have.IsSplit() && have.Axis == a.Axis && ok1 && ok2
}

// sliceOwned returns the fit of a range of a split axis that some devices have: they take it.
func sliceOwned(n *Node, states func(*Value) Sharding) (Fit, bool) {
	have, start, size, ok := splitSlice(n, states)
	if !ok {
		return Fit{}, false
	}
	first, owns := make([]int64, have.devices()), make([]int64, have.devices())
	found := false
	for j := range owns {
		if at := have.placeOf(j, start, size); at >= 0 {
			first[j], owns[j], found = at, 1, true
		}
	}
	f := Fit{Result: Held(owns), Args: []Sharding{have}}
	f.attr = func(j int) any { return &SliceAttr{Axis: have.Axis, Start: Const(first[j]), Len: Const(size)} }
	return f, found
}

// placeOf returns where in what a device has of a split axis a range of the axis begins; -1 if the device does not have
// it in one repetition of a segment.
func (s Sharding) placeOf(device int, start, size int64) int64 {
	at, has := int64(0), int64(0) // of the axis, and of what the device has of it
	for _, seg := range s.Segments {
		once, n := seg.Len(), seg.Counts[device]
		if end := at + seg.Times*once; start >= end {
			at, has = end, has+seg.Times*n
			continue
		}
		before := (start - at) / once
		within := start - at - before*once - seg.Start(device)
		if within < 0 || within+size > n {
			return -1
		}
		return has + before*n + within
	}
	return -1
}

// concatFit returns the fit of a concatenation of values that are split on its axis, or held: each device puts together
// what it has.
func concatFit(n *Node, states func(*Value) Sharding) (Fit, bool) {
	a, isConcat := n.Attr.(*ConcatAttr)
	if !isConcat {
		return Fit{}, false
	}
	var f Fit
	var segments []Segment
	for _, v := range n.Args {
		s := states(v)
		size, isConst := v.Type.Shape[a.Axis].IsConst()
		switch {
		case s.IsSplit() && s.Axis == a.Axis:
			segments = append(segments, s.Segments...)
		case s.Kind == ShardHeld && isConst:
			counts := slices.Clone(s.Segments[0].Counts)
			for j := range counts {
				counts[j] *= size
			}
			segments = append(segments, SegmentAt(make([]int64, len(counts)), counts))
		default:
			return f, false
		}
		f.Args = append(f.Args, s)
	}
	f.Result = SplitOn(a.Axis, joined(segments)...).Normal()
	return f, f.Result.IsSplit()
}

// joined returns segments of which neighbours are one where the devices' elements stay in order.
func joined(segments []Segment) []Segment {
	var list []Segment
	for _, s := range segments {
		if last := len(list) - 1; last >= 0 && followsOn(list[last], s) {
			counts := slices.Clone(list[last].Counts)
			for j, n := range s.Counts {
				counts[j] += n
			}
			list[last] = Segment{Times: 1, Counts: counts}
			continue
		}
		list = append(list, s)
	}
	return list
}

// followsOn reports whether only the last device of a segment, and those after it, have elements of the next one.
func followsOn(s, next Segment) bool {
	if s.Times != 1 || next.Times != 1 || s.Starts != nil || next.Starts != nil {
		return false
	}
	has := func(n int64) bool { return n > 0 }
	first := slices.IndexFunc(next.Counts, has)
	return first >= 0 && !slices.ContainsFunc(s.Counts[first+1:], has)
}
