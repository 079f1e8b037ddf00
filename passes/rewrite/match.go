package rewrite

import "github.com/ggmlc/ggmlc/ir"

// Match is a place where a pattern was found: the root, the nodes below it that the pattern names, and the values bound
// to names. One Match serves a whole walk over a function: reset makes it ready for the next root.
type Match struct {
	Root *ir.Node
	E    *Edit // of the walk

	bound    []binding
	gone     []*ir.Node // nodes of the pattern below the root, which the root takes over
	replaced bool       // by Replace: the root goes away

	uses    *useCounts
	written []*ir.Node // nodes before the root that may overwrite bytes, in order
	writers []*ir.Node // those of the whole function; nil until OverwrittenLater needs them
}

// reset removes what m has found, and makes n its root.
func (m *Match) reset(n *ir.Node) {
	m.Root, m.bound, m.gone, m.replaced = n, m.bound[:0], m.gone[:0], false
}

// binding is a value with the name that a pattern gives it. Patterns bind few, so a list is searched.
type binding struct {
	name  string
	value *ir.Value
}

// Value returns the value that the pattern bound to a name.
func (m *Match) Value(name string) *ir.Value {
	for i := len(m.bound) - 1; i >= 0; i-- {
		if m.bound[i].name == name {
			return m.bound[i].value
		}
	}
	return nil
}

// find matches p and the patterns of its operands with v.
func (m *Match) find(p *Pattern, v *ir.Value) bool {
	if v == nil || p.Once && m.uses.of(v) != 1 {
		return false
	}
	if p.Op != ir.OpInvalid {
		if v.Def == nil || v.Def.Op != p.Op || !m.findArgs(p, v.Def) {
			return false
		}
	}
	if p.Bind != "" {
		m.bound = append(m.bound, binding{p.Bind, v})
	}
	return true
}

// findArgs matches the operands of p with those of n.
func (m *Match) findArgs(p *Pattern, n *ir.Node) bool {
	if p.Len != 0 && Present(n) != p.Len {
		return false
	}
	for i := range p.Args {
		if !m.find(&p.Args[i], n.Arg(i)) {
			return false
		}
	}
	if n != m.Root {
		m.gone = append(m.gone, n)
	}
	return true
}

// Present returns the number of operands of n that are present.
func Present(n *ir.Node) int {
	k := 0
	for _, a := range n.Args {
		if a != nil {
			k++
		}
	}
	return k
}

// Become turns the root into another op on other operands. Its result keeps name and type.
func (m *Match) Become(op ir.Op, attr any, args ...*ir.Value) {
	m.uses.reads(args, 1)
	m.uses.reads(m.Root.Args, -1)
	m.Root.Op, m.Root.Attr, m.Root.Args = op, attr, args
}

// Replace makes every reader of the root's result read v, which has the same type. The root goes away.
func (m *Match) Replace(v *ir.Value) {
	reads := m.uses.of(m.Root.Result())
	m.uses.change(v, reads)
	m.uses.change(m.Root.Result(), -reads)
	m.E.Replace(m.Root.Result(), v)
	m.replaced = true
}
