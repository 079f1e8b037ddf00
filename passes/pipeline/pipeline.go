// Package pipeline holds two passes: pipeline, which chooses queues and numbers of instances, and sync, which orders
// queues by events. Pass plan uses the layout and the clocks of sync too, to learn how long queues may be at work.
//
// Pass pipeline is pipeline.go. Pass sync is sync.go, and takes its steps from
//
//	layout.go      the nodes of an entry point in the order of submission
//	memory.go      the bytes that nodes touch, and who touched them before
//	clock.go       what each queue knows to have ended, and the waits that are missing
//	concurrent.go  the nodes of one queue that may run at the same time
//	queue.go       whether a function has nodes on queues, and a queue events
//
// The words that these files use:
//
//   - A queue runs nodes in the order of submission, while the host continues. Queue 0 of a layout is the host.
//   - A step is one run of an entry point. Several steps may be under way at once (Options.Pipeline).
//   - An instance is one of several sets of bytes of the same value, one for each step under way. In the fields of a
//     node it is a slot.
//   - A place is a node at one position of a layout. It is not an ir.Place, which is the address of a value.
//   - A node that others wait for records an event. A wait names an event, of this step or of the step before.
package pipeline

import (
	"errors"
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/rewrite"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Pass chooses the queue of each node, and the values that have an instance for each step under way.
//
// Before: every node has a backend, and a copy wherever a value crosses spaces. After: nodes that a device runs while
// the host continues have a queue. If several steps may be under way (Options.Pipeline), the result of a copy into such
// a device has as many instances.
//
// Not earlier: only copies have instances. Not later: pass roll finds layers equal only if their queues are, and pass
// partition begins an epoch where the host may wait. Events come last, in pass sync, because they follow from
// addresses.
//
// For example, with gpu a target of two queues and --pipeline 3:
//
//	%i = copy %x @gpu      from the host's memory: queue gpu.in, 3 instances
//	%a = silu %i @gpu      queue gpu
//	%b = copy %a @cpu      from the device's memory: queue gpu, as gpu can start it when %a has ended
//	%c = neg %b  @cpu      no queue
//
// Cost: one walk, O(nodes + operands). docs/explanation/queues.md has the model.
var Pass = pass.Pass{
	Name:     "pipeline",
	Doc:      "choose queues, and which values have an instance for each step under way",
	Run:      chooseQueues,
	Required: true,
	Needs:    ir.PropAssigned | ir.PropSplit | ir.PropCopied,
	Gives:    ir.PropQueued,
	Breaks:   pass.FromRolled,
	Rules: []pass.Rule{
		{Name: pass.RulePipelineSource, Doc: "a copy runs on the queue of the target that has its source: that queue needs no wait for the value"},
		{Name: pass.RulePipelineIn, Doc: "a copy from the host's memory runs on the target's queue for copies, in parallel with its other work"},
		{Name: pass.RulePipelineSlots, Doc: "a value that is copied into a device has an instance for each step that may be under way"},
	},
}

func chooseQueues(c *pass.Context, m *ir.Module) error {
	if err := checkQueueNames(c.Targets); err != nil {
		return err
	}
	var errs []error
	for _, f := range m.AllFuncs() {
		single := singleInstance(f)
		for _, n := range f.Nodes {
			rewrite.SetQueue(c, n)
			if slots := c.Options.Pipeline; slots > 1 && copiesIntoQueued(c, n) && !single[n.Result()] {
				errs = append(errs, checkInstances(n, slots))
				n.Submitted().Slots = slots
				c.Cause(n, pass.RulePipelineSlots)
				c.Count("slots", int64(slots))
			}
		}
	}
	return errors.Join(errs...)
}

// checkQueueNames returns an error for each target with the name of the second queue of another one.
func checkQueueNames(l *target.List) error {
	var errs []error
	for _, d := range l.All() {
		if other := l.Get(d.Name + rewrite.InQueue); d.Queues > 1 && other != nil && other.Queues > 0 {
			errs = append(errs, fmt.Errorf("target %s: the second queue of %s has this name: call the target something else", other.Name, d.Name))
		}
	}
	return errors.Join(errs...)
}

// copiesIntoQueued reports whether n copies into a device that works while the host continues.
func copiesIntoQueued(c *pass.Context, n *ir.Node) bool {
	return flow.IsTransfer(n) && c.Target(n) != nil && c.Target(n).Queues > 0
}

// singleInstance returns the values of f that have one instance even if a copy into a device makes them: results of the
// function, and values that repeats carry.
func singleInstance(f *ir.Func) map[*ir.Value]bool {
	single := make(map[*ir.Value]bool)
	for _, r := range f.Results {
		single[flow.Origin(r)] = true
	}
	for _, n := range f.Nodes {
		if a, ok := n.Attr.(*ir.RepeatAttr); ok {
			for _, v := range n.Args[:a.Carried] {
				single[flow.Origin(v)] = true
			}
		}
	}
	return single
}

// maxInstanceBytes is how many bytes all instances of a value may have together. No memory is as large, and sums of
// such sizes do not overflow.
const maxInstanceBytes = 1 << 48

// checkInstances returns an error if no memory can hold the instances of the result of n.
func checkInstances(n *ir.Node, slots int) error {
	if bytes := max(n.Result().MaxBytes(), 1); int64(slots) > maxInstanceBytes/bytes {
		return fmt.Errorf("@%s: %v: %d instances of %d bytes do not fit into any memory: lower --pipeline", n.Func.Name, n, slots, bytes)
	}
	return nil
}
