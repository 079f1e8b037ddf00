package check

import (
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
)

// Claim: nodes of a queue that may run at the same time touch no common bytes, one of them writing. A node with
// concurrent=true may run at the same time as those before it on its queue, back to the last one without it:
//
//	%q = matmul %n, %wq   at 0x000+256
//	%k = matmul %n, %wk   at 0x100+128  concurrent=true   right: both read %n, and write other bytes
//	%r = rope %q, %t      at 0x000+256  concurrent=true   wrong: %q may not be there yet
//
// Such a node follows the one before it in the program's order as well, in the same iteration and split, and nothing is
// waited for or recorded between them. So to all other queues, and to the host, a queue still works in order: an event
// is recorded when all before it have ended.

// group is the nodes that may run at the same time as the last step.
type group struct {
	c     *checker
	steps []*step
}

// begin begins a call, for which the nodes of the call before it are over or ordered by their queue.
func (g *group) begin() { g.steps = g.steps[:0] }

// step adds a step.
func (g *group) step(st *step) {
	n := st.node
	if n.Submit == nil || !n.Submit.Concurrent {
		g.steps = append(g.steps[:0], st)
		return
	}
	g.mayJoin(st)
	for _, before := range g.steps {
		g.compare(before, st)
	}
	g.steps = append(g.steps, st)
}

// mayJoin claims that a step may run at the same time as the one before it.
func (g *group) mayJoin(st *step) {
	n, wrong := st.node, ""
	var last *step
	if len(g.steps) > 0 {
		last = g.steps[len(g.steps)-1]
	}
	switch {
	case g.c.backend(n) == nil || !g.c.backend(n).Concurrent:
		wrong = "the target runs nodes one after the other"
	case last == nil || last.index != st.index-1 || last.frame != st.frame || last.node.Queue() != n.Queue() || last.node.Split != n.Split:
		wrong = "the node before it is not of the same queue, split and iteration"
	case moves(n) || moves(last.node):
		wrong = "copies are in order"
	case len(n.Submit.Waits) > 0 || last.node.Submit.Event != 0:
		wrong = "there is an event between it and the node before it"
	}
	if wrong != "" {
		g.c.report(fmt.Sprintf("concurrent %p", n), &Violation{
			Rule: RuleConcurrent, Func: st.frame.String(), Nodes: []string{st.describe()},
			What: "it is concurrent, and " + wrong,
		})
	}
}

// moves reports whether a node is a copy, or one of which nothing is known.
func moves(n *ir.Node) bool {
	return n.Op == ir.OpCopy || n.Op == ir.OpCopyExperts || n.Op == ir.OpForeign
}

// compare claims that two steps do not conflict.
func (g *group) compare(a, b *step) {
	for _, x := range b.results {
		g.separate(a, b, x, a.args, reading, writing)
		g.separate(a, b, x, a.results, writing, writing)
	}
	for _, x := range a.results {
		g.separate(a, b, x, b.args, writing, reading)
	}
}

// separate claims that x has no bytes in common with the objects of a list.
func (g *group) separate(a, b *step, x *object, list []*object, first, second accessKind) {
	for _, y := range list {
		if x == nil || y == nil || !x.cells.meets(y.cells) {
			continue
		}
		g.c.report(fmt.Sprintf("concurrent %p %p %v %v", a.node, b.node, first, second), &Violation{
			Rule: RuleConcurrent, Func: b.frame.String(), Nodes: []string{a.describe(), b.describe()}, Range: g.c.inRange(x.place),
			What: fmt.Sprintf("%s what the node before it %s, which may run at the same time", second, first),
		})
	}
}
