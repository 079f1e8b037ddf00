package passes

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// csePass merges nodes that compute the same.
//
// Before: types are known. After: no two pure nodes of a function have the same op,
// attributes and operands.
//
// Not earlier: folding makes constants that turn out equal. Not later: fuse joins a node
// with its only reader, and two equal readers look like two.
//
// Cost: one walk, a table lookup for each node: O(nodes + operands).
//
// Equal nodes are found by a key made of op, attributes and operand ids, as in value
// numbering; operands are merged before their readers because nodes stand in order. The
// first one stays.
var csePass = Pass{
	Name:  "cse",
	Doc:   "merge nodes that compute the same",
	Run:   mergeEqual,
	Needs: ir.PropShaped,
	Rules: []Rule{{"cse.equal", "another node computed the same before"}},
}

func mergeEqual(c *Context, m *ir.Module) error {
	for _, f := range m.AllFuncs() {
		e := newEdit(c, f)
		first := make(map[string]*ir.Node, len(f.Nodes))
		for _, n := range f.Nodes {
			e.update(n)
			if !mergeable(n) {
				e.keep(n)
				continue
			}
			key := nodeKey(n)
			other := first[key]
			if other == nil || !c.Allow("cse.equal", n) {
				first[key] = n
				e.keep(n)
				continue
			}
			merge(c, e, n, other)
		}
		e.done()
	}
	return nil
}

// mergeable reports whether n may be left out where an equal node stands before it.
func mergeable(n *ir.Node) bool {
	return n.Body == nil && len(n.Results) > 0 && (n.Is(ir.Pure) || n.Is(ir.Leaf)) && !n.Is(ir.WritesState)
}

func merge(c *Context, e *edit, n, into *ir.Node) {
	for i, r := range n.Results {
		e.replace(r, into.Results[i])
	}
	c.Cause(into, "cse.equal", n.String())
	c.Count("merged", 1)
}

// nodeKey returns a text that is the same for two nodes that compute the same.
func nodeKey(n *ir.Node) string {
	ids := make([]int, len(n.Args))
	for i, a := range n.Args {
		ids[i] = -1
		if a != nil {
			ids[i] = a.ID
		}
	}
	if n.Is(ir.Commutative) && ir.EqualDims(n.Args[0].Type.Shape, n.Args[1].Type.Shape) {
		slices.Sort(ids[:2])
	}
	t := n.Result().Type
	positional, braces := ir.AttrText(n)
	return fmt.Sprintf("%d %s %v %v %v %s %s %s", n.Op, n.Backend, ids, t.DType, t.Layout, t.Space, positional, braces)
}
