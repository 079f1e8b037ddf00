package ir

import "slices"

// Fit is how devices compute a node: a way, with the states in which it needs operands and leaves the result.
type Fit struct {
	Args   []Sharding // of kind ShardNone for absent operands
	Result Sharding

	way  Way
	attr func(device int) any // nil: the way gives the attributes
}

// AttrOf returns the attributes of a device's node.
func (f *Fit) AttrOf(n *Node, device int) any {
	switch {
	case f.attr != nil:
		return f.attr(device)
	case f.way.Attr != nil:
		first := int64(0)
		if len(f.Result.Segments) == 1 {
			first = f.Result.Segments[0].Start(device)
		}
		return f.way.Attr(first, first+f.Result.Count(device))
	}
	return n.Attr
}

// Fits returns how devices can compute n. The operands are in the given states; a fit may need them in other ones. The
// segments of a split axis come from an operand that is split there already. In the first fit every device computes all
// of n.
func Fits(n *Node, states func(*Value) Sharding) []Fit {
	var fits []Fit
	for _, w := range append([]Way{mirroredWay(n)}, Ways(n)...) {
		for _, base := range bases(n, w, states) {
			if f, ok := fit(n, w, base, states); ok {
				fits = append(fits, f)
			}
		}
	}
	if f, ok := sliceSegments(n, states); ok {
		fits = append(fits, f)
	}
	for _, of := range []func(*Node, func(*Value) Sharding) (Fit, bool){heldFit, sliceOwned, concatFit} {
		if f, ok := of(n, states); ok {
			fits = append(fits, f)
		}
	}
	return fits
}

// heldFit returns the fit in which the devices that have all of some operands compute all of n.
func heldFit(n *Node, states func(*Value) Sharding) (Fit, bool) {
	f := Fit{Args: make([]Sharding, len(n.Args))}
	for i, a := range n.Args {
		if a == nil {
			continue
		}
		f.Args[i] = Mirrored()
		if s := states(a); s.Kind == ShardHeld {
			if f.Result.Kind == ShardHeld && !s.Equal(f.Result) {
				return f, false
			}
			f.Result, f.Args[i] = s, s
		}
	}
	return f, f.Result.Kind == ShardHeld && n.Op.Info().Undivided == ""
}

// mirroredWay is the way in which every device computes all of n.
func mirroredWay(n *Node) Way {
	w := Way{Result: shareAll}
	for _, a := range n.Args {
		s := shareAll
		if a == nil {
			s = Share{}
		}
		w.Args = append(w.Args, s)
	}
	return w
}

// fit returns the fit of a way with these segments of the result's split axis.
func fit(n *Node, w Way, base []Segment, states func(*Value) Sharding) (Fit, bool) {
	f := Fit{way: w, Result: Sharding{Kind: w.Result.Kind}}
	if w.Result.Kind == ShardPartial && slices.ContainsFunc(base, Segment.overlaps) { // which would be added twice
		return f, false
	}
	if w.Single && (len(base) != 1 || base[0].Times != 1) {
		return f, false
	}
	if w.Result.Kind == ShardSplit {
		f.Result = SplitOn(w.Result.Axis, base...).Normal()
	}
	for i, s := range w.Args {
		need := Sharding{Kind: s.Kind}
		if s.Kind == ShardMirrored {
			if have := states(n.Args[i]); have.Kind == ShardHeld && have.hasAll(f.Result) {
				need = have
			}
		}
		if s.Kind == ShardSplit {
			segments, whole := s.segments(base)
			if !whole {
				return f, false
			}
			need = SplitOn(s.Axis, segments...).Normal()
		}
		f.Args = append(f.Args, need)
	}
	return f, true
}

// bases returns the segments of the result's split axis that split operands give, those of the first operand first. Of
// a way with a sum they are those of the summed axes. Of one without a split axis, there is one list, which is nil.
func bases(n *Node, w Way, states func(*Value) Sharding) (list [][]Segment) {
	needed := w.Result.Kind == ShardSplit
	for i, s := range w.Args {
		if s.Kind != ShardSplit {
			continue
		}
		needed = true
		if have := states(n.Args[i]); have.IsSplit() && have.Axis == s.Axis {
			base, whole := scaled(have.Segments, s.Den, s.Num)
			if s.Shared && have.Overlaps() {
				base, whole = s.amongSharers(have)
			}
			if whole && fitsGranule(base, w.Granule(n)) {
				list = append(list, base)
			}
		}
	}
	if !needed {
		list = append(list, nil)
	}
	return list
}

// amongSharers returns the segments of the result if devices have elements of an operand in common. Devices that have
// the same element divide the elements of the result that read it evenly.
func (s Share) amongSharers(have Sharding) ([]Segment, bool) {
	seg := have.Segments[0]
	if len(have.Segments) != 1 || seg.Times != 1 {
		return nil, false
	}
	same := func(i, j int) bool { return seg.Counts[j] == 1 && seg.Counts[i] == 1 && seg.Start(i) == seg.Start(j) }
	starts, counts := make([]int64, len(seg.Counts)), make([]int64, len(seg.Counts))
	for j, n := range seg.Counts {
		sharers, place := int64(1), int64(0) // of the devices that have the element, and which of them j is
		for i := range seg.Counts {
			if i != j && same(i, j) {
				sharers++
			}
			if i < j && same(i, j) {
				place++
			}
		}
		first, all := seg.Start(j)*s.Den/s.Num, n*s.Den/s.Num
		starts[j] = first + all*place/sharers
		counts[j] = first + all*(place+1)/sharers - starts[j]
	}
	base := SegmentAt(starts, counts)
	return []Segment{base}, !base.overlaps() && base.isCovered()
}

