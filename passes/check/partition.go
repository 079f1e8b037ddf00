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
	d := c.backend(n)
	switch mode := n.Part.Mode; {
	case d == nil: // reach says so
	case mode == ir.PartNone:
		c.fail(RulePartition, n, "no worker computes it")
	case !d.Workers && mode != ir.PartOne:
		c.fail(RulePartition, n, "%s has no workers, and the node is divided by %v", d.Name, mode)
	case n.Part.Tail && mode != ir.PartSplit:
		c.fail(RulePartition, n, "it is not divided, and has a tail")
	case mode == ir.PartSplit:
		if ax, k := c.division(n); ax != nil {
			c.owners[n.Func].add(n, ax, k)
		}
	case mode == ir.PartEach && (!n.Is(ir.Pure) || n.Is(ir.Alias)):
		c.fail(RulePartition, n, "every worker computes it, and it is not pure")
	}
}

// division returns the axis along which a node is divided, and the node's kind; nil if that
// cannot be.
func (c *checker) division(n *ir.Node) (*ir.Axis, *kind) {
	p := n.Part
	ax, k := c.kinds.chosen(n)
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
		return ax, k
	}
	return nil, nil
}

// kinds knows what follows from the attributes and the types of nodes, for the last few nodes of
// each op that differ in these: the next node is mostly one like them.
type kinds [ir.NumOps]struct {
	last [4]kind
	next int // the one that gives way
}

// kind is nodes of one op that share their attributes, and have operands and results of the same
// types.
type kind struct {
	node *ir.Node  // one of them; nil for none
	axes []ir.Axis // how the op describes their divisions

	owned *ir.Node // one of them whose owners are known
	own   *owners
}

// of returns the kind of a node.
func (m *kinds) of(n *ir.Node) *kind {
	op := &m[n.Op]
	for i := range op.last {
		if k := &op.last[i]; k.node != nil && alike(k.node, n) {
			return k
		}
	}
	k := &op.last[op.next]
	op.next = (op.next + 1) % len(op.last)
	*k = kind{node: n, axes: n.Op.Info().Axes(n)}
	return k
}

// alike reports whether two nodes of one op are of one kind.
func alike(a, b *ir.Node) bool {
	same := func(v, w *ir.Value) bool {
		return v == w || v != nil && w != nil && v.Type.SameData(w.Type)
	}
	return a.Attr == b.Attr && slices.EqualFunc(a.Args, b.Args, same) && slices.EqualFunc(a.Results, b.Results, same)
}

// chosen returns how the op describes the division that the node's partition names; nil
// where it has none, or two that differ. The node is of the kind.
func (m *kinds) chosen(n *ir.Node) (*ir.Axis, *kind) {
	if n.Part.Mode != ir.PartSplit || n.Op.Info().Axes == nil || len(n.Results) == 0 {
		return nil, nil
	}
	var found *ir.Axis
	k := m.of(n)
	for i := range k.axes {
		if k.axes[i].Axis != n.Part.Axis {
			continue
		}
		if found != nil {
			return nil, nil
		}
		found = &k.axes[i]
	}
	return found, k
}

// epochs claims: epochs count up from 0 in the order of the nodes with work, so that a
// barrier between two epochs is one barrier.
type epochs struct {
	c    *checker
	last int
}

func (e *epochs) follow(n *ir.Node) {
	if !works(n) {
		return
	}
	if n.Epoch < e.last || n.Epoch >= max(n.Func.Epochs, 1) {
		e.c.fail(RulePartition, n, "epoch %d follows epoch %d, of %d", n.Epoch, e.last, n.Func.Epochs)
	}
	e.last = max(e.last, n.Epoch)
}
