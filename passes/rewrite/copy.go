package rewrite

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// CopyNode returns a node, not yet in the order, that copies v into dense bytes of its
// own, on the backend that made v or, for a parameter or leaf, on the last one.
func CopyNode(c *pass.Context, f *ir.Func, v *ir.Value) *ir.Node {
	n := f.NewNode(ir.OpCopy, nil, []*ir.Value{v}, v.Name+".copy", v.Type.WithShape(v.Type.Shape...))
	n.Backend, n.Split = CopiesOn(c, v), 0
	if o := v.Root(); o.Def != nil && o.Def.Backend != "" {
		n.Split, n.Pos = o.Def.Split, o.Def.Pos
	}
	n.Result().Type.Space = c.Targets.Get(n.Backend).Home()
	SetQueue(c, n)
	return n
}

// CopiesOn returns the backend that copies v where CopyNode makes the copy.
func CopiesOn(c *pass.Context, v *ir.Value) string {
	if o := v.Root(); o.Def != nil && o.Def.Backend != "" {
		return o.Def.Backend
	}
	return c.Targets.Last().Name
}

// InQueue ends the name of a target's second queue, which copies into its spaces.
const InQueue = ".in"

// SetQueue gives n the queue that it runs on, if it has one.
func SetQueue(c *pass.Context, n *ir.Node) {
	queue, rule := QueueOf(c.Targets, n)
	if queue == "" {
		return
	}
	n.Submitted().Queue = queue
	if rule != "" && c.Pass.Declares(rule) {
		c.Cause(n, rule, n.Args[0].Type.Space)
	}
	c.Count("queued", 1)
}

// QueueOf returns the queue of a node, empty for one that the host runs or waits for, and
// the rule by which it is another one than the first of the node's backend.
func QueueOf(l *target.List, n *ir.Node) (queue string, rule pass.RuleName) {
	d := l.Get(n.Backend)
	if d == nil || !flow.DoesWork(n) || flow.RunsFunction(n) {
		return "", ""
	}
	if flow.IsTransfer(n) {
		if from := deviceOf(l, n.Args[0].Type.Space); from != nil {
			return from.Name, ruleUnless(from == d, pass.RulePipelineSource)
		}
		if d.Queues > 1 {
			return d.Name + InQueue, pass.RulePipelineIn
		}
	}
	if d.Queues > 0 {
		return d.Name, ""
	}
	return "", ""
}

func ruleUnless(plain bool, rule pass.RuleName) pass.RuleName {
	if plain {
		return ""
	}
	return rule
}

// deviceOf returns the first target with a queue whose results go into a space, or, where there
// is none, that addresses it. Nil for the host's memory: that is what a target without a queue
// addresses.
func deviceOf(l *target.List, space string) *target.Descriptor {
	var first *target.Descriptor
	for _, d := range l.All() {
		switch {
		case !d.Addresses(space):
		case d.Queues == 0:
			return nil
		case first == nil, first.Home() != space && d.Home() == space:
			first = d
		}
	}
	return first
}
