package passes

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/abreast"
)

// sequence is a function's nodes without the leaves, with a number for each that is the
// same for nodes that can be in the same place of two groups, data flow apart. What is asked
// of operands again and again lies side by side, instead of in nodes and values all over memory.
type sequence struct {
	f     *ir.Func
	nodes []*ir.Node
	key   []int

	operands []operand // of all nodes, in order
	first    []int32   // by position, and one behind: where its operands begin

	reads   []int32 // positions that read a value, in order, value by value; nil until somebody asks
	readers []int32 // by value id, and one behind: where its reads begin

	leaves []*ir.Value         // by value id: the first leaf that names the same bytes
	states map[*ir.Value][]int // by such a first leaf of a state: which nodes read it
}

// operand is what a node reads.
type operand struct {
	value  int32 // its id; -1 is none
	at     int32 // where it is made, or one of the following
	result int32 // of the node there
}

// Where operands are made that no node of the sequence makes.
const (
	madeOutside int32 = -1
	isLeafValue int32 = -2
)

func newSequence(f *ir.Func) *sequence {
	s := &sequence{f: f, states: make(map[*ir.Value][]int)}
	var ofStates []stateRead
	abreast.Do(s.nameLeaves, func() { ofStates = s.numberNodes() })
	for _, r := range ofStates {
		l := s.leaf(r.state)
		s.states[l] = append(s.states[l], r.at)
	}
	return s
}

// leafName is the same for leaf nodes that name the same bytes.
type leafName struct {
	op     ir.Op
	name   string
	placed int // number of a type in a space
}

// nameLeaves finds the first leaf that names the same bytes as each.
func (s *sequence) nameLeaves() {
	s.leaves = make([]*ir.Value, s.f.NumValues())
	first := make(map[leafName]*ir.Value)
	numbers := make(map[string]int)
	var key []byte
	for _, n := range s.f.Nodes {
		if !n.Is(ir.Leaf) {
			continue
		}
		v := n.Result()
		key = appendPlaced(key[:0], v.Type)
		name := leafName{n.Op, leafText(n), numberOf(numbers, key)}
		named := first[name]
		if named == nil {
			named = v
			first[name] = v
		}
		s.leaves[v.ID] = named
	}
}

// numberOf returns the number of a text, which is added to those that have one if it is new.
func numberOf(numbers map[string]int, text []byte) int {
	number, known := numbers[string(text)]
	if !known {
		number = len(numbers)
		numbers[string(text)] = number
	}
	return number
}

// stateRead says that a node reads a version of a state that a leaf names.
type stateRead struct {
	at    int
	state *ir.Value
}

// numberNodes lists the nodes that are no leaves with what they read, and returns which of them
// read states.
func (s *sequence) numberNodes() (ofStates []stateRead) {
	index := make([]int32, s.f.NumNodes()) // in nodes, by node id
	s.nodes = make([]*ir.Node, 0, len(s.f.Nodes))
	s.key = make([]int, 0, len(s.f.Nodes))
	s.first = make([]int32, 1, len(s.f.Nodes)+1)
	s.operands = make([]operand, 0, 2*len(s.f.Nodes))
	keys := make(map[string]int)
	var key []byte
	var last *ir.Node // with work
	for _, n := range s.f.Nodes {
		if n.Is(ir.Leaf) {
			continue
		}
		key = groupKey(key[:0], n)
		if works(n) {
			if isCut(last, n) {
				key = append(key, '!')
			}
			last = n
		}
		at := len(s.nodes)
		index[n.ID] = int32(at)
		s.nodes = append(s.nodes, n)
		s.key = append(s.key, numberOf(keys, key))
		for _, v := range n.Args {
			o := operandOf(v, index)
			if s.operands = append(s.operands, o); o.at == isLeafValue && v.Def.Op == ir.OpState {
				ofStates = append(ofStates, stateRead{at, v})
			}
		}
		s.first = append(s.first, int32(len(s.operands)))
	}
	return ofStates
}

// operandOf describes v, which is absent or made before; index has the positions of nodes, by id.
func operandOf(v *ir.Value, index []int32) operand {
	switch {
	case v == nil:
		return operand{value: -1}
	case v.Def == nil:
		return operand{value: int32(v.ID), at: madeOutside}
	case v.Def.Is(ir.Leaf):
		return operand{value: int32(v.ID), at: isLeafValue}
	}
	return operand{int32(v.ID), index[v.Def.ID], int32(v.Index)}
}

// readersOf returns where v is read.
func (s *sequence) readersOf(v *ir.Value) []int32 {
	if s.reads == nil {
		s.findReaders()
	}
	return s.reads[s.readers[v.ID]:s.readers[v.ID+1]]
}

func (s *sequence) findReaders() {
	s.readers = make([]int32, s.f.NumValues()+1)
	for i := range s.operands {
		if v := s.operands[i].value; v >= 0 {
			s.readers[v]++
		}
	}
	sum := int32(0) // where each list ends: it is filled from behind
	for v, n := range s.readers {
		sum += n
		s.readers[v] = sum
	}
	s.reads = make([]int32, sum)
	for at := len(s.nodes) - 1; at >= 0; at-- {
		for _, o := range s.operands[s.first[at]:s.first[at+1]] {
			if o.value >= 0 {
				s.readers[o.value]--
				s.reads[s.readers[o.value]] = int32(at)
			}
		}
	}
}

// isCut reports whether a split begins at n, after the node with work before it, although the backend
// stays: where it changes, that it does is known from the nodes.
func isCut(before, n *ir.Node) bool {
	return before != nil && before.Backend == n.Backend && before.Split != n.Split
}

// leaf returns the first value that names the same weight, state or constant as v; nil
// where v is no leaf.
func (s *sequence) leaf(v *ir.Value) *ir.Value {
	if v == nil {
		return nil
	}
	return s.leaves[v.ID]
}
