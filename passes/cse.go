package passes

import (
	"hash/maphash"
	"strconv"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
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
// Equal nodes are found by a key made of op, type, attributes and operand ids, as in value
// numbering; operands are merged before their readers because nodes stand in order. The
// first one stays. Most nodes differ from all others in op and operands already, so that no key
// is made of the rest.
var csePass = Pass{
	Name:   "cse",
	Doc:    "merge nodes that compute the same",
	Run:    mergeEqual,
	Needs:  ir.PropShaped,
	Breaks: fromQueued,
	Rules:  []Rule{{"cse.equal", "another node computed the same before"}},
}

func mergeEqual(c *Context, m *ir.Module) error {
	for _, f := range m.AllFuncs() {
		e := newEdit(c, f)
		known := knownNodes{like: make(map[uint64]*ir.Node, len(f.Nodes)), first: make(map[nodeKey]*ir.Node)}
		for _, n := range f.Nodes {
			e.update(n)
			if mergeable(n) {
				if other := known.equal(c, n); other != nil {
					merge(c, e, n, other)
					continue
				}
			}
			e.keep(n)
		}
		e.done()
	}
	return nil
}

// knownNodes finds the first of the nodes that compute the same.
type knownNodes struct {
	like  map[uint64]*ir.Node  // the only one so far of a loose key; nil where there are several
	first map[nodeKey]*ir.Node // of loose keys that several nodes have
}

// equal returns a node before n that computes the same, if n may be left out for it; nil for none.
func (k *knownNodes) equal(c *Context, n *ir.Node) *ir.Node {
	loose := looseKey(n)
	only, known := k.like[loose]
	if !known {
		k.like[loose] = n
		return nil
	}
	if only != nil {
		k.first[keyOf(only)], k.like[loose] = only, nil
	}
	key := keyOf(n)
	if other := k.first[key]; other != nil && c.Allow("cse.equal", n) {
		return other
	}
	k.first[key] = n
	return nil
}

var nameSeed = maphash.MakeSeed()

// looseKey returns a number that is the same for two nodes that compute the same, and seldom for
// others: of op and operands, and the names of weights and states. It is cheap to make.
func looseKey(n *ir.Node) uint64 {
	a, b := idOf(n.Arg(0)), idOf(n.Arg(1))
	if n.Is(ir.Commutative) {
		a, b = min(a, b), max(a, b)
	}
	k := mix(uint64(n.Op), uint64(a)<<32^uint64(b))
	switch attr := n.Attr.(type) {
	case *ir.WeightAttr:
		k ^= maphash.String(nameSeed, attr.Name)
	case *ir.StateAttr:
		k ^= maphash.String(nameSeed, attr.Name)
	}
	return k
}

// mergeable reports whether n may be left out where an equal node stands before it. Of a foreign
// node nobody knows what it computes, and the caller writes each leaf of its kind.
func mergeable(n *ir.Node) bool {
	return n.Op != ir.OpForeign && n.Body == nil && len(n.Results) > 0 && (n.Is(ir.Pure) || n.Is(ir.Leaf)) && !n.Is(ir.WritesState)
}

func merge(c *Context, e *edit, n, into *ir.Node) {
	for i, r := range n.Results {
		e.replace(r, into.Results[i])
	}
	c.Cause(into, "cse.equal", n.String())
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

func keyOf(n *ir.Node) nodeKey {
	t := &n.Result().Type
	k := nodeKey{op: n.Op, dtype: t.DType, layout: t.Layout, backend: n.Backend, space: t.Space}
	k.args = [2]int{idOf(n.Arg(0)), idOf(n.Arg(1))}
	if n.Is(ir.Commutative) && k.args[0] > k.args[1] && ir.EqualDims(n.Args[0].Type.Shape, n.Args[1].Type.Shape) {
		k.args[0], k.args[1] = k.args[1], k.args[0]
	}
	for i := 2; i < len(n.Args); i++ {
		k.more += " " + strconv.Itoa(idOf(n.Args[i]))
	}
	if n.Op == ir.OpConstant { // the shape of all else follows from operands and attributes
		for _, d := range t.Shape {
			k.more += " " + d.String()
		}
	}
	k.attr[0], k.attr[1] = ir.AttrText(n)
	return k
}

// idOf returns the id of a value; -1 for none.
func idOf(v *ir.Value) int {
	if v == nil {
		return -1
	}
	return v.ID
}
