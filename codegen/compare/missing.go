package compare

import (
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
)

// whyMissing returns why a compiled function has no array for the value of n, which is a node as it was imported.
func whyMissing(f *ir.Func, n *ir.Node) string {
	if why := whyGone(f, n.Result().Name()); why != "" {
		return why
	}
	if n.Is(ir.View) {
		return fmt.Sprintf("a view of %v", n.Result().Root())
	}
	return "fused with other nodes, or equal to one"
}

// whyGone returns why a compiled function has no array for the value of that name; empty if the reason is unknown.
func whyGone(f *ir.Func, name string) string {
	if c := find(f.Nodes, name); c != nil {
		if why := flow.Unobservable(c); why != "" {
			return why
		}
		return "not observed"
	}
	if into := fusedInto(f, name); into != nil {
		return fmt.Sprintf("part of %v = %v", into, into.Op)
	}
	return ""
}

func find(nodes []*ir.Node, name string) *ir.Node {
	for _, n := range nodes {
		if r := n.Result(); r != nil && r.Name() == name {
			return n
		}
	}
	return nil
}

// fusedInto returns the node whose causes name a value that it replaces; nil if there is none.
func fusedInto(f *ir.Func, name string) *ir.Node {
	for _, n := range f.Nodes {
		for _, c := range n.Causes() {
			for _, operand := range c.Operands {
				if operand == "%"+ir.QuoteName(name) && (c.Pass == "fuse" || c.Pass == "fuse-late") {
					return n
				}
			}
		}
	}
	return nil
}
