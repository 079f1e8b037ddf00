package roll

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
)

// sequence is the nodes of a function without its leaves, at positions from 0 on.
//
// For example, this is the sequence of the first two groups of the example of Pass:
//
//	position  node                      kind  operands
//	0         %a0 = matmul %x, %w0      0     outside, leaf
//	1         %b0 = add %a0, %bias      1     0, outside
//	2         %a1 = matmul %b0, %w1     0     1, leaf
//	3         %b1 = add %a1, %bias      1     2, outside
type sequence struct {
	f        *ir.Func
	nodes    []*ir.Node
	kinds    []int32     // by position: a number, equal for nodes with the same nodeKey
	operands [][]operand // by position
	readers  [][]int32   // by value id: positions that read the value, in order; a node that reads it twice is there twice

	leaves []*ir.Value         // by value id: the first leaf that names the same bytes; nil for other values
	states map[*ir.Value][]int // by such a first leaf of a state: the positions that read it
}

// operand is where an operand of a node is made.
type operand struct {
	value  int32 // id of the value; -1 if the operand is absent
	maker  int32 // position of the node that makes it, or one of the constants below
	result int32 // which result of that node
}

// Makers of operands that no node of the sequence makes.
const (
	madeOutside int32 = -1 // a parameter of the function
	madeByLeaf  int32 = -2
)

func newSequence(f *ir.Func) *sequence {
	s := &sequence{
		f:       f,
		readers: make([][]int32, f.NumValues()),
		leaves:  make([]*ir.Value, f.NumValues()),
		states:  make(map[*ir.Value][]int),
	}
	s.findLeaves()
	s.addNodes()
	return s
}

// leafName is what a leaf names: a weight, a state, or a constant.
type leafName struct {
	op   ir.Op
	text string // see leafText
}

// findLeaves finds for each leaf the first leaf of the same type that names the same bytes.
func (s *sequence) findLeaves() {
	first := make(map[leafName][]*ir.Value) // first leaves with that name; their types differ
	for _, n := range s.f.Nodes {
		if !n.Is(ir.Leaf) {
			continue
		}
		v, name := n.Result(), leafName{n.Op, leafText(n)}
		i := slices.IndexFunc(first[name], func(w *ir.Value) bool { return v.Type.Equal(w.Type) })
		if i < 0 {
			i = len(first[name])
			first[name] = append(first[name], v)
		}
		s.leaves[v.ID] = first[name][i]
	}
}

// addNodes adds the nodes of the function that are not leaves.
func (s *sequence) addNodes() {
	positions := make([]int32, s.f.NumNodes()) // by id of the node
	numbers := make(map[string]int32)          // kinds, by key
	var lastWork *ir.Node
	for _, n := range s.f.Nodes {
		if n.Is(ir.Leaf) {
			continue
		}
		key := nodeKey(n)
		if flow.DoesWork(n) {
			if isCut(lastWork, n) {
				key = append(key, '!')
			}
			lastWork = n
		}
		kind, known := numbers[string(key)]
		if !known {
			kind = int32(len(numbers))
			numbers[string(key)] = kind
		}
		positions[n.ID] = int32(len(s.nodes))
		s.addOperands(n, positions)
		s.nodes, s.kinds = append(s.nodes, n), append(s.kinds, kind)
	}
}

// addOperands adds the operands of the next node, and the node to their readers.
func (s *sequence) addOperands(n *ir.Node, positions []int32) {
	at := len(s.nodes)
	operands := make([]operand, len(n.Args))
	for i, v := range n.Args {
		operands[i] = operandOf(v, positions)
		if v == nil {
			continue
		}
		s.readers[v.ID] = append(s.readers[v.ID], int32(at))
		if l := s.leaves[v.ID]; l != nil && l.Def.Op == ir.OpState {
			s.states[l] = append(s.states[l], at)
		}
	}
	s.operands = append(s.operands, operands)
}

// operandOf returns where v is made; v may be nil. positions has the nodes before the reader of v.
func operandOf(v *ir.Value, positions []int32) operand {
	switch {
	case v == nil:
		return operand{value: -1}
	case v.Def == nil:
		return operand{value: int32(v.ID), maker: madeOutside}
	case v.Def.Is(ir.Leaf):
		return operand{value: int32(v.ID), maker: madeByLeaf}
	}
	return operand{int32(v.ID), positions[v.Def.ID], int32(v.Index)}
}

// isCut reports whether a split begins at n although its backend is that of the node with work before it. Where the
// backend changes, the keys of the two nodes show it.
func isCut(before, n *ir.Node) bool {
	return before != nil && before.Backend == n.Backend && before.Split != n.Split
}

// leaf returns the first value that names the same weight, state or constant as v; nil if v is not a leaf.
func (s *sequence) leaf(v *ir.Value) *ir.Value {
	if v == nil {
		return nil
	}
	return s.leaves[v.ID]
}
