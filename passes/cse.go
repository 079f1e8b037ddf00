package passes

import (
	"hash/maphash"
	"slices"
	"strconv"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// csePass merges nodes that compute the same.
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
var csePass = Pass{
	Name:   "cse",
	Doc:    "merge nodes that compute the same",
	Run:    mergeEqual,
	Looks:  true,
	Needs:  ir.PropShaped,
	Breaks: fromQueued,
	Rules:  []Rule{{"cse.equal", "another node computed the same before"}},
}

func mergeEqual(c *Context, m *ir.Module) error {
	merged := false
	for _, f := range m.AllFuncs() {
		list := newKnownNodes(f).equals(c)
		if len(list) == 0 {
			continue
		}
		if !merged {
			if err := c.Change(); err != nil {
				return err
			}
		}
		merged = true
		mergeAll(c, f, list)
	}
	if !merged {
		c.Unchanged()
	}
	return nil
}

// equalNodes are a node and one before it that computes the same.
type equalNodes struct{ node, first *ir.Node }

// mergeAll leaves out nodes of f, which stand in the list in order, for those that compute the same.
func mergeAll(c *Context, f *ir.Func, list []equalNodes) {
	e := newEdit(c, f)
	for _, n := range f.Nodes {
		e.update(n)
		if len(list) > 0 && list[0].node == n {
			merge(c, e, n, list[0].first)
			list = list[1:]
			continue
		}
		e.keep(n)
	}
	e.done()
}

// knownNodes finds the first of the nodes of a function that compute the same.
type knownNodes struct {
	f       *ir.Func
	like    []likeNode           // by loose key, which are not quite as many; a power of two
	first   map[nodeKey]*ir.Node // of loose keys that several nodes have
	instead []int32              // by value id: 1 + that of the one that is merged with; 0 for none
	written map[*ir.Value]bool   // what some node overwrites: it is not always what was computed
}

// likeNode is the only node so far with a loose key.
type likeNode struct {
	key  uint32 // as much of it as decides
	node int32  // 1 + its number in the order; 0 for none, several for more
}

// several stands for the number of nodes that are more than one.
const several = -1

func newKnownNodes(f *ir.Func) *knownNodes {
	size := 64
	for size < len(f.Nodes)*3/2 {
		size *= 2
	}
	return &knownNodes{f, make([]likeNode, size), make(map[nodeKey]*ir.Node), make([]int32, f.NumValues()), writtenIn(f)}
}

// writtenIn returns the values of f that some node overwrites, leaves aside: all that name a state name
// the same bytes anyway.
func writtenIn(f *ir.Func) map[*ir.Value]bool {
	written := make(map[*ir.Value]bool)
	for _, n := range f.Nodes {
		for _, a := range overwritten(n) {
			if v := behindViews(a); v.Def != nil && !v.Def.Is(ir.Leaf) {
				written[v] = true
			}
		}
	}
	return written
}

// equals returns the nodes that may be left out, in order. Operands count as what they will have been
// merged with.
func (k *knownNodes) equals(c *Context) (list []equalNodes) {
	for i, n := range k.f.Nodes {
		if !mergeable(n) || k.overwritten(n) {
			continue
		}
		if first := k.equal(c, n, i); first != nil {
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

// equal returns a node before n, which is number i, that computes the same, if n may be left out for it;
// nil for none.
func (k *knownNodes) equal(c *Context, n *ir.Node, i int) *ir.Node {
	at := k.likeOf(k.looseKey(n))
	switch {
	case at.node == 0:
		at.node = int32(i + 1)
		return nil
	case at.node != several:
		only := k.f.Nodes[at.node-1]
		k.first[k.keyOf(only)], at.node = only, several
	}
	key := k.keyOf(n)
	if other := k.first[key]; other != nil && c.Allow("cse.equal", n) {
		return other
	}
	k.first[key] = n
	return nil
}

// likeOf returns the place for a loose key. Two keys may have one: exact keys are made then.
func (k *knownNodes) likeOf(loose uint64) *likeNode {
	key, mask := uint32(loose>>32), uint64(len(k.like)-1)
	for i := loose; ; i++ {
		at := &k.like[i&mask]
		if at.node == 0 {
			at.key = key
		}
		if at.key == key {
			return at
		}
	}
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

var nameSeed = maphash.MakeSeed()

// looseKey returns a number that is the same for two nodes that compute the same, and seldom for
// others: of op and operands, and the names of weights and states. It is cheap to make.
func (k *knownNodes) looseKey(n *ir.Node) uint64 {
	a, b := k.id(n, 0), k.id(n, 1)
	if n.Is(ir.Commutative) {
		a, b = min(a, b), max(a, b)
	}
	key := mix(uint64(n.Op), uint64(a)<<32^uint64(b))
	switch attr := n.Attr.(type) {
	case *ir.WeightAttr:
		key ^= maphash.String(nameSeed, attr.Name)
	case *ir.StateAttr:
		key ^= maphash.String(nameSeed, attr.Name)
	}
	return key
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