func fitsGranule(segments []Segment, granule int64) bool {
	splits := func(n int64) bool { return n%granule != 0 }
	return !slices.ContainsFunc(segments, func(s Segment) bool {
		return slices.ContainsFunc(s.Counts, splits) || slices.ContainsFunc(s.Starts, splits)
	})
}

// segments returns the segments of an operand for those of the result.
func (s Share) segments(base []Segment) ([]Segment, bool) {
	list, whole := scaled(base, s.Num, s.Den)
	if whole || !s.Shared || len(base) != 1 || base[0].Times != 1 {
		return list, whole
	}
	starts, counts := make([]int64, len(base[0].Counts)), make([]int64, len(base[0].Counts))
	for j, n := range base[0].Counts {
		lo := base[0].Start(j)
		first, end, ok := s.Range(lo, lo+n)
		if n > 0 && !ok {
			return nil, false
		}
		if n > 0 {
			starts[j], counts[j] = first, end-first
		}
	}
	return []Segment{SegmentAt(starts, counts)}, true
}

// scaled returns segments of num/den times the size; it reports false if a count is no whole number then.
func scaled(segments []Segment, num, den int64) ([]Segment, bool) {
	var list []Segment
	for _, s := range segments {
		t := Segment{Times: s.Times}
		for _, n := range s.Counts {
			if n*num%den != 0 {
				return nil, false
			}
			t.Counts = append(t.Counts, n*num/den)
		}
		for _, n := range s.Starts {
			if n*num%den != 0 {
				return nil, false
			}
			t.Starts = append(t.Starts, n*num/den)
		}
		list = append(list, t)
	}
	return list, true
}

// sliceSegments returns the fit of a slice of a split axis that is whole segments, such as the keys of fused queries,
// keys and values: each device takes what it has of them.
func sliceSegments(n *Node, states func(*Value) Sharding) (Fit, bool) {
	have, start, size, ok := splitSlice(n, states)
	if !ok {
		return Fit{}, false
	}
	first := make([]int64, have.devices()) // of what each device has of them
	var taken []Segment
	at := int64(0)
	for _, s := range have.Segments {
		once := s.Len()
		before, inside := repetitions(at, once, s.Times, start, size)
		if before < 0 {
			return Fit{}, false
		}
		for j, c := range s.Counts {
			first[j] += c * before
		}
		if inside > 0 {
			taken = append(taken, Segment{Times: inside, Counts: s.Counts, Starts: s.Starts})
		}
		at += once * s.Times
	}
	part := SplitOn(have.Axis, taken...)
	f := Fit{Result: part.Normal(), Args: []Sharding{have}}
	f.attr = func(j int) any {
		return &SliceAttr{Axis: have.Axis, Start: Const(first[j]), Len: Const(part.Count(j))}
	}
	return f, len(taken) > 0
}

// hasAll reports whether every device that computes something of a result has a held value.
func (s Sharding) hasAll(result Sharding) bool {
	for j, n := range s.Segments[0].Counts {
		if n == 0 && result.Has(j) {
			return false
		}
	}
	return true
}

// repetitions returns how many repetitions of a segment, which begins at an element and has so many elements in each,
// are before and inside a range. before is -1 if the range begins or ends within one.
func repetitions(at, once, times, start, size int64) (before, inside int64) {
	clamp := func(x int64) int64 { return min(max(x-at, 0), once*times) }
	lo, hi := clamp(start), clamp(start+size)
	if once == 0 {
		return 0, 0
	}
	if lo%once != 0 || hi%once != 0 {
		return -1, 0
	}
	return lo / once, (hi - lo) / once
}

// Sharding returns the state of v: of kind ShardNone unless pass shard has derived it. Parameters are mirrored.
func (v *Value) Sharding() Sharding {
	if v.IsParam() && v.Func.Sharded() {
		return Mirrored()
	}
	if s := v.Func.shards; v.ID < len(s) && s[v.ID] != nil {
		return *s[v.ID]
	}
	return Sharding{}
}

// SetSharding sets the state of v.
func (v *Value) SetSharding(s Sharding) {
	f := v.Func
	if v.ID >= len(f.shards) {
		f.shards = append(f.shards, make([]*Sharding, f.nextValue-len(f.shards))...)
	}
	f.shards[v.ID] = &s
}

// Sharded reports whether values of f have states.
func (f *Func) Sharded() bool { return f.shards != nil }

// ForgetSharding removes the states of all values of f.
func (f *Func) ForgetSharding() { f.shards = nil }

// FitOf returns how devices compute a node in the states that its operands and its result have; ok is false if they
// cannot.
func FitOf(n *Node) (f Fit, ok bool) {
	states := (*Value).Sharding
	for _, f := range Fits(n, states) {
		if f.Result.Equal(states(n.Result())) && slices.EqualFunc(f.Args, n.Args, func(s Sharding, a *Value) bool { return a == nil || s.Equal(states(a)) }) {
			return f, true
		}
	}
	return Fit{}, false
}
