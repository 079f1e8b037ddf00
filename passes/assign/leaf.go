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

// memberKey names a leaf of a module.
type memberKey struct {
	op   ir.Op
	name string
}

// String returns the key for messages.
func (k memberKey) String() string { return fmt.Sprintf("%v %q", k.op, k.name) }

// leafTable numbers the leaves of a module: first the weights and states that it declares, then the other leaves in
// the order of their nodes.
//
//	weight "w" : f32[8,8]    leaf 0
//	%a = weight "w"          leaf 0
//	%c = constant 1          leaf 1
//	%b = weight "w"          leaf 0
type leafTable struct {
	list    []namedLeaf
	funcs   []*ir.Func
	numbers ir.NodeTable[int] // of the leaf that a node names, counted from 1; 0 for other nodes
	readers [][]*ir.Node      // by leaf; see readersOf
}

func leavesOf(m *ir.Module, funcs []*ir.Func) *leafTable {
	t := &leafTable{funcs: funcs}
	byKey := make(map[memberKey]int, len(m.Weights)+len(m.States))
	for _, w := range m.Weights {
		key := memberKey{ir.OpWeight, w.Name}
		byKey[key] = t.add(namedLeaf{key: key, declared: &w.Type})
	}
	for _, s := range m.States {
		key := memberKey{ir.OpState, s.Name}
		byKey[key] = t.add(namedLeaf{key: key, declared: &s.Type})
	}
	for _, f := range funcs {
		for _, n := range f.Nodes {
			if flow.IsLeafNode(n) {
				t.addNode(n, byKey)
			}
		}
	}
	return t
}

// add adds a leaf and returns its number.
func (t *leafTable) add(l namedLeaf) int {
	t.list = append(t.list, l)
	return len(t.list) - 1
}

// addNode adds a node to the leaf that it names. byKey has the numbers of weights and states. Every other node is a
// leaf of its own.
func (t *leafTable) addNode(n *ir.Node, byKey map[memberKey]int) {
	var number int
	if key, ok := memberOf(n); ok {
		known := false
		if number, known = byKey[key]; !known {
			number = t.add(namedLeaf{key: key})
			byKey[key] = number
		}
	} else {
		number = t.add(namedLeaf{key: memberKey{n.Op, "@" + n.Func.Name + " " + n.Result().Name()}})
	}
	*t.numbers.At(n) = number + 1
	t.list[number].nodes = append(t.list[number].nodes, n)
}

// memberOf returns the key of the weight or state that n names; ok is false for any other node.
func memberOf(n *ir.Node) (key memberKey, ok bool) {
	switch attr := n.Attr.(type) {
	case *ir.WeightAttr:
		return memberKey{n.Op, attr.Name}, true
	case *ir.StateAttr:
		return memberKey{n.Op, attr.Name}, true
	}
	return memberKey{}, false
}

// leafOf returns the number of the leaf that v is; ok is false if v is no leaf.
func (t *leafTable) leafOf(v *ir.Value) (number int, ok bool) {
	if v.Def == nil {
		return 0, false
	}
	number = *t.numbers.At(v.Def) - 1
	return number, number >= 0
}

// named returns the leaf that n, a weight, state or constant, names.
func (t *leafTable) named(n *ir.Node) *namedLeaf { return &t.list[*t.numbers.At(n)-1] }

// readersOf returns the working nodes that read a weight or state, or a view or version of it.
func (t *leafTable) readersOf(n *ir.Node) []*ir.Node {
	if t.readers == nil {
		t.readers = make([][]*ir.Node, len(t.list))
		for _, f := range t.funcs {
			t.addReaders(f)
		}
	}
	return t.readers[*t.numbers.At(n)-1]
}

func (t *leafTable) addReaders(f *ir.Func) {
	for _, n := range f.Nodes {
		if !flow.DoesWork(n) || flow.RunsFunction(n) {
			continue
		}
		for _, v := range n.Sources() {
			if v == nil {
				continue
			}
			if i, ok := t.leafOf(v.Root()); ok {
				t.readers[i] = append(t.readers[i], n)
			}
		}
	}
}

// types calls yield for each type that has the space of the leaf: that of its declaration and of its nodes.
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

// space returns the space that the module states for a leaf; empty if it states none.
func (l *namedLeaf) space() string {
	for t := range l.types {
		if t.Space != "" {
			return t.Space
		}
	}
	return ""
}

// put sets the space of a leaf where the module states none.
func (l *namedLeaf) put(space string) {
	for t := range l.types {
		t.Space = cmp.Or(t.Space, space)
	}
}

// settle sets the space of a leaf and makes all of its nodes agree with its declaration.
func (l *namedLeaf) settle(space string) {
	l.put(space)
	if l.declared == nil {
		return
	}
	for _, n := range l.nodes {
		n.Result().Type.Space = l.declared.Space
	}
}
