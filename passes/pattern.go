package passes

import "github.com/ggmlc/ggmlc/ir"

// Pattern describes a value by the node that defines it.
type Pattern struct {
	Op   ir.Op     // of the node; OpInvalid for any value
	Args []Pattern // of its first operands; further ones may be anything
	Len  int       // number of operands that are present; 0 is any
	Bind string    // name under which Where and Build find the value
	Once bool      // the value has one reader and is no result of the function
}

// any returns the pattern of any value, bound to name.
func anyValue(name string) Pattern { return Pattern{Bind: name} }

// Match is a place where a pattern was found.
type Match struct {
	Root   *ir.Node
	Values map[string]*ir.Value

	e    *edit
	uses *useCounts
	gone []*ir.Node // nodes that the root takes over

	replaced bool
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
		m.Values[p.Bind] = v
	}
	return true
}

func (m *Match) findArgs(p *Pattern, n *ir.Node) bool {
	if p.Len != 0 && present(n) != p.Len {
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

// present counts the operands that are there.
func present(n *ir.Node) int {
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
	m.uses.drop(m.Root)
	m.Root.Op, m.Root.Attr, m.Root.Args = op, attr, args
	m.uses.add(m.Root)
}

// Replace makes every reader of the root's result read v, which has the same type; the
// root goes away.
func (m *Match) Replace(v *ir.Value) {
	m.uses.drop(m.Root)
	m.uses.change(v, m.uses.of(m.Root.Result()))
	m.e.replace(m.Root.Result(), v)
	m.replaced = true
}

// Emit puts a new node before the root and returns its result.
func (m *Match) Emit(op ir.Op, attr any, name string, args ...*ir.Value) *ir.Value {
	n := m.e.add(m.Root, op, attr, name, args...)
	m.uses.add(n)
	return n.Result()
}

// useCounts holds how often each value of a function is read, its results included.
type useCounts struct{ n []int }

func countUses(f *ir.Func) *useCounts {
	u := &useCounts{n: make([]int, f.NumValues())}
	for _, n := range f.Nodes {
		u.add(n)
	}
	for _, r := range f.Results {
		u.change(r, 1)
	}
	return u
}

func (u *useCounts) of(v *ir.Value) int {
	if v.ID >= len(u.n) {
		return 0
	}
	return u.n[v.ID]
}

func (u *useCounts) add(n *ir.Node)  { u.args(n, 1) }
func (u *useCounts) drop(n *ir.Node) { u.args(n, -1) }

func (u *useCounts) args(n *ir.Node, by int) {
	for _, a := range n.Args {
		if a != nil {
			u.change(a, by)
		}
	}
}

func (u *useCounts) change(v *ir.Value, by int) {
	if v.ID >= len(u.n) {
		u.n = append(u.n, make([]int, v.ID+1-len(u.n))...)
	}
	u.n[v.ID] += by
}
