package check

import "github.com/ggmlc/ggmlc/ir"

// Claim: every event of an entry point is recorded by one node, and every wait names an event that is recorded. (That
// the waits are the right ones is the claim of race.go.)
//
// In
//
//	%up = copy %a  queue=gpu.in event=1
//	%c  = silu %up queue=gpu    wait=[2]
//
// nothing records event 2. If %c recorded event 1 as well, a wait for it would be ambiguous.

// events checks the claim above for an entry point and its bodies.
func (c *checker) events(f *ir.Func) {
	by := make(map[int]*ir.Node)
	eachSubmitted(f, func(n *ir.Node) {
		e := n.Submit.Event
		switch {
		case e == 0:
		case e < 0:
			c.fail(RuleQueue, n, "records event %d", e)
		case by[e] != nil:
			c.fail(RuleQueue, n, "records event %d, as %v does", e, by[e])
		default:
			by[e] = n
		}
	})
	eachSubmitted(f, func(n *ir.Node) {
		for _, w := range n.Submit.Waits {
			if by[w.Event] == nil {
				c.fail(RuleQueue, n, "waits for event %d, which nothing records", w.Event)
			}
		}
	})
}

// eachSubmitted calls do for the nodes of f and its bodies that record how they are submitted.
func eachSubmitted(f *ir.Func, do func(n *ir.Node)) {
	for _, n := range f.Nodes {
		if n.Submit != nil {
			do(n)
		}
		if n.Body != nil {
			eachSubmitted(n.Body, do)
		}
	}
}
