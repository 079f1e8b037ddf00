package shard

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// choice is how the devices compute a node.
type choice struct {
	ir.Fit
	bytes int64 // that the group has to move to bring operands into the states of the fit
	cuts  int   // whole operands of which devices take parts
}

// choose returns the way to compute n that moves the fewest bytes, given the states of its operands. A node that is
// computed once needs all of them.
func choose(n *ir.Node, devices int, once bool) (choice, error) {
	var best *choice
	fits := ir.Fits(n, (*ir.Value).Sharding)
	if once {
		fits = fits[:1]
	}
	for _, f := range fits {
		c := choice{Fit: f}
		if c.price(n, devices) && (best == nil || c.less(best)) {
			best = &c
		}
	}
	if best == nil {
		return choice{}, fmt.Errorf("%v: devices cannot compute it together from%s: %s", n, operandStates(n), wayTexts(n))
	}
	return *best, nil
}

// price sets what a choice costs. It reports false if no collective brings an operand into the state.
func (c *choice) price(n *ir.Node, devices int) bool {
	for i, need := range c.Args {
		if need.Kind == ir.ShardNone {
			continue
		}
		have := n.Args[i].Sharding()
		if need.Kind == ir.ShardPartial && have.Kind == ir.ShardMirrored && addsSummand(n, i) {
			continue // one device adds it, and the sum is needed later
		}
		if isState(n.Args[i]) && !have.Equal(need) {
			return false // other devices' states are not read
		}
		if n.Args[i].IsWeight() && n.Args[i].Type.DType != dtype.F32 && !have.Equal(need) {
			return false // kernels of products read packed weights, and what is taken or joined of weights is none
		}
		bytes, possible := transferred(have, need, n.Args[i].Type.MaxBytes(), devices)
		if !possible {
			return false
		}
		c.bytes += bytes
		if have.Kind == ir.ShardMirrored && need.IsSplit() {
			c.cuts++
		}
	}
	return true
}

// addsSummand reports whether a node adds operand i to a partial value of the same shape. Then the sum can be partial
// too: several are added up at once where blocks are parallel.
func addsSummand(n *ir.Node, i int) bool {
	return n.Op == ir.OpAdd && n.Args[1-i].Sharding().Kind == ir.ShardPartial && ir.EqualDims(n.Args[0].Type.Shape, n.Args[1].Type.Shape)
}

// less reports whether c is better than d: fewer bytes, then fewer cuts, then less work that all devices do.
func (c *choice) less(d *choice) bool {
	whole := func(c *choice) int {
		if c.Result.Kind == ir.ShardMirrored {
			return 1
		}
		return 0
	}
	return slices.Compare([]int64{c.bytes, int64(c.cuts), int64(whole(c))}, []int64{d.bytes, int64(d.cuts), int64(whole(d))}) < 0
}

// wayTexts describes the states of operands that would fit.
func wayTexts(n *ir.Node) string {
	whole := make([]string, 0, len(n.Args))
	for _, a := range n.Args {
		if a != nil {
			whole = append(whole, a.String()+" mirrored")
		}
	}
	texts := []string{strings.Join(whole, ", ")}
	for _, w := range ir.Ways(n) {
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

func operandStates(n *ir.Node) string {
	text := ""
	for _, a := range n.Args {
		if a != nil {
			text += fmt.Sprintf(" %v %v", a, a.Sharding())
		}
	}
	return text
}

// isState reports whether v is a version of a state.
func isState(v *ir.Value) bool {
	r := v.Root()
	return r.Def != nil && r.Def.Op == ir.OpState
}

// transferred returns the bytes that devices send each other to bring a value of that size from one state into another.
// It reports false if none of our collectives does it.
func transferred(have, need ir.Sharding, bytes int64, devices int) (int64, bool) {
	others := int64(devices - 1)
	switch {
	case have.Equal(need), have.Kind == ir.ShardMirrored && need.IsSplit():
		return 0, true
	case need.Kind == ir.ShardPartial:
		return 0, false
	case have.Kind == ir.ShardPartial && need.IsSplit():
		return others * bytes, true // each device sends the others their parts
	case have.Kind == ir.ShardPartial:
		return 2 * others * bytes, true // reduced and sent back
	}
	return others * bytes, true
}
