package rewrite

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
)

// A value never changes, but its bytes may be overwritten: a state_write makes the next version of a state in the bytes
// of the version before. So a rewrite must not move a read past a write:
//
//	%r = reshape %s            reads the version %s of a state
//	%t = state_write %s, %x    overwrites it
//	%q = permute %r            must not become a permute of %s: the node would read %x
//
// current refuses such matches, OverwrittenLater such replacements.

// passed records that the walk has passed n.
func (m *Match) passed(n *ir.Node) {
	if flow.MayOverwrite(n) {
		m.written = append(m.written, n)
	}
}

// current reports whether the root can read the operands of the nodes that it takes over: no node between such a node
// and the root overwrites one.
func (m *Match) current() bool {
	for _, n := range m.gone {
		for _, w := range slices.Backward(m.written) {
			if m.E.pos[w.ID] < m.E.pos[n.ID] {
				break
			}
			if OverwritesOperand(w, n) {
				return false
			}
		}
	}
	return true
}

// OverwritesOperand reports whether w overwrites an operand of n.
func OverwritesOperand(w, n *ir.Node) bool {
	keys := flow.Overwrites(w)
	return slices.ContainsFunc(n.Args, func(a *ir.Value) bool {
		return a != nil && slices.Contains(keys, flow.VersionKey(flow.ViewedValue(a)))
	})
}

// OverwrittenLater reports whether a node after the root overwrites the bytes of v. Such a value must not replace
// another one: it would be read after the write, or the write would change a value that has to stay.
func (m *Match) OverwrittenLater(v *ir.Value) bool {
	if m.writers == nil {
		m.writers = slices.DeleteFunc(slices.Clone(m.E.F.Nodes), func(n *ir.Node) bool { return !flow.MayOverwrite(n) })
	}
	return m.E.Overwrites(m.writers[len(m.written):], v)
}

// Overwrites reports whether one of the nodes, which the walk has not reached, overwrites the bytes of v.
func (e *Edit) Overwrites(nodes []*ir.Node, v *ir.Value) bool {
	key := e.version(v)
	return slices.ContainsFunc(nodes, func(n *ir.Node) bool {
		return slices.ContainsFunc(flow.Overwritten(n), func(a *ir.Value) bool { return e.version(a) == key })
	})
}

// version returns the flow.VersionKey of the version that v names. Unlike flow.ViewedValue it applies the replacements
// on the way, as the operands of nodes that the walk has not reached are not updated.
func (e *Edit) version(v *ir.Value) any {
	v = e.Now(v)
	for v.Def != nil && v.Def.Is(ir.View) {
		v = e.Now(v.Def.Args[0])
	}
	return flow.VersionKey(v)
}
