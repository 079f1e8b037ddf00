package passes

import "github.com/ggmlc/ggmlc/ir"

// axisMemo knows the axes of nodes. What an op says of them follows from its attributes and from
// the types of operands and results, and in large graphs a node is mostly like the one before it
// with the same op.
type axisMemo struct {
	last [ir.NumOps]struct {
		node *ir.Node
		axes []ir.Axis
	}
}

// of returns what nodeAxes does. The list is shared and must not be changed.
func (m *axisMemo) of(n *ir.Node) []ir.Axis {
	k := &m.last[n.Op]
	if k.node == nil || !typedAlike(k.node, n) {
		k.node, k.axes = n, nodeAxes(n)
	}
	return k.axes
}

// typedAlike reports whether nodes of one op have the same attributes, none or one that both share, and
// operands and results of the same types.
func typedAlike(n, m *ir.Node) bool {
	if n.Attr != m.Attr || len(n.Args) != len(m.Args) || len(n.Results) != len(m.Results) {
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
	return true
}
