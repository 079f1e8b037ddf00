package rewrite

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
)

// Pattern describes a value by the node that defines it.
type Pattern struct {
	Op   ir.Op     // of the node; OpInvalid for any value
	Args []Pattern // of its first operands; further ones may be anything
	Len  int       // number of operands that are present; 0 is any
	Bind string    // name under which Where and Build find the value
	Once bool      // the value has one reader and is no result of the function
}

// any returns the pattern of any value, bound to name.
func AnyValue(name string) Pattern { return Pattern{Bind: name} }

// Match is a place where a pattern was found.
type Match struct {
	Root *ir.Node

	bound []binding
	E     *Edit
	uses  *useCounts
	gone  []*ir.Node // nodes that the root takes over

	written []*ir.Node // nodes before the root that overwrite bytes, in order
	writers []*ir.Node // those of the whole function; see overwrittenLater

	replaced bool
}

// reset has m stand for no match at n yet.
func (m *Match) reset(n *ir.Node) {
	m.Root, m.bound, m.gone, m.replaced = n, m.bound[:0], m.gone[:0], false
}

// binding is a value that a pattern has a name for. Patterns bind few.
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

// find matches p with v and all below.
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

// Present counts the operands that are there.
func Present(n *ir.Node) int {
	k := 0
	for _, a := range n.Args {
		if a != nil {
			k++
		}
	}
	return k
}

// Become turns the root into another op on other operands; its result, with name and type,
// stays.
func (m *Match) Become(op ir.Op, attr any, args ...*ir.Value) {
	m.uses.reads(args, 1)
	m.uses.reads(m.Root.Args, -1)
	m.Root.Op, m.Root.Attr, m.Root.Args = op, attr, args
}

// Replace makes every reader of the root's result read v, which has the same type; the
// root goes away.
func (m *Match) Replace(v *ir.Value) {
	reads := m.uses.of(m.Root.Result())
	m.uses.change(v, reads)
	m.uses.change(m.Root.Result(), -reads)
	m.E.Replace(m.Root.Result(), v)
	m.replaced = true
}

// Emit puts a new node before the root and returns its result.
func (m *Match) Emit(op ir.Op, attr any, name string, args ...*ir.Value) *ir.Value {
	return m.E.Add(m.Root, op, attr, name, args...).Result()
}

// useCounts holds how often each value of a function is read by nodes that are needed for
// a result or an effect. What a rewrite leaves without readers no longer counts as a
// reader itself.
type useCounts struct {
	values []int32 // reads of the value, by id
	nodes  []int32 // reads of any result of the node, by id; an effect counts as one
}

// countUses walks backwards: who reads a value stands behind it.
func countUses(f *ir.Func) *useCounts {
	u := &useCounts{values: make([]int32, f.NumValues()), nodes: make([]int32, f.NumNodes())}
	for _, r := range f.Results {
		u.note(r)
	}
	for _, n := range slices.Backward(f.Nodes) {
		if flow.HasEffect(n) {
			u.nodes[n.ID]++
		}
		if u.nodes[n.ID] == 0 {
			continue
		}
		for _, a := range n.Args {
			if a != nil {
				u.note(a)
			}
		}
	}
	return u
}

// note counts a read of v alone.
func (u *useCounts) note(v *ir.Value) {
	u.values[v.ID]++
	if v.Def != nil {
		u.nodes[v.Def.ID]++
	}
}

// of returns how often v is read.
func (u *useCounts) of(v *ir.Value) int32 { return *at(&u.values, v.ID) }

// live reports whether n is needed.
func (u *useCounts) live(n *ir.Node) bool { return *at(&u.nodes, n.ID) > 0 }

func (u *useCounts) change(v *ir.Value, by int32) {
	*at(&u.values, v.ID) += by
	if v.Def != nil {
		u.changeNode(v.Def, by)
	}
}

func (u *useCounts) changeNode(n *ir.Node, by int32) {
	count := at(&u.nodes, n.ID)
	before := *count
	*count += by
	switch {
	case before == 0 && *count != 0:
		u.reads(n.Args, 1)
	case before != 0 && *count == 0:
		u.reads(n.Args, -1)
	}
}

func (u *useCounts) reads(args []*ir.Value, by int32) {
	for _, a := range args {
		if a != nil {
			u.change(a, by)
		}
	}
}

// at returns the element of a table that grows with the ids.
func at(table *[]int32, id int) *int32 {
	if id >= len(*table) {
		*table = WithIDs(*table, id+1)
	}
	return &(*table)[id]
}
