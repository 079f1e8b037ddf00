package passes

import "github.com/ggmlc/ggmlc/ir"

// kindMemo keeps what follows of nodes from their op, their attributes and the types of their
// operands and results. In large graphs nearly all nodes are of a few kinds: of each op the last
// ones are known.
type kindMemo[T any] struct {
	last [ir.NumOps]struct {
		kinds [kindsKept]knownKind[T]
		next  uint8 // the one that makes room
	}
}

// kindsKept is how many kinds of an op are known: products with and without a residual, of two
// formats of weights.
const kindsKept = 4

// knownKind is a node and what is kept of those like it.
type knownKind[T any] struct {
	node *ir.Node
	what T
}

// find returns where what is known of nodes like n is kept, until it is called with another kind.
// Where nothing is known yet, it is what was known of another kind, or zero.
func (m *kindMemo[T]) find(n *ir.Node) (what *T, known bool) {
	op := &m.last[n.Op]
	for i := range op.kinds {
		if k := &op.kinds[i]; k.node != nil && typedAlike(k.node, n) {
			return &k.what, true
		}
	}
	k := &op.kinds[op.next]
	op.next = (op.next + 1) % kindsKept
	k.node = n
	return &k.what, false
}

// typedAlike reports whether nodes of one op have equal attributes, and operands and results of the
// same types.
func typedAlike(n, m *ir.Node) bool {
	if len(n.Args) != len(m.Args) || len(n.Results) != len(m.Results) {
		return false
	}
	for i, a := range n.Args {
		b := m.Args[i]
		if (a == nil) != (b == nil) || a != nil && !a.Type.SameData(b.Type) {
			return false
		}
	}
	for i, r := range n.Results {
		if !r.Type.SameData(m.Results[i].Type) {
			return false
		}
	}
	return n.Attr == m.Attr || ir.EqualAttr(n.Op, n.Attr, m.Attr)
}

// axisMemo knows the axes of nodes.
type axisMemo struct{ kinds kindMemo[[]ir.Axis] }

// of returns what nodeAxes does. The list is shared and must not be changed.
func (m *axisMemo) of(n *ir.Node) []ir.Axis {
	axes, known := m.kinds.find(n)
	if !known {
		*axes = nodeAxes(n)
	}
	return *axes
}
