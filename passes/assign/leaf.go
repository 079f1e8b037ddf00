package assign

import (
	"cmp"
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
)

// namedLeaf is a weight, state or constant.
type namedLeaf struct {
	key      memberKey
	declared *ir.Type   // of the module's declaration; nil for a constant
	nodes    []*ir.Node // that name it
}

// leafTable numbers the leaves of a module: weights and states as it declares them, then the
// rest in the order of their nodes. Passes ask for the leaf of a node very often: names are
// looked up once.
type leafTable struct {
	list    []namedLeaf
	funcs   []*ir.Func
	ids     map[*ir.Func][]int32 // by id of the node; -1 is no leaf
	readers [][]*ir.Node         // by leaf; see readersOf

	last   *ir.Func // whose node was asked for last, as functions are walked one by one
	inLast []int32
}

func leavesOf(m *ir.Module) *leafTable {
	t := &leafTable{funcs: m.AllFuncs(), ids: make(map[*ir.Func][]int32)}
	t.list = make([]namedLeaf, 0, len(m.Weights)+len(m.States))
	for _, w := range m.Weights {
		t.add(namedLeaf{key: memberKey{ir.OpWeight, w.Name}, declared: &w.Type})
	}
	for _, s := range m.States {
		t.add(namedLeaf{key: memberKey{ir.OpState, s.Name}, declared: &s.Type})
	}
	weights, states := t.declared(0, len(m.Weights)), t.declared(len(m.Weights), len(t.list))
	number := func(n *ir.Node) int32 {
		switch attr := n.Attr.(type) {
		case *ir.WeightAttr:
			return weights.number(n.Op, attr.Name)
		case *ir.StateAttr:
			return states.number(n.Op, attr.Name)
		}
		return t.add(namedLeaf{key: memberKey{n.Op, "@" + n.Func.Name + " " + n.Result().Name}})
	}
	count := 0
	for _, f := range t.funcs {
		ids := flow.NoneOf(f.NumNodes())
		for _, n := range f.Nodes {
			if flow.IsLeafNode(n) {
				ids[n.ID] = number(n)
				count++
			}
		}
		t.ids[f] = ids
	}
	t.gather(count)
	return t
}

// add adds a leaf and returns its number.
func (t *leafTable) add(l namedLeaf) int32 {
	t.list = append(t.list, l)
	return int32(len(t.list)) - 1
}

// leafNames finds leaves of one op by their names. Most nodes name the leaf that is declared behind that
// of the node before: that is looked at first, and the names that are known are put into a table only
// when it is another one.
type leafNames struct {
	t           *leafTable
	first, next int32
	end         int32            // of what is declared, from first on
	known       map[string]int32 // nil until somebody asks
}

// declared returns the names of the leaves in a range, which the module declares.
func (t *leafTable) declared(first, end int) *leafNames {
	return &leafNames{t: t, first: int32(first), next: int32(first), end: int32(end)}
}

// number returns the number of the leaf of that name, which is added if the module does not
// declare it.
func (l *leafNames) number(op ir.Op, name string) int32 {
	if i := l.next; i < l.end && l.t.list[i].key.name == name {
		l.next++
		return i
	}
	if l.known == nil {
		l.known = make(map[string]int32, l.end-l.first)
		for i := l.first; i < l.end; i++ {
			l.known[l.t.list[i].key.name] = i
		}
	}
	i, ok := l.known[name]
	if !ok {
		i = l.t.add(namedLeaf{key: memberKey{op, name}})
		l.known[name] = i
	}
	l.next = i + 1
	return i
}

// gather lists the count nodes that name leaves with the leaf that each names.
func (t *leafTable) gather(count int) {
	sizes := make([]int32, len(t.list))
	for _, ids := range t.ids {
		for _, i := range ids {
			if i >= 0 {
				sizes[i]++
			}
		}
	}
	room := make([]*ir.Node, count)
	for i, n := range sizes {
		t.list[i].nodes, room = room[:0:n], room[n:]
	}
	for _, f := range t.funcs {
		for _, n := range f.Nodes {
			if i := t.number(n); i >= 0 {
				t.list[i].nodes = append(t.list[i].nodes, n)
			}
		}
	}
}

// number returns the number of the leaf that a node names; -1 for a node that names none.
func (t *leafTable) number(n *ir.Node) int32 {
	if n.Func != t.last {
		t.last, t.inLast = n.Func, t.ids[n.Func]
	}
	return t.inLast[n.ID]
}

// readersOf returns the working nodes that read a weight or state, or a view or version of it.
func (t *leafTable) readersOf(n *ir.Node) []*ir.Node {
	if t.readers == nil {
		t.readers = make([][]*ir.Node, len(t.list))
		for _, f := range t.funcs {
			t.addReaders(f)
		}
	}
	return t.readers[t.number(n)]
}

func (t *leafTable) addReaders(f *ir.Func) {
	for _, n := range f.Nodes {
		if !flow.DoesWork(n) || flow.RunsFunction(n) {
			continue
		}
		for _, v := range n.Sources() {
			if v == nil || v.Root().Def == nil {
				continue
			}
			if i := t.number(v.Root().Def); i >= 0 {
				t.readers[i] = append(t.readers[i], n)
			}
		}
	}
}

// types calls yield for the types in which the space of a leaf is written.
func (l *namedLeaf) types(yield func(*ir.Type) bool) {
	if l.declared != nil && !yield(l.declared) {
		return
	}
	for _, n := range l.nodes {
		if !yield(&n.Result().Type) {
			return
		}
	}
}

// typ returns the type of a leaf.
func (l *namedLeaf) typ() *ir.Type {
	if l.declared != nil {
		return l.declared
	}
	return &l.nodes[0].Result().Type
}

// space returns where a leaf lies as far as the module says; empty where that is open.
func (l *namedLeaf) space() string {
	for t := range l.types {
		if t.Space != "" {
			return t.Space
		}
	}
	return ""
}

// put writes where a leaf lies, where that is open.
func (l *namedLeaf) put(space string) {
	for t := range l.types {
		t.Space = cmp.Or(t.Space, space)
	}
}

// settle makes what the module says of a leaf's space, at its declaration or at one of its
// nodes, hold for all of them; space is where it lies if nothing is said.
func (l *namedLeaf) settle(space string) {
	l.put(space)
	if l.declared == nil {
		return
	}
	for _, n := range l.nodes {
		n.Result().Type.Space = l.declared.Space
	}
}

// memberKey names a leaf of a module.
type memberKey struct {
	op   ir.Op
	name string
}

// String returns the key for messages.
func (k memberKey) String() string { return fmt.Sprintf("%v %q", k.op, k.name) }
