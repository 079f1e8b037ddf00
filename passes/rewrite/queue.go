package rewrite

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// A target with queues runs its nodes in the queue that has its name. Copies into its spaces run in a second queue of
// the target, NAME.in, if there is one, so that they overlap with its work. Copies out of a device's space run in a
// queue of that device. The host runs nodes of targets without queues, and waits for copies out of their memory if no
// other device can make them.

// InQueue is the suffix of the name of a target's second queue, which copies into its spaces.
const InQueue = ".in"

// SetQueue puts n into its queue, if it has one.
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

// QueueOf returns the queue of a node; empty for a node that the host runs or waits for. If it is not the first queue
// of the node's backend, the rule is the reason.
func QueueOf(l *target.List, n *ir.Node) (queue string, rule pass.RuleName) {
	d := l.Get(n.Backend)
	if d == nil || !flow.DoesWork(n) || flow.RunsFunction(n) {
		return "", ""
	}
	if flow.IsTransfer(n) {
		if ownersAlone(l, d, n.Args[0].Type.Space) {
			return "", ""
		}
		if from := deviceOf(l, n.Args[0].Type.Space); from != nil {
			if from == d {
				return d.Name, ""
			}
			return from.Name, pass.RulePipelineSource
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

// ownersAlone reports whether no other device, such as d, copies out of a space: it is the memory of a device without
// queues, which the processor does not read, and that device or d is staged.
func ownersAlone(l *target.List, d *target.Descriptor, space string) bool {
	for _, owner := range l.All() {
		if owner.Home() == space {
			return owner.Queues == 0 && (owner.Staged || d.Staged) && !l.HostReads(space)
		}
	}
	return false
}

// deviceOf returns the first target with a queue whose results go into a space or, if there is none, the first one that
// addresses the space. It returns nil for memory of the host: spaces that a target without queues addresses.
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
