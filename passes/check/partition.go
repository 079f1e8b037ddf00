package check

import (
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
)

// Claim: every node that computes something is computed by workers, completely, in pieces that its kernel can compute.
// What is replicated, so that each worker computes it for itself, has no effect that others see.
//
// In
//
//	%q = quantize %x : q8_0[4,64]   part=split(1, 48, 16) epoch=0
//	%y = state_write %s, %q         part=replicated             epoch=2
//
// columns 48 to 63 of %q are never computed, units of 16 cut its blocks of 32 elements, every worker would write the
// state %y, and there is no epoch 1.

// partition checks the claim above for one node.
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
	case d == nil: // reach reports it
	case mode == ir.PartNone:
		c.fail(RulePartition, n, "no thread computes it")
	case !d.Workers && mode != ir.PartOne:
		c.fail(RulePartition, n, "%s has no threads, and the node has the partition %v", d.Name, mode)
	case n.Part.Dynamic && mode != ir.PartSplit:
		c.fail(RulePartition, n, "it is not divided, and has a dynamic share")
	case mode == ir.PartSplit:
		c.division(n)
	case mode == ir.PartReplicated && (!n.Is(ir.Pure) || n.Is(ir.Alias)):
		c.fail(RulePartition, n, "every thread computes it, and it is not pure")
	}
}

// division claims: the op can be divided along the axis, all elements of it are divided, and units are whole granules
// of the kernel.
func (c *checker) division(n *ir.Node) {
	p, ax := n.Part, axisOf(n)
	switch {
	case ax == nil:
		c.fail(RulePartition, n, "%v cannot be divided along axis %d", n.Op, p.Axis)
	case len(n.Results) != 1:
		c.fail(RulePartition, n, "it is divided and has %d results", len(n.Results))
	case !p.N.Equal(n.Result().Type.Shape[p.Axis]):
		c.fail(RulePartition, n, "%v elements are divided, axis %d has %v", p.N, p.Axis, n.Result().Type.Shape[p.Axis])
	case p.Granule < 1 || p.Granule%ax.Granule != 0:
		c.fail(RulePartition, n, "the granule %d is no multiple of the kernel's %d", p.Granule, ax.Granule)
	}
}

// axisOf returns how the op of a node describes the division that the node's partition names; nil where it describes
// none, or two.
func axisOf(n *ir.Node) *ir.Axis {
	info := n.Op.Info()
	if n.Part.Mode != ir.PartSplit || info.Axes == nil || len(n.Results) == 0 {
		return nil
	}
	var found *ir.Axis
	axes := info.Axes(n)
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

// epochs claims: epochs count up from 0 in the order of the nodes that compute something, so that one barrier separates
// two epochs.
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

// workers claims: the plan is for no more workers than the targets allow.
func (c *checker) workers() {
	if n, most := c.m.Plan.Workers(), c.targets.MaxWorkers(); n > most {
		c.report("", &Violation{Rule: RulePartition,
			What: fmt.Sprintf("the plan is for up to %d threads, and the targets allow %d: it needs threads=%d", n, most, most)})
	}
}
