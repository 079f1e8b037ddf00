package roll

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
)

// sequence is a function's nodes without the leaves, with a number for each that is the
// same for nodes that can be in the same place of two groups, data flow apart. What is asked
// of operands again and again lies side by side, instead of in nodes and values all over memory.
type sequence struct {
	f     *ir.Func
	nodes []*ir.Node
	key   []int32

	operands []operand // of all nodes, in order
	first    []int32   // by position, and one behind: where its operands begin

	reads   []int32 // positions that read a value, in order, value by value; nil until somebody asks
	readers []int32 // by value id, and one behind: where its reads begin

	sites  []siteSource // of repetitions that were tried in vain
	ranges [][2]int     // that runs returned last

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
	s.nameLeaves()
	for _, r := range s.numberNodes() {
		l := s.leaf(r.state)
		s.states[l] = append(s.states[l], r.at)
	}
	return s
}

// nameLeaves finds the first leaf that names the same bytes as each.
func (s *sequence) nameLeaves() {
	s.leaves = make([]*ir.Value, s.f.NumValues())
	named := make(map[leafName][]*ir.Value) // first leaves, which differ in their types
	for _, n := range s.f.Nodes {
		if !n.Is(ir.Leaf) {
			continue
		}
		v, name := n.Result(), leafName{n.Op, leafText(n)}
		i := slices.IndexFunc(named[name], func(w *ir.Value) bool { return v.Type.Equal(w.Type) })
		if i < 0 {
			i = len(named[name])
			named[name] = append(named[name], v)
		}
		s.leaves[v.ID] = named[name][i]
	}
}

// leafName is what a leaf names.
type leafName struct {
	op   ir.Op
	text string // see leafText
}

// numberOf returns the number of a text, which is added to those that have one if it is new.
func numberOf(numbers map[string]int32, text []byte) int32 {
	number, known := numbers[string(text)]
	if !known {
		number = int32(len(numbers))
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
	nodes, operands := sizeWithoutLeaves(s.f)
	s.nodes = make([]*ir.Node, 0, nodes)
	s.key = make([]int32, 0, nodes)
	s.first = make([]int32, 1, nodes+1)
	s.operands = make([]operand, 0, operands)
	keys := make(map[string]int32)
	var key []byte
	var last *ir.Node // with work
	for _, n := range s.f.Nodes {
		if n.Is(ir.Leaf) {
			continue
		}
		key = groupKey(key[:0], n)
		if flow.DoesWork(n) {
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

// sizeWithoutLeaves counts the nodes of f that are no leaves, and their operands.
func sizeWithoutLeaves(f *ir.Func) (nodes, operands int) {
	for _, n := range f.Nodes {
		if !n.Is(ir.Leaf) {
			nodes++
			operands += len(n.Args)
		}
	}
	return nodes, operands
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
