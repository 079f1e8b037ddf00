package simplify

import (
	"slices"
	"strconv"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/rewrite"
)

// CSE (common subexpression elimination) merges nodes that compute the same.
//
// Before: types are known. After: no two pure nodes of a function have the same op, attributes and operands, except
// those with results that a later node overwrites.
//
// Not earlier: folding makes constants, some of which are equal. Not later: fuse joins a node with its only reader, and
// two equal readers look like two.
//
// Cost: one walk with a table lookup for each node, O(nodes + operands).
//
// Nodes are numbered as in value numbering: a key is made of op, type, attributes and operand ids, and the first node
// with a key stays. Operands come before their readers, so they are merged already when the key of a reader is made:
//
//	%a = exp %x       kept
//	%b = exp %x       the key of %a: merged, %b becomes %a
//	%c = neg %a       kept
//	%d = neg %b       now neg %a, the key of %c: merged
var CSE = pass.Pass{
	Name:   "cse",
	Doc:    "merge nodes that compute the same",
	Run:    mergeEqual,
	Needs:  ir.PropShaped,
	Breaks: pass.FromQueued,
	Rules:  []pass.Rule{{Name: pass.RuleCSEEqual, Doc: "an earlier node computes the same"}},
}

func mergeEqual(c *pass.Context, m *ir.Module) error {
	for _, f := range m.AllFuncs() {
		mergeIn(c, f)
	}
	return nil
}

func mergeIn(c *pass.Context, f *ir.Func) {
	first := make(map[nodeKey]*ir.Node, len(f.Nodes))
	written := overwrittenValues(f)
	e := rewrite.NewEdit(c, f)
	for _, n := range f.Nodes {
		e.Update(n)
		if !mergeable(n) || slices.ContainsFunc(n.Results, func(r *ir.Value) bool { return written[r] }) {
			e.Keep(n)
			continue
		}
		key := keyOf(n)
		if equal := first[key]; equal != nil && c.Allow(pass.RuleCSEEqual, n) {
			merge(c, e, n, equal)
			continue
		}
		first[key] = n
		e.Keep(n)
	}
	e.Done()
}

// overwrittenValues returns the values of f that some node overwrites. What such a value holds depends on when it is
// read, so it is not merged. States are left out: all nodes of one state name the same bytes anyway.
func overwrittenValues(f *ir.Func) map[*ir.Value]bool {
	written := make(map[*ir.Value]bool)
	for _, n := range f.Nodes {
		for _, a := range flow.Overwritten(n) {
			if v := flow.ViewedValue(a); v.Def != nil && !v.Def.Is(ir.Leaf) {
				written[v] = true
			}
		}
	}
	return written
}

// mergeable reports whether n may be removed if an equal node comes before it. What a foreign node computes is not
// known, and the caller provides the bytes of each foreign leaf.
func mergeable(n *ir.Node) bool {
	return n.Op != ir.OpForeign && n.Body == nil && len(n.Results) > 0 && (n.Is(ir.Pure) || n.Is(ir.Leaf)) && !n.Is(ir.WritesState)
}

// merge replaces the results of n by those of equal, an earlier node.
func merge(c *pass.Context, e *rewrite.Edit, n, equal *ir.Node) {
	for i, r := range n.Results {
		e.Replace(r, equal.Results[i])
	}
	c.Cause(equal, pass.RuleCSEEqual, n.String())
	c.Count("merged", 1)
}

// nodeKey is equal for nodes that compute the same.
type nodeKey struct {
	op      ir.Op
	dtype   dtype.DType
	layout  dtype.Layout
	backend string
	space   string
	args    [2]int // ids of the first operands; -1 for an absent one
	more    string // ids of the other operands; of a constant, which has none, its extents
	attr    [2]string
}

func keyOf(n *ir.Node) nodeKey {
	t := &n.Result().Type
	key := nodeKey{op: n.Op, dtype: t.DType, layout: t.Layout, backend: n.Backend, space: t.Space}
	key.args = [2]int{operandID(n, 0), operandID(n, 1)}
	if n.Is(ir.Commutative) && key.args[0] > key.args[1] && ir.EqualDims(n.Args[0].Type.Shape, n.Args[1].Type.Shape) {
		key.args[0], key.args[1] = key.args[1], key.args[0]
	}
	for i := 2; i < len(n.Args); i++ {
		key.more += " " + strconv.Itoa(operandID(n, i))
	}
	if n.Op == ir.OpConstant { // the shape of other nodes follows from operands and attributes
		for _, d := range t.Shape {
			key.more += " " + d.String()
		}
	}
	key.attr[0], key.attr[1] = ir.AttrText(n)
	return key
}

// operandID returns the id of operand i; -1 if it is absent.
func operandID(n *ir.Node, i int) int {
	v := n.Arg(i)
	if v == nil {
		return -1
	}
	return v.ID
}
