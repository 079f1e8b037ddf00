package placement

import (
	"slices"
	"testing"
)

// TestExcessComesFirst compares solutions, states and results of which some are a byte over their limits.
func TestExcessComesFirst(t *testing.T) {
	over, fits := solution{labels: []int32{1}, over: 1, time: 1}, solution{labels: []int32{0}, time: 2}
	if better(over, fits).over != 0 || better(fits, over).over != 0 || over.fits() || !fits.fits() {
		t.Error("a fast solution that does not fit is better than a slow one that does")
	}
	if over.isOptimal(1) || !fits.isOptimal(2) || fits.isOptimal(1) {
		t.Error("a bound proves that a solution is optimal that does not fit, or that takes longer")
	}
	again := solution{labels: []int32{7}, time: fits.time}
	if better(fits, again).labels[0] != 0 {
		t.Error("of two equally good solutions the second one is taken")
	}
	if (&Result{Seconds: 1, Over: []int64{0, 1}}).Fits() || !(&Result{Seconds: 1, Over: []int64{0, 0}}).Fits() || (&Result{Seconds: Never}).Fits() {
		t.Error("Fits does not report whether all limits are kept")
	}

	p := machine(0, 100)
	p.addNode(1, 8)
	p.addLeaf(80, 0)
	p.Limits[1] = 79
	g := newGraph(p)
	s := newState(g, []int32{0, 1}) // on the GPU, one byte over
	if !s.try(func() { s.moveNodes(1, 0); s.set(1, 0) }) || s.over != 0 || s.cost != 8 {
		t.Errorf("a move to where all fits is undone: cost %v, over %d", s.cost, s.over)
	}
	if s.try(func() { s.set(0, 0); s.set(1, 1) }) || s.over != 0 {
		t.Error("a faster assignment that does not fit is kept")
	}
}

// TestCopiesLeaveASpaceByItsFirstQueue lists who makes copies out of each space: the first target with a queue that has
// it as its home, unless the host addresses it.
func TestCopiesLeaveASpaceByItsFirstQueue(t *testing.T) {
	only := func(spaces ...int) []bool {
		a := make([]bool, 5)
		for _, s := range spaces {
			a[s] = true
		}
		return a
	}
	p := &Problem{
		Limits: make([]int64, 5),
		Targets: []Target{
			{Home: 1, Addresses: only(1, 3)},            // runs while the host waits
			{Home: 2, Addresses: only(2), Queues: 1},    // the first with a queue
			{Home: 2, Addresses: only(2), Queues: 2},    //
			{Home: 3, Addresses: only(3), Queues: 1},    // of memory that the host addresses
			{Home: 0, Addresses: only(0)},               // the host
			{Home: 4, Addresses: only(4, 2), Queues: 2}, // with a queue for copies
		},
	}
	if got, want := newGraph(p).copier, []int32{-1, -1, 1, -1, 5}; !slices.Equal(got, want) {
		t.Errorf("copies are made by %v, want %v", got, want)
	}
}

// TestRepairReplacesAllWrongLabels starts from labels that no variable may have.
func TestRepairReplacesAllWrongLabels(t *testing.T) {
	p := machine(0, 1)
	p.addNode(2, 1)
	p.addNode(Never, 1)
	p.addNode(1, Never)
	p.addLeaf(8, 0)
	p.Leaves[0].Spaces[0] = false
	g := newGraph(p)
	if got, changed := g.repair([]int32{0, 0, 1, 0}); !changed || !slices.Equal(got, []int32{0, 1, 0, 1}) {
		t.Errorf("repaired to %v (changed %v), want [0 1 0 1]", got, changed)
	}
	if got, changed := g.repair([]int32{1, 1, 0, 1}); changed || !slices.Equal(got, []int32{1, 1, 0, 1}) {
		t.Errorf("%v was changed (%v), and all labels are allowed", got, changed)
	}
}

