package rewrite

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
)

// This file keeps rewrites from moving a read of a state past a write. A value never changes, but
// its bytes do: a state_write makes the next version of a state in the bytes of the version before.

// passed notes that the walk is past n.
func (m *Match) passed(n *ir.Node) {
	if flow.MayOverwrite(n) {
		m.written = append(m.written, n)
	}
}

// current reports whether the root can read what the nodes read that it takes over: no node between
// them and the root overwrites it.
func (m *Match) current() bool {
	for _, n := range m.gone {
		for _, w := range slices.Backward(m.written) {
			if m.E.pos[w.ID] < m.E.pos[n.ID] {
				break
			}
			if overwritesOperand(w, n) {
				return false
			}
		}
	}
	return true
}

// overwritesOperand reports whether w overwrites what n reads.
func overwritesOperand(w, n *ir.Node) bool {
	keys := flow.Overwrites(w)
	return slices.ContainsFunc(n.Args, func(a *ir.Value) bool {
		return a != nil && slices.Contains(keys, flow.VersionKey(flow.ViewedValue(a)))
	})
}

// OverwrittenLater reports whether a node after the root overwrites the bytes of v. Such a value is not
// to stand for another one: that would be read after the write, or written where it must not be.
func (m *Match) OverwrittenLater(v *ir.Value) bool {
	if m.writers == nil {
		m.writers = slices.DeleteFunc(slices.Clone(m.E.F.Nodes), func(n *ir.Node) bool { return !flow.MayOverwrite(n) })
	}
	return m.E.Overwrites(m.writers[len(m.written):], v)
}

// Overwrites reports whether one of the nodes, which the walk has not come to, overwrites the bytes of v.
func (e *Edit) Overwrites(nodes []*ir.Node, v *ir.Value) bool {
	key := e.version(v)
	return slices.ContainsFunc(nodes, func(n *ir.Node) bool {
		return slices.ContainsFunc(flow.Overwritten(n), func(a *ir.Value) bool { return e.version(a) == key })
	})
}

// version returns what is the same for all values that name the version that v names, which may be an
// operand of a node that the walk has not come to.
func (e *Edit) version(v *ir.Value) any {
	v = e.Now(v)
	for v.Def != nil && v.Def.Is(ir.View) {
		v = e.Now(v.Def.Args[0])
	}
	return flow.VersionKey(v)
}
