package shard

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
)

// choice is how the devices compute a node: in which way, and with which states of the operands.
type choice struct {
	way   ir.Way
	state ir.Sharding   // of the result
	args  []ir.Sharding // that the operands need; of kind ShardNone for absent ones
	bytes int64         // that the group has to move to bring operands into these states
	cuts  int           // whole operands of which devices take parts
}

// choose returns the way to compute n that moves the fewest bytes, given the states of its operands.
func choose(n *ir.Node, states func(*ir.Value) ir.Sharding, devices int) (choice, error) {
	ways := append([]ir.Way{mirroredWay(n)}, ir.Ways(n)...)
	var best *choice
	for _, w := range ways {
		c, ok := fit(n, w, states, devices)
		if ok && (best == nil || c.less(best)) {
			best = &c
		}
	}
	if best == nil {
		return choice{}, fmt.Errorf("%v: devices cannot compute it together from%s: %s", n, operandStates(n, states), wayTexts(n, ways))
	}
	return *best, nil
}

// wayTexts says what would fit.
func wayTexts(n *ir.Node, ways []ir.Way) string {
	var texts []string
	for _, w := range ways {
		var args []string
		for i, s := range w.Args {
			switch {
			case s.Kind == ir.ShardNone:
			case s.Kind == ir.ShardSplit:
				args = append(args, fmt.Sprintf("%v split on axis %d", n.Args[i], s.Axis))
			default:
				args = append(args, fmt.Sprintf("%v %v", n.Args[i], ir.Sharding{Kind: s.Kind}))
			}
		}
		texts = append(texts, strings.Join(args, ", "))
	}
	return "it fits " + strings.Join(texts, "; or ")
}

func operandStates(n *ir.Node, states func(*ir.Value) ir.Sharding) string {
	text := ""
	for _, a := range n.Args {
		if a != nil {
			text += fmt.Sprintf(" %v %v", a, states(a))
		}
	}
	return text
}

// mirroredWay is the way in which every device computes all of n.
func mirroredWay(n *ir.Node) ir.Way {
	w := ir.Way{Result: ir.Share{Kind: ir.ShardMirrored}}
	for _, a := range n.Args {
		kind := ir.ShardMirrored
		if a == nil {
			kind = ir.ShardNone
		}
		w.Args = append(w.Args, ir.Share{Kind: kind})
	}
	return w
}

// less reports whether c is better than d: fewer bytes, then less work that all devices do, then fewer cuts.
func (c *choice) less(d *choice) bool {
	whole := func(c *choice) int {
		if c.state.Kind == ir.ShardMirrored {
			return 1
		}
		return 0
	}
	return slices.Compare([]int64{c.bytes, int64(c.cuts), int64(whole(c))}, []int64{d.bytes, int64(d.cuts), int64(whole(d))}) < 0
}

// fit returns the choice of a way, if the states of the operands allow it.
func fit(n *ir.Node, w ir.Way, states func(*ir.Value) ir.Sharding, devices int) (choice, bool) {
	c := choice{way: w, state: ir.Sharding{Kind: w.Result.Kind}}
	base, ok := baseSegments(n, w, states)
	if !ok {
		return c, false
	}
	if w.Result.Kind == ir.ShardSplit {
		c.state = ir.SplitOn(w.Result.Axis, base...)
	}
	for i, s := range w.Args {
		need := ir.Sharding{Kind: s.Kind}
		if s.Kind == ir.ShardSplit {
			segments, whole := scaled(base, s.Num, s.Den)
			if !whole {
				return c, false
			}
			need = ir.SplitOn(s.Axis, segments...)
		}
		c.args = append(c.args, need)
		if s.Kind == ir.ShardNone {
			continue
		}
		have := states(n.Args[i])
		if isState(n.Args[i]) && !have.Equal(need) {
			return c, false // other devices' states are not read
		}
		bytes, possible := transferred(have, need, n.Args[i].Type.MaxBytes(), devices)
		if !possible {
			return c, false
		}
		c.bytes += bytes
		if have.Kind == ir.ShardMirrored && need.IsSplit() {
			c.cuts++
		}
	}
	return c, true
}

// isState reports whether v is a version of a state.
func isState(v *ir.Value) bool {
	r := v.Root()
	return r.Def != nil && r.Def.Op == ir.OpState
}

// baseSegments returns the segments of the result's split axis that the first split operand gives. Of a way with a sum
// they are those of the summed axes, and of others none.
func baseSegments(n *ir.Node, w ir.Way, states func(*ir.Value) ir.Sharding) ([]ir.Segment, bool) {
	needed := w.Result.Kind == ir.ShardSplit
	for i, s := range w.Args {
		if s.Kind != ir.ShardSplit {
			continue
		}
		needed = true
		if have := states(n.Args[i]); have.IsSplit() && have.Axis == s.Axis {
			if base, whole := scaled(have.Segments, s.Den, s.Num); whole && fitsGranule(base, w.Granule(n)) {
				return base, true
			}
		}
	}
	return nil, !needed
}

func fitsGranule(segments []ir.Segment, granule int64) bool {
	return !slices.ContainsFunc(segments, func(s ir.Segment) bool {
		return slices.ContainsFunc(s.Counts, func(n int64) bool { return n%granule != 0 })
	})
}

// scaled returns segments of num/den times the size; it reports false if a count is no whole number then.
func scaled(segments []ir.Segment, num, den int64) ([]ir.Segment, bool) {
	var list []ir.Segment
	for _, s := range segments {
		t := ir.Segment{Times: s.Times}
		for _, n := range s.Counts {
			if n*num%den != 0 {
				return nil, false
			}
			t.Counts = append(t.Counts, n*num/den)
		}
		list = append(list, t)
	}
	return list, true
}

// transferred returns the bytes that devices send each other to bring a value of that size from one state into another. It
// reports false if none of our collectives does it.
func transferred(have, need ir.Sharding, bytes int64, devices int) (int64, bool) {
	others := int64(devices - 1)
	switch {
	case have.Equal(need), have.Kind == ir.ShardMirrored && need.IsSplit():
		return 0, true
	case need.Kind == ir.ShardPartial:
		return 0, false
	case have.Kind == ir.ShardPartial:
		return 2 * others * bytes, true // reduced and sent back
	}
	return others * bytes, true
}
