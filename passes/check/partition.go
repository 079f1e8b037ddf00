package check

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// partition claims: every node with work is computed by someone, all of it, in pieces that
// its kernel can compute; and what each worker computes for itself has no effect that
// others could see.
func (c *checker) partition(n *ir.Node) {
	if !works(n) || n.Op == ir.OpRepeat {
		return
	}
	if n.Op == ir.OpCall {
		c.fail(RulePartition, n, "calls cannot be proved")
		return
	}
	d := c.targets.Get(n.Backend)
	switch mode := n.Part.Mode; {
	case d == nil: // reach says so
	case mode == ir.PartNone:
		c.fail(RulePartition, n, "no worker computes it")
	case !d.Workers && mode != ir.PartOne:
		c.fail(RulePartition, n, "%s has no workers, and the node is divided by %v", d.Name, mode)
	case n.Part.Tail && mode != ir.PartSplit:
		c.fail(RulePartition, n, "it is not divided, and has a tail")
	case mode == ir.PartSplit:
		if ax := c.division(n); ax != nil {
			c.owners[n.Func].add(n, ax)
		}
	case mode == ir.PartEach && (!n.Is(ir.Pure) || n.Is(ir.Alias)):
		c.fail(RulePartition, n, "every worker computes it, and it is not pure")
	}
}

// division returns the axis along which a node is divided; nil if that cannot be.
func (c *checker) division(n *ir.Node) *ir.Axis {
	p := n.Part
	ax := c.axes.chosen(n)
	switch {
	case ax == nil:
		c.fail(RulePartition, n, "%v cannot be divided along axis %d", n.Op, p.Axis)
	case len(n.Results) != 1:
		c.fail(RulePartition, n, "it is divided and has %d results", len(n.Results))
	case !p.N.Equal(n.Result().Type.Shape[p.Axis]):
		c.fail(RulePartition, n, "%v elements are divided, axis %d has %v", p.N, p.Axis, n.Result().Type.Shape[p.Axis])
	case p.Granule < 1 || p.Granule%ax.Granule != 0:
		c.fail(RulePartition, n, "the granule %d is no multiple of the kernel's %d", p.Granule, ax.Granule)
	default:
		return ax
	}
	return nil
}

// axesOf knows how ops describe the divisions of nodes, for the last node of each op: what an op
// says follows from attributes and types, and the next node is mostly one like it.
type axesOf [ir.NumOps]struct {
	node *ir.Node
	axes []ir.Axis
}

func (m *axesOf) of(n *ir.Node) []ir.Axis {
	last := &m[n.Op]
	if last.node == nil || !alike(last.node, n) {
		last.node, last.axes = n, n.Op.Info().Axes(n)
	}
	return last.axes
}

// alike reports whether two nodes of one op share their attributes, and have operands and results
// of the same types.
func alike(a, b *ir.Node) bool {
	same := func(v, w *ir.Value) bool {
		return v == w || v != nil && w != nil && v.Type.SameData(w.Type)
	}
	return a.Attr == b.Attr && slices.EqualFunc(a.Args, b.Args, same) && slices.EqualFunc(a.Results, b.Results, same)
}

// chosen returns how the op describes the division that the node's partition names; nil
// where it has none, or two that differ.
func (m *axesOf) chosen(n *ir.Node) *ir.Axis {
	if n.Part.Mode != ir.PartSplit || n.Op.Info().Axes == nil || len(n.Results) == 0 {
		return nil
	}
	var found *ir.Axis
	axes := m.of(n)
	for i := range axes {
		if axes[i].Axis != n.Part.Axis {
			continue
		}
		if found != nil {
			return nil
		}
		found = &axes[i]
	}
	return found
}

// epochs claims: epochs count up from 0 in the order of the nodes with work, so that a
// barrier between two epochs is one barrier.
func (c *checker) epochs(f *ir.Func) {
	last := 0
	for _, n := range f.Nodes {
		if !works(n) {
			continue
		}
		if n.Epoch < last || n.Epoch >= max(f.Epochs, 1) {
			c.fail(RulePartition, n, "epoch %d follows epoch %d, of %d", n.Epoch, last, f.Epochs)
		}
		last = max(last, n.Epoch)
	}
}
