package partition

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// divideWithin divides the nodes of f, and of the bodies in it, that run on the queues of groups of threads. The
// threads of a group meet before a node, unless pass sync finds that the node may run at the same time as the nodes
// before it. So no granule depends on another node. Each node is divided along the axis of the smallest predicted time.
func (e *entry) divideWithin(f *ir.Func) {
	for _, n := range f.Nodes {
		if n.Body != nil {
			e.divideWithin(n.Body)
		}
		if n.Submit != nil {
			n.Submit.Within = ir.Partition{}
		}
		t := e.c.Target(n)
		if t == nil || !t.IsGroup() || !flow.DoesWork(n) || n.Body != nil || n.Queue() == "" || isCopy(n) {
			continue
		}
		n.Submit.Within = e.within(t, n)
		if n.Submit.Within.Mode == ir.PartSplit {
			e.c.Cause(n, pass.RulePartitionWithin)
			e.c.Count("within", 1)
		}
	}
}

// isCopy reports whether n only moves bytes, which a queue does by one thread.
func isCopy(n *ir.Node) bool { return n.Op == ir.OpCopy || n.Op == ir.OpCopyExperts }

// within returns the fastest division of n among the threads of t.
func (e *entry) within(t *target.Descriptor, n *ir.Node) ir.Partition {
	threads := pass.MostWorkers(e.c, t)
	best := ir.Partition{Mode: ir.PartOne}
	effort := flow.EffortOf(n)
	whole := effort.Along(t, n, nil)
	least := whole.Seconds(1, 1)
	if threads == 1 || len(n.Results) != 1 || !e.c.Allow(pass.RulePartitionWithin, n) {
		return best
	}
	axes := flow.NodeAxes(n)
	for i := range axes {
		ax := &axes[i]
		length, granule := n.Result().Type.Shape[ax.Axis], ownGranule(n, ax)
		work := effort.Along(t, n, ax)
		if s := work.Seconds(length.CeilDiv(granule).Upper(), threads); s < least {
			best, least = ir.Partition{Mode: ir.PartSplit, Axis: ax.Axis, N: length, Granule: granule}, s
		}
	}
	return best
}
