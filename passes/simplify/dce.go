package simplify

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// DCE (dead code elimination) removes the nodes that no result and no state needs.
//
// Before: well-formed SSA. After: every node leads to a result of its function, writes a state, or has an op whose
// effects are not known; every weight is used.
//
// Not earlier: cse leaves the operands of the nodes that it merged. Not later: a dead reader keeps fuse from joining
// what it reads, and pulls operands to its backend. It runs again after each pass that leaves dead nodes.
//
// Cost: one walk backwards, O(nodes + operands). At a node all readers of its results have been visited:
//
//	%a = neg %x             needed by %b
//	%b = exp %a             needed as a result
//	%c = mul %a, %a         needed by no node
//	%s = state_write "k"    has an effect
//	return %b
var DCE = pass.Pass{
	Name:   "dce",
	Doc:    "remove nodes and weights that nothing needs",
	Run:    removeDead,
	Needs:  ir.PropShaped,
	Breaks: pass.FromPartitioned,
}

func removeDead(c *pass.Context, m *ir.Module) error {
	nodes, funcs := 0, m.AllFuncs()
	for _, f := range funcs {
		nodes += removeDeadNodes(f)
	}
	funcs = m.AllFuncs() // without the bodies of removed nodes
	weights := removeUnusedWeights(m, funcs)
	if nodes+weights > 0 && m.Props&ir.PropSplit != 0 {
		closeSplits(m, funcs)
	}
	c.Count("nodes", int64(nodes))
	c.Count("weights", int64(weights))
	c.Unchanged = c.NoneCounted()
	return nil
}

// removeDeadNodes removes the dead nodes of f, and returns how many there were.
func removeDeadNodes(f *ir.Func) int {
	live, before := liveNodes(f), len(f.Nodes)
	f.Nodes = slices.DeleteFunc(f.Nodes, func(n *ir.Node) bool { return !live[n.ID] })
	return before - len(f.Nodes)
}

// liveNodes returns which nodes of f are needed, by id.
func liveNodes(f *ir.Func) []bool {
	needed := make([]bool, f.NumValues()) // by id
	for _, r := range f.Results {
		needed[r.ID] = true
	}
	live := make([]bool, f.NumNodes())
	for _, n := range slices.Backward(f.Nodes) {
		if !flow.HasEffect(n) && !slices.ContainsFunc(n.Results, func(r *ir.Value) bool { return needed[r.ID] }) {
			continue
		}
		live[n.ID] = true
		for _, a := range n.Args {
			if a != nil {
				needed[a.ID] = true
			}
		}
	}
	return live
}

// closeSplits numbers the splits again if one has lost all its nodes, as in a dump that was edited.
func closeSplits(m *ir.Module, funcs []*ir.Func) {
	gaps := false
	for _, f := range funcs {
		gaps = flow.CloseGaps(f) || gaps
	}
	if gaps {
		flow.NumberBodies(m)
	}
}

// removeUnusedWeights removes the weights that no node of the functions names, and returns how many there were.
func removeUnusedWeights(m *ir.Module, funcs []*ir.Func) int {
	used := make(map[string]bool, len(m.Weights))
	for _, f := range funcs {
		for _, n := range f.Nodes {
			if n.Op == ir.OpWeight {
				used[n.Attr.(*ir.WeightAttr).Name] = true
			}
		}
	}
	kept := slices.DeleteFunc(slices.Clone(m.Weights), func(w *ir.Weight) bool { return !used[w.Name] })
	removed := len(m.Weights) - len(kept)
	if removed > 0 {
		m.Weights = kept
	}
	return removed
}
