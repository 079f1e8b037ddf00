package passes

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// dcePass removes what no result and no state needs.
//
// Before: well-formed SSA. After: every node leads to a result of its function or writes a
// state, or is of an op that is not known to be without effect; every weight is used.
//
// Not earlier: cse leaves the nodes that it merged. Not later: a dead reader keeps fuse
// from joining what it reads, and pulls operands to its backend. It runs again after each
// pass that leaves pieces behind.
//
// Cost: one walk backwards, O(nodes + operands).
var dcePass = Pass{
	Name:  "dce",
	Doc:   "remove nodes and weights that nothing needs",
	Run:   removeDead,
	Needs: ir.PropShaped,
}

func removeDead(c *Context, m *ir.Module) error {
	used := make(map[string]bool, len(m.Weights))
	removed := 0
	for _, f := range m.AllFuncs() {
		removed += removeDeadNodes(c, f)
		for _, n := range f.Nodes {
			if n.Op == ir.OpWeight {
				used[n.Attr.(*ir.WeightAttr).Name] = true
			}
		}
	}
	keep := m.Weights[:0:0]
	for _, w := range m.Weights {
		if used[w.Name] {
			keep = append(keep, w)
		}
	}
	weights := len(m.Weights) - len(keep)
	c.Count("weights", int64(weights))
	m.Weights = keep
	if removed+weights == 0 {
		c.Unchanged()
	}
	return nil
}

// removeDeadNodes returns how many nodes of f it has removed.
func removeDeadNodes(c *Context, f *ir.Func) int {
	live := make([]bool, f.NumValues())
	for _, r := range f.Results {
		live[r.ID] = true
	}
	keep := make([]bool, f.NumNodes())
	for i := len(f.Nodes) - 1; i >= 0; i-- {
		n := f.Nodes[i]
		if !hasEffect(n) && !anyLive(n, live) {
			continue
		}
		keep[n.ID] = true
		for _, a := range n.Args {
			if a != nil {
				live[a.ID] = true
			}
		}
	}
	before := len(f.Nodes)
	f.Nodes = slices.DeleteFunc(f.Nodes, func(n *ir.Node) bool { return !keep[n.ID] })
	removed := before - len(f.Nodes)
	c.Count("nodes", int64(removed))
	return removed
}

func anyLive(n *ir.Node, live []bool) bool {
	for _, r := range n.Results {
		if live[r.ID] {
			return true
		}
	}
	return false
}

// hasEffect reports whether n does something besides defining its results: it writes a
// state, holds a function that does, or is not known.
func hasEffect(n *ir.Node) bool {
	if n.Body != nil {
		for _, inner := range n.Body.Nodes {
			if hasEffect(inner) {
				return true
			}
		}
		return false
	}
	return n.Is(ir.WritesState) || !n.Is(ir.Pure) && !n.Is(ir.Leaf)
}
