package ir

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Way is one way in which the devices of a group can compute a node together: the state of its result, if its operands
// have these states. In every way the devices compute the same op on what they have.
type Way struct {
	Result Share
	Args   []Share // in order; of kind ShardNone for absent operands

	// Attr returns the attributes for a device that has the elements [lo,hi) of the split axis of the result. It is nil
	// if all devices have those of the node. Of a result in several segments, only hi-lo counts.
	Attr func(lo, hi int64) any

	// Single means that every device has to have one range of the split axis of the result, because Attr depends on it.
	Single bool
}

// Share is the state of an operand or result in a Way.
type Share struct {
	Kind ShardKind

	// Axis is the split axis. The device that has the range [lo,hi) of the result's split axis has the range
	// [lo*Num/Den, hi*Num/Den) of this one. If the result is not split, all split operands have the same range.
	Axis     int
	Num, Den int64

	// Shared means that the range is widened to whole elements of this axis, where it is within one of them: Den/Num
	// elements of the result read one of the operand.
	Shared bool
}

// Range returns the range of the operand's split axis that a range of the result's needs; ok is false if there is none.
func (s Share) Range(lo, hi int64) (first, end int64, ok bool) {
	if s.Shared && lo < hi && lo*s.Num/s.Den == (hi*s.Num-1)/s.Den {
		first = lo * s.Num / s.Den
		return first, first + 1, true
	}
	return lo * s.Num / s.Den, hi * s.Num / s.Den, lo*s.Num%s.Den == 0 && hi*s.Num%s.Den == 0
}

var (
	shareAll = Share{Kind: ShardMirrored}
	shareSum = Share{Kind: ShardPartial}
)

// shareOf returns the share of an operand of which a device has the same range of an axis as of the result.
func shareOf(axis int) Share { return Share{Kind: ShardSplit, Axis: axis, Num: 1, Den: 1} }

// Ways returns the ways in which devices can compute n, besides that of all computing all of it. Operands in packed
// layouts have none: values are divided before they are packed.
func Ways(n *Node) []Way {
	info := n.Op.Info()
	for _, a := range n.Args {
		if a != nil && a.Type.Layout != dtype.Plain {
			return nil
		}
	}
	var ways []Way
	switch {
	case info.Undivided != "" || len(n.Results) != 1:
	case info.Ways != nil:
		ways = info.Ways(n)
	default:
		ways = axisWays(n)
	}
	return slices.DeleteFunc(ways, func(w Way) bool { return w.cannotAdd(n) })
}

// cannotAdd reports whether a summand would be in a dtype in which devices do not add.
func (w *Way) cannotAdd(n *Node) bool {
	for i, s := range w.Args {
		if s.Kind == ShardPartial && n.Args[i].Type.DType != dtype.F32 {
			return true
		}
	}
	return w.Result.Kind == ShardPartial && n.Results[0].Type.DType != dtype.F32
}

// axisWays returns the ways along the axes on which workers may divide the node. Their reads give the range of each
// operand that a range of the result needs.
func axisWays(n *Node) []Way {
	var ways []Way
	for _, ax := range n.Op.Info().Axes(n) {
		w := Way{Result: shareOf(ax.Axis)}
		for i, r := range ax.Reads {
			s := shareAll
			switch {
			case n.Args[i] == nil:
				s = Share{}
			case r.Kind == ReadRange:
				s = Share{Kind: ShardSplit, Axis: r.Axis, Num: r.Num, Den: r.Den}
			}
			w.Args = append(w.Args, s)
		}
		if !slices.ContainsFunc(ax.Reads, func(r Read) bool { return r.Kind == ReadParts }) {
			ways = append(ways, w)
		}
	}
	return ways
}

