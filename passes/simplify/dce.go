package simplify

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/rewrite"
)

// DCE removes what no result and no state needs.
//
// Before: well-formed SSA. After: every node leads to a result of its function or writes a
// state, or is of an op that is not known to be without effect; every weight is used.
//
// Not earlier: cse leaves the nodes that it merged. Not later: a dead reader keeps fuse
// from joining what it reads, and pulls operands to its backend. It runs again after each
// pass that leaves pieces behind.
//
// Cost: one walk backwards, O(nodes + operands).
var DCE = pass.Pass{
	Name:   "dce",
	Doc:    "remove nodes and weights that nothing needs",
	Run:    removeDead,
	Needs:  ir.PropShaped,
	Breaks: pass.FromPartitioned,
}

func removeDead(c *pass.Context, m *ir.Module) error {
	used, at := make([]bool, len(m.Weights)), -1
	funcs := m.AllFuncs()
	live := make([][]bool, len(funcs)) // by node id
	removed := 0
	var values []bool // by id; of one function after the other
	for i, f := range funcs {
		values = rewrite.WithIDs(values[:0], f.NumValues())
		live[i] = liveNodes(f, values)
		for _, n := range f.Nodes {
			switch {
			case !live[i][n.ID]:
				removed++
			case n.Op == ir.OpWeight:
				if at = m.WeightIndex(n.Attr.(*ir.WeightAttr).Name, at+1); at >= 0 {
					used[at] = true
				}
			}
		}
	}
	weights := 0
	for _, is := range used {
		if !is {
			weights++
		}
	}
	c.Count("nodes", int64(removed))
	c.Count("weights", int64(weights))
	if removed+weights == 0 {
		return nil
	}
	gaps := false
	for i, f := range funcs {
		f.Nodes = slices.DeleteFunc(f.Nodes, func(n *ir.Node) bool { return !live[i][n.ID] })
		gaps = m.Props&ir.PropSplit != 0 && flow.CloseGaps(f) || gaps // who edits a dump may leave a whole split dead
	}
	if gaps {
		flow.NumberBodies(m)
	}
	keep := m.Weights[:0:0]
	for i, w := range m.Weights {
		if used[i] {
			keep = append(keep, w)
		}
	}
	m.Weights = keep
	return nil
}

// liveNodes returns which nodes of f, by id, something needs. Live is false for all values, and
// true for those needed afterwards.
func liveNodes(f *ir.Func, live []bool) []bool {
	for _, r := range f.Results {
		live[r.ID] = true
	}
	keep := make([]bool, f.NumNodes())
	for i := len(f.Nodes) - 1; i >= 0; i-- {
		n := f.Nodes[i]
		if !flow.HasEffect(n) && !anyLive(n, live) {
			continue
		}
		keep[n.ID] = true
		for _, a := range n.Args {
			if a != nil {
				live[a.ID] = true
			}
		}
	}
	return keep
}

func anyLive(n *ir.Node, live []bool) bool {
	for _, r := range n.Results {
		if live[r.ID] {
			return true
		}
	}
	return false
}
