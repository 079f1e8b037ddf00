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

// Pass says on which queue each node runs, and what exists once for each step that
// may be under way.
//
// Before: every node has a backend, and copies stand wherever a value crosses spaces.
// After: nodes that a device runs while the host goes on have a queue; where several steps
// may be under way (Options.Pipeline), so have the results of copies into such a device as
// many instances.
//
// Not earlier: copies are what is buffered. Not later: layers are equal only if their
// queues are, and where the host waits decides on epochs. Events come last, in sync, as
// they follow from addresses.
//
// Cost: one walk, O(nodes + operands). docs/explanation/queues.md has the model.
var Pass = pass.Pass{
	Name:     "pipeline",
	Doc:      "choose queues, and what exists once for each step under way",
	Run:      chooseQueues,
	Required: true,
	Needs:    ir.PropAssigned | ir.PropSplit | ir.PropCopied,
	Gives:    ir.PropQueued,
	Breaks:   pass.FromRolled,
	Rules: []pass.Rule{
		{Name: pass.RulePipelineSource, Doc: "a copy runs on the queue of the target that has its source: no one has to wait for the value first"},
		{Name: pass.RulePipelineIn, Doc: "a copy out of the host's memory runs on the target's queue for copies, beside its other work"},
		{Name: pass.RulePipelineSlots, Doc: "each step that may be under way has an instance of what is copied into a device"},
	},
}

func chooseQueues(c *pass.Context, m *ir.Module) error {
	if err := oneName(c.Targets); err != nil {
		return err
	}
	var errs []error
	for _, f := range m.AllFuncs() {
		fixed := fixedBytes(f)
		for _, n := range f.Nodes {
			rewrite.SetQueue(c, n)
			if slots := c.Options.Pipeline; slots > 1 && isBuffered(c, n) && !fixed[n.Result()] {
				errs = append(errs, instancesFit(n, slots))
				n.Submitted().Slots = slots
				c.Cause(n, pass.RulePipelineSlots)
				c.Count("slots", int64(slots))
			}
		}
	}
	return errors.Join(errs...)
}

// mostInstances is how many bytes all instances of a value may have: far more than there
// are, and few enough that sums of them do not wrap.
const mostInstances = 1 << 48

// instancesFit reports instances that no memory holds.
func instancesFit(n *ir.Node, slots int) error {
	if bytes := max(n.Result().MaxBytes(), 1); int64(slots) > mostInstances/bytes {
		return fmt.Errorf("@%s: %v: %d instances of %d bytes are more than any memory holds: lower --pipeline", n.Func.Name, n, slots, bytes)
	}
	return nil
}

// oneName reports targets that are called as the second queue of another one.
func oneName(l *target.List) error {
	var errs []error
	for _, d := range l.All() {
		if other := l.Get(d.Name + rewrite.InQueue); d.Queues > 1 && other != nil && other.Queues > 0 {
			errs = append(errs, fmt.Errorf("target %s: the second queue of %s has this name: call the target something else", other.Name, d.Name))
		}
	}
	return errors.Join(errs...)
}

// isBuffered reports whether n copies into a device that works while the host goes on.
func isBuffered(c *pass.Context, n *ir.Node) bool {
	return flow.IsTransfer(n) && c.Target(n) != nil && c.Target(n).Queues > 0
}

// fixedBytes returns the values of f that have one instance whatever makes them: results of
// the function, and what a repeat carries.
func fixedBytes(f *ir.Func) map[*ir.Value]bool {
	fixed := make(map[*ir.Value]bool)
	for _, r := range f.Results {
		fixed[flow.Origin(r)] = true
	}
	for _, n := range f.Nodes {
		if a, ok := n.Attr.(*ir.RepeatAttr); ok {
			for _, v := range n.Args[:a.Carried] {
				fixed[flow.Origin(v)] = true
			}
		}
	}
	return fixed
}