// TestMovesCountOneStepOfANode moves a node, and a leaf with its readers, in a step that counts three times: the effect
// on a single node is that on one step.
func TestMovesCountOneStepOfANode(t *testing.T) {
	for _, weight := range []float64{3, 1, 0} {
		p := machine(0, 0)
		p.Steps[0].Weight = weight
		p.addNode(1, 5)
		p.addNode(1, 5)
		p.addNode(1, 5)
		p.addLeaf(8, 1, 2)
		p.Nodes[1].Writes = 3 // the value of the leaf
		m := NewMover(p, []int32{0, 0, 0, 1})
		for _, tt := range []struct {
			what  string
			moves []Move
			nodes int
			want  float64
		}{
			{"a node", m.Moves(0), 1, 4 * min(weight, 1)},
			{"a node that changes a leaf, with the other reader", m.Moves(1), 2, 8 * weight},
			{"a leaf with its readers", m.LeafMoves(0), 2, 8 * weight},
		} {
			if len(tt.moves) != 1 || tt.moves[0].Nodes != tt.nodes || tt.moves[0].Seconds != tt.want || tt.moves[0].Target != 1 {
				t.Errorf("weight %v, %s: %+v, want %v s for %d nodes", weight, tt.what, tt.moves, tt.want, tt.nodes)
			}
		}
	}
}

// TestNodeThatWritesTheFirstValueTakesAllReadersAlong writes value 0 in place.
func TestNodeThatWritesTheFirstValueTakesAllReadersAlong(t *testing.T) {
	p := machine(0, 0)
	p.Values = []Value{{Owner: 2, Maker: -1, Bytes: 8}}
	p.Leaves = []Leaf{{Bytes: 8, Spaces: []bool{true, true}}}
	p.Nodes = []Node{
		{Seconds: []float64{1, 5}, Reads: []int32{0}, Writes: 0},
		{Seconds: []float64{1, 5}, Reads: []int32{0}, Writes: -1},
	}
	p.Steps[0].End = 2
	if moves := NewMover(p, []int32{0, 0, 1}).Moves(0); len(moves) != 1 || moves[0].Nodes != 2 || moves[0].Seconds != 8 {
		t.Errorf("%+v, want one move of both nodes, which takes 8 s more", moves)
	}
}

// TestCopiesThatAreNotAllowedAreBroken makes copies of a leaf and of a result into a space with a limit.
func TestCopiesThatAreNotAllowedAreBroken(t *testing.T) {
	p := machine(0, 2)
	p.addNode(1, 1)
	p.Values[0].Bytes = 40
	p.addLeaf(40, 0)
	p.Limits[1] = 100
	for _, tt := range []struct {
		stay         bool
		room         int64 // for copies in space 1
		result, leaf float64
	}{{false, -1, 2, 2}, {true, -1, 2, 2 + broken}, {false, 39, 2 + broken, 2 + broken}, {false, 40, 2, 2}, {true, 39, 2 + broken, 2 + 2*broken}} {
		p.Stay, p.CopyRoom[1] = tt.stay, tt.room
		g := newGraph(p)
		if result, leaf := g.copySeconds(0, 0, 1), g.copySeconds(1, 0, 1); result != tt.result || leaf != tt.leaf {
			t.Errorf("stay %v, room for %d bytes: the copies take %v and %v s, want %v and %v", tt.stay, tt.room, result, leaf, tt.result, tt.leaf)
		}
		if back := g.copySeconds(1, 1, 0); back != 2 {
			t.Errorf("a copy into a space without a limit takes %v s, want 2", back)
		}
	}
}

// TestLeavesAreAllowedWhereTheyFit has leaves of several sizes, and a limit.
func TestLeavesAreAllowedWhereTheyFit(t *testing.T) {
	for bytes, want := range map[int64][]int32{50: {0, 1}, 51: {0}, 90: {0}, 91: {0, 1}} { // 91 bytes fit nowhere
		p := machine(0, 1)
		p.addNode(1, 1)
		p.addLeaf(bytes, 0)
		p.Limits = []int64{90, 50}
		if got := newGraph(p).allowed[1]; !slices.Equal(got, want) {
			t.Errorf("a leaf of %d bytes may be in %v, want %v", bytes, got, want)
		}
	}
}