// Granule returns the number of elements of the split axis of the result of which every device has a multiple: whole
// elements of each operand's axis, and whole blocks. Of a way without a split result it is that of the operands' axes.
func (w *Way) Granule(n *Node) int64 {
	g := int64(1)
	need := func(t Type, s Share) {
		if s.Kind != ShardSplit || s.Shared {
			return
		}
		unit := int64(1)
		if s.Axis == t.Rank()-1 {
			unit = int64(t.DType.BlockElems())
		}
		g = lcm(g, unit*s.Den/gcd(unit*s.Den, s.Num))
	}
	need(n.Results[0].Type, w.Result)
	for i, s := range w.Args {
		if n.Args[i] != nil {
			need(n.Args[i].Type, s)
		}
	}
	return g
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func lcm(a, b int64) int64 { return a / gcd(a, b) * b }

// linearWays adds the ways in which sums of operands are sums of results: each list has the operands that are summands
// together; the others are mirrored.
func linearWays(lists ...[]int) func(n *Node) []Way {
	return func(n *Node) []Way {
		ways := axisWaysOf(n)
		for _, list := range lists {
			w := Way{Result: shareSum}
			for i, a := range n.Args {
				switch {
				case a == nil:
					w.Args = append(w.Args, Share{})
				case slices.Contains(list, i):
					w.Args = append(w.Args, shareSum)
				default:
					w.Args = append(w.Args, shareAll)
				}
			}
			ways = append(ways, w)
		}
		return ways
	}
}

// axisWaysOf is axisWays for ops that may have no axes.
func axisWaysOf(n *Node) []Way {
	if n.Op.Info().Axes == nil {
		return nil
	}
	return axisWays(n)
}

// linear returns the op with linearWays.
func (info OpInfo) linear(lists ...[]int) OpInfo {
	info.Ways = linearWays(lists...)
	return info
}

// scaleWays are linear if nothing is added.
func scaleWays(n *Node) []Way {
	if attrOf[ScaleAttr](n).Bias != 0 {
		return axisWays(n)
	}
	return linearWays([]int{0})(n)
}

// sumWay returns the way in which each device sums over its range of an axis of several operands. Of operands that are
// added, each device has a summand.
func sumWay(n *Node, summed map[int]int, added ...int) Way {
	w := Way{Result: shareSum}
	for i, a := range n.Args {
		axis, isSummed := summed[i]
		switch {
		case a == nil:
			w.Args = append(w.Args, Share{})
		case isSummed:
			w.Args = append(w.Args, shareOf(axis))
		case slices.Contains(added, i):
			w.Args = append(w.Args, shareSum)
		default:
			w.Args = append(w.Args, shareAll)
		}
	}
	return w
}

// reshapeWays divides an axis of the result that begins where one of the operand does: the same elements are before
// both, for all sizes.
func reshapeWays(n *Node) []Way {
	from, to := n.Args[0].Type.Shape, n.Results[0].Type.Shape
	ways := []Way{{Result: shareSum, Args: []Share{shareSum}}}
	outer := Const(1)
	for a, extent := range to {
		if b := beginsAt(from, outer); b >= 0 && !extent.Is(1) {
			if s, ok := ratioShare(b, from[b], extent); ok {
				ways = append(ways, Way{Result: shareOf(a), Args: []Share{s}, Attr: func(lo, hi int64) any {
					shape := slices.Clone(to)
					shape[a] = Const(hi - lo)
					return &ReshapeAttr{Shape: shape}
				}})
			}
		}
		outer = outer.Mul(extent)
	}
	return ways
}

// beginsAt returns the axis, of more than one element, before which a shape has that many rows; -1 if there is none.
func beginsAt(shape []Dim, outer Dim) int {
	n := Const(1)
	for b, extent := range shape {
		if n.Equal(outer) && !extent.Is(1) {
			return b
		}
		n = n.Mul(extent)
	}
	return -1
}

// ratioShare returns the share of an axis of the operand for one of the result: equal extents, or constant ones.
func ratioShare(axis int, from, to Dim) (Share, bool) {
	if from.Equal(to) {
		return shareOf(axis), true
	}
	f, ok1 := from.IsConst()
	t, ok2 := to.IsConst()
	if !ok1 || !ok2 || f == 0 || t == 0 {
		return Share{}, false
	}
	g := gcd(f, t)
	return Share{Kind: ShardSplit, Axis: axis, Num: f / g, Den: t / g}, true
}

// permuteWays divides every axis.
func permuteWays(n *Node) []Way {
	ways := []Way{{Result: shareSum, Args: []Share{shareSum}}}
	for a, p := range attrOf[PermuteAttr](n).Perm {
		if !n.Results[0].Type.Shape[a].Is(1) {
			ways = append(ways, Way{Result: shareOf(a), Args: []Share{shareOf(p)}})
		}
	}
	return ways
}

// sliceWays divides every axis but the one of which a range is taken.
func sliceWays(n *Node) []Way {
	ways := []Way{{Result: shareSum, Args: []Share{shareSum}}}
	for a, extent := range n.Results[0].Type.Shape {
		if a != attrOf[SliceAttr](n).Axis && !extent.Is(1) {
			ways = append(ways, Way{Result: shareOf(a), Args: []Share{shareOf(a)}})
		}
	}
	return ways
}

// concatWays divides every axis but the joined one.
func concatWays(n *Node) []Way {
	all := make([]int, len(n.Args))
	for i := range all {
		all[i] = i
	}
	return linearWays(all)(n)
}

// matMulWays divides rows of the weights or of x, or the dimension over which the product sums.
func matMulWays(n *Node) []Way {
	x := n.Args[0].Type
	return append(axisWays(n), sumWay(n, map[int]int{0: x.Rank() - 1, 1: 1}, 2))
}

// expertsMatMulWays divides the rows of all experts, tokens, the dimension over which the products sum, or choices, of
// which a device may have any with all experts.
func expertsMatMulWays(n *Node) []Way {
	ways := append(axisWays(n), sumWay(n, map[int]int{0: 2, 1: 2}))
	if n.Results[0].Type.Shape[1].Is(1) {
		return ways
	}
	w := Way{Result: shareOf(1), Args: []Share{shareOf(1), shareAll, shareOf(1)}}
	if n.Args[0].Type.Shape[1].Is(1) {
		w.Args[0] = shareAll
	}
	return append(ways, w)
}

// reduceSumWays divides rows, or the dimension that is summed.
func reduceSumWays(n *Node) []Way {
	inner := n.Args[0].Type.Rank() - 1
	return append(linearWays([]int{0})(n), sumWay(n, map[int]int{0: inner}))
}

// attentionWays divides tokens, and heads. A device's sinks are those of its heads, and so is a bias that depends on
// the number of the head. It has the heads of keys and values that its heads read: several devices may have one, or all
// all of them.
func attentionWays(n *Node) []Way {
	around := ScoringOf(n).Around > 0 // tokens before a device's own are counted
	ways := slices.DeleteFunc(axisWays(n), func(w Way) bool { return w.Result.Axis == 1 || around && w.Result.Axis == 0 })
	heads, kvHeads, ok := headCounts(n)
	if !ok || heads == 1 {
		return ways
	}
	g := gcd(heads, kvHeads)
	shared := Share{Kind: ShardSplit, Axis: 1, Num: kvHeads / g, Den: heads / g, Shared: true}
	for _, kv := range []Share{shared, shareAll} {
		if kv.Kind == ShardMirrored && kvHeads > 1 {
			continue // a part of the heads would read other heads of keys
		}
		w := Way{Result: shareOf(1), Args: []Share{shareOf(1), kv, kv, shareAll, shareAll, shareAll}}
		if s := ScoringOf(n); s.Alibi > 0 {
			w.Single, w.Attr = true, func(lo, hi int64) any {
				a := *attrOf[AttentionAttr](n)
				if a.Head, a.Heads = s.Head+lo, s.Heads; hi-lo == s.Heads {
					a.Heads = 0 // all, from 0 on
				}
				return &a
			}
		}
		if len(n.Args) > 6 {
			w.Args = append(w.Args, Share{})
			if n.Args[6] != nil {
				w.Args[6] = shareOf(0)
			}
		}
		ways = append(ways, w)
	}
	return ways
}
