package pipeline

import (
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/rewrite"
	"github.com/ggmlc/ggmlc/passes/target"
)

// HasQueues reports whether some node of f, or of a body in it, runs on a queue.
func HasQueues(f *ir.Func) bool {
	return slices.ContainsFunc(f.Nodes, func(n *ir.Node) bool {
		return n.Queue() != "" || n.Body != nil && HasQueues(n.Body)
	})
}

// HasEvents reports whether the target of a queue records events and waits for them.
func HasEvents(l *target.List, queue string) bool {
	d := l.Get(queue)
	if d == nil {
		d = l.Get(strings.TrimSuffix(queue, rewrite.InQueue))
	}
	return d != nil && d.Events
}
