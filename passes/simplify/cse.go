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

// CSE merges nodes that compute the same.
//
// Before: types are known. After: no two pure nodes of a function have the same op,
// attributes and operands, but for those whose results are overwritten.
//
// Not earlier: folding makes constants that turn out equal. Not later: fuse joins a node
// with its only reader, and two equal readers look like two.
//
// Cost: one walk, a table lookup for each node: O(nodes + operands).
//
// Equal nodes are found by a key made of op, type, attributes and operand ids, as in value
// numbering; operands are merged before their readers because nodes stand in order. The
// first one stays. Most nodes differ from all others in op and operands already, so that no key
// is made of the rest.
var CSE = pass.Pass{
	Name:   "cse",
	Doc:    "merge nodes that compute the same",
	Run:    mergeEqual,
	Needs:  ir.PropShaped,
	Breaks: pass.FromQueued,
	Rules:  []pass.Rule{{Name: pass.RuleCSEEqual, Doc: "another node computed the same before"}},
}

func mergeEqual(c *pass.Context, m *ir.Module) error {
	for _, f := range m.AllFuncs() {
		if list := newKnownNodes(f).equals(c); len(list) > 0 {
			mergeAll(c, f, list)
		}
	}
	return nil
}

// equalNodes are a node and one before it that computes the same.
type equalNodes struct{ node, first *ir.Node }

// mergeAll leaves out nodes of f, which stand in the list in order, for those that compute the same.
func mergeAll(c *pass.Context, f *ir.Func, list []equalNodes) {
	e := rewrite.NewEdit(c, f)
	for _, n := range f.Nodes {
		e.Update(n)
		if len(list) > 0 && list[0].node == n {
			merge(c, e, n, list[0].first)
			list = list[1:]
			continue
		}
		e.Keep(n)
	}
	e.Done()
}

// knownNodes finds the first of the nodes of a function that compute the same.
type knownNodes struct {
	f       *ir.Func
	first   map[nodeKey]*ir.Node
	instead []int32            // by value id: 1 + that of the one that is merged with; 0 for none
	written map[*ir.Value]bool // what some node overwrites: it is not always what was computed
}

func newKnownNodes(f *ir.Func) *knownNodes {
	return &knownNodes{f, make(map[nodeKey]*ir.Node), make([]int32, f.NumValues()), writtenIn(f)}
}

// writtenIn returns the values of f that some node overwrites, leaves aside: all that name a state name
// the same bytes anyway.
func writtenIn(f *ir.Func) map[*ir.Value]bool {
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

// equals returns the nodes that may be left out, in order. Operands count as what they will have been
// merged with.
func (k *knownNodes) equals(c *pass.Context) (list []equalNodes) {
	for _, n := range k.f.Nodes {
		if !mergeable(n) || k.overwritten(n) {
			continue
		}
		if first := k.equal(c, n); first != nil {
			list = append(list, equalNodes{n, first})
			for j, r := range n.Results {
				k.instead[r.ID] = int32(first.Results[j].ID + 1)
			}
		}
	}
	return list
}

// overwritten reports whether some node overwrites a result of n.
func (k *knownNodes) overwritten(n *ir.Node) bool {
	return len(k.written) != 0 && slices.ContainsFunc(n.Results, func(r *ir.Value) bool { return k.written[r] })
}

// equal returns a node before n that computes the same, if n may be left out for it; nil for none.
func (k *knownNodes) equal(c *pass.Context, n *ir.Node) *ir.Node {
	key := k.keyOf(n)
	if other := k.first[key]; other != nil && c.Allow(pass.RuleCSEEqual, n) {
		return other
	}
	k.first[key] = n
	return nil
}

// id returns the id of operand i as it will be; -1 where there is none.
func (k *knownNodes) id(n *ir.Node, i int) int {
	v := n.Arg(i)
	if v == nil {
		return -1
	}
	if other := k.instead[v.ID]; other != 0 {
		return int(other - 1)
	}
	return v.ID
}

// mergeable reports whether n may be left out where an equal node stands before it. Of a foreign
// node nobody knows what it computes, and the caller writes each leaf of its kind.
func mergeable(n *ir.Node) bool {
	return n.Op != ir.OpForeign && n.Body == nil && len(n.Results) > 0 && (n.Is(ir.Pure) || n.Is(ir.Leaf)) && !n.Is(ir.WritesState)
}

func merge(c *pass.Context, e *rewrite.Edit, n, into *ir.Node) {
	for i, r := range n.Results {
		e.Replace(r, into.Results[i])
	}
	c.Cause(into, pass.RuleCSEEqual, n.String())
	c.Count("merged", 1)
}

// nodeKey is the same for two nodes that compute the same.
type nodeKey struct {
	op      ir.Op
	dtype   dtype.DType
	layout  dtype.Layout
	backend string
	space   string
	args    [2]int // ids of the first operands; -1 where there is none
	more    string // those of the others; of a constant, which has none, its extents
	attr    [2]string
}

func (k *knownNodes) keyOf(n *ir.Node) nodeKey {
	t := &n.Result().Type
	key := nodeKey{op: n.Op, dtype: t.DType, layout: t.Layout, backend: n.Backend, space: t.Space}
	key.args = [2]int{k.id(n, 0), k.id(n, 1)}
	if n.Is(ir.Commutative) && key.args[0] > key.args[1] && ir.EqualDims(n.Args[0].Type.Shape, n.Args[1].Type.Shape) {
		key.args[0], key.args[1] = key.args[1], key.args[0]
	}
	for i := 2; i < len(n.Args); i++ {
		key.more += " " + strconv.Itoa(k.id(n, i))
	}
	if n.Op == ir.OpConstant { // the shape of all else follows from operands and attributes
		for _, d := range t.Shape {
			key.more += " " + d.String()
		}
	}
	key.attr[0], key.attr[1] = ir.AttrText(n)
	return key
}
