package simplify

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// Observe adds the nodes that hand out the values which --observe names.
//
// Before: the nodes that will run, each on its backend. After: each value that the option names, and that is in memory
// as numbers, is the operand of an observe right after its node. The processor runs that. The entry point lists the
// names (ir.Func.Observed), with which check compares the nodes.
//
// Not earlier: a value with another reader cannot be fused away, and what is observed has to be the program that runs
// without it. Not later: a value on a device needs a copy to the host, which copy inserts.
//
// Cost: one walk, O(nodes). Without the option it does nothing.
//
//	%y = matmul %x, %w        %y = matmul %x, %w
//	%z = silu %y              observe %y {names=["y"]}
//	return %z                 %z = silu %y
//	                          return %z
//
// A part of a value that the devices of a group have (ir.Func.Parts) is handed out with its index: y@1[:,8:12].
//
// An observe is a node that reads and makes nothing, and all passes that follow know what a reader is. Split cuts at it,
// so that it follows the split which made the value. Copy brings a device's value to the host, and sync makes the host
// wait for that copy. Roll takes it into the body of a repeat with the names of all iterations. Partition puts a barrier
// between the workers that compute the value and worker 0, which hands it out while the others continue. Plan reuses the
// bytes after the epoch of the observe. Check proves what it proves of every reader, and that each name is handed out
// once. An error of the observer poisons the barrier as a fault does, so that the others leave where they meet next.
//
// Steps of a program that is observed are not in flight together, whatever --pipeline says, as Session.observed waits
// for each. The copies of a pipelined plan have one instance for each of them all the same.
//
// The alternatives were these. Results of the entry point need no new op, and have been what this pass made: they are
// handed out when the step has ended, after an error of the observer could save any work, and are all live until then.
// For a model of four layers, with all values observed, that took 6 MB where this takes 0.7. A barrier at which worker 0
// calls back has the epochs of the program without it, but is no node: plan, sync, check and readback would need rules
// for readers that are none, and a value on a device a wait of the host that belongs to nothing. A copy to memory that
// the caller reads is a reader too, but needs that memory for each value, and does not specify when it may be read.
// Reading the arena from outside finds bytes that are in use again.
//
// The price is a barrier for most values, and a split for each value of a device: its queue is empty while the host
// waits.
var Observe = pass.Pass{
	Name:   "observe",
	Doc:    "add the nodes that hand out the values which --observe names",
	Run:    observe,
	Needs:  ir.PropShaped | ir.PropAssigned | ir.PropPacked,
	Breaks: pass.FromSplit,
}

func observe(c *pass.Context, m *ir.Module) error {
	if c.Options.Observe == nil {
		c.Unchanged = true
		return nil
	}
	for _, f := range m.Funcs {
		if f.Observed != nil {
			continue // by an earlier run of the pass
		}
		part := f.PartIndexes()
		nodes := make([]*ir.Node, 0, len(f.Nodes))
		for _, n := range f.Nodes {
			nodes = append(nodes, n)
			if !pass.Observes(c.Options.Observe, n) || flow.Unobservable(n) != "" {
				continue
			}
			name := n.Result().Name()
			name += part[name]
			f.Observed = append(f.Observed, name)
			nodes = append(nodes, handOut(c, n, name))
			c.Count("values", 1)
		}
		f.Nodes = nodes
	}
	return nil
}

// handOut returns an observe of the result of n, which the processor runs.
func handOut(c *pass.Context, n *ir.Node, name string) *ir.Node {
	h := n.Func.NewNode(ir.OpObserve, &ir.ObserveAttr{Names: []string{name}}, []*ir.Value{n.Result()}, "")
	h.Pos, h.Backend = n.Pos, c.Targets.Last().Name
	return h
}
