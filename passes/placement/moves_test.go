package placement

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
)

// bytesMachine returns a machine without queues on which a copy takes a second for each byte.
func bytesMachine() *Problem {
	p := machine(0, 0)
	for from := range p.Links {
		p.Links[from] = []Link{{PerByte: 1}, {PerByte: 1}}
	}
	return p
}

// addMakers adds nodes of which each reads the result of the one before. The GPU takes 1 s for each, the CPU cpu s.
// Their results have a number of bytes.
func (p *Problem) addMakers(n int, cpu, bytes float64) {
	for range n {
		var reads []int32
		if x := int32(len(p.Nodes)); x > 0 {
			reads = []int32{x - 1}
		}
		p.addNode(1, cpu, reads...)
		p.Values[len(p.Values)-1].Bytes = bytes
	}
}

// moveKinds are the kinds of moves of a descent.
var moveKinds = map[string]func(*descent){
	"nodes":  (*descent).moveEachNode,
	"pairs":  (*descent).movePairs,
	"leaves": (*descent).moveLeaves,
	"runs":   (*descent).moveRuns,
}

// TestEachKindOfMoveIsNeeded gives descents problems for which one kind of move leads to the best of all assignments,
// and the other kinds alone do not. All variables begin on the CPU.
func TestEachKindOfMoveIsNeeded(t *testing.T) {
	for _, tt := range []struct {
		name, kind string
		problem    func() *Problem
	}{
		{"a node that is faster on the GPU", "nodes", func() *Problem {
			p := bytesMachine()
			p.addNode(9, 1)
			p.addNode(1, 9)
			p.addNode(9, 1)
			p.addLeaf(1, 0)
			return p
		}},
		{"a maker and its two readers, with slow nodes between them", "pairs", func() *Problem {
			p := bytesMachine()
			p.addNode(1, 2)
			p.Values[0].Bytes = 5
			p.addNode(9, 1)
			p.addNode(1, 2, 0)
			p.addNode(9, 1)
			p.addNode(1, 2, 0)
			return p
		}},
		{"two readers of a leaf, with a slow node between them", "leaves", func() *Problem {
			p := bytesMachine()
			p.addNode(1, 3)
			p.addNode(9, 1)
			p.addNode(1, 3)
			p.addLeaf(5, 0, 2)
			return p
		}},
		{"a chain of three", "runs", func() *Problem {
			p := bytesMachine()
			p.addMakers(1, 1, 1)
			p.Nodes[0].Seconds[0] = Never
			p.addMakers(3, 2, 9)
			return p
		}},
		{"a chain of three in the second step", "runs", func() *Problem {
			p := bytesMachine()
			p.addNode(9, 1)
			p.addMakers(4, 2, 9)
			p.Nodes[1].Seconds[0], p.Nodes[1].Reads = Never, nil
			p.Values[1].Bytes = 1
			p.Steps = []Step{{Weight: 1, End: 1}, {Weight: 1, First: 1, End: 5}}
			for i := range p.Nodes[1:] {
				p.Nodes[i+1].Step, p.Values[i+1].Step = 1, 1
			}
			return p
		}},
	} {
		g := newGraph(tt.problem())
		start := slices.Repeat([]int32{1}, len(g.Nodes)) // on the CPU
		start = append(start, make([]int32, len(g.Leaves))...)
		want := exhaustive(g)
		for kind, move := range moveKinds {
			d := &descent{newState(g, start), context.Background(), defaultWork}
			if move(d); near(d.cost, want) != (kind == tt.kind) {
				t.Errorf("%s: moves of %s end at %v s, the best takes %v", tt.name, kind, d.cost, want)
			}
		}
		labels, _ := g.descend(context.Background(), start, defaultWork)
		if got := newClock(g).total(labels); !near(got, want) {
			t.Errorf("%s: the descent ends at %v s, the best takes %v", tt.name, got, want)
		}
	}
}

// TestRunsEndWhereTheTargetChanges has a chain that is faster on the GPU, followed by nodes on a third target, which
// must not move along.
func TestRunsEndWhereTheTargetChanges(t *testing.T) {
	p := bytesMachine()
	p.Targets = append(p.Targets, Target{Home: 0, Addresses: []bool{true, false}})
	p.addNode(Never, 1)
	p.Values[0].Bytes = 1
	p.addMakers(3, 2, 9)
	p.Values[3].Bytes = 1
	p.addMakers(3, 9, 9)
	for i := range p.Nodes {
		p.Nodes[i].Seconds = append(p.Nodes[i].Seconds, 9)
		if i >= 4 {
			p.Nodes[i].Seconds = []float64{9, 9, 1}
		}
	}
	g := newGraph(p)
	labels, _ := g.descend(context.Background(), []int32{1, 1, 1, 1, 2, 2, 2}, defaultWork)
	if want := []int32{1, 0, 0, 0, 2, 2, 2}; !slices.Equal(labels, want) {
		t.Errorf("the descent ends at %v, want %v", labels, want)
	}
	if got, want := newClock(g).total(labels), exhaustive(g); !near(got, want) {
		t.Errorf("the descent ends at %v s, the best takes %v", got, want)
	}
}

// TestPricesFindWhatFits solves the tree of the example of prices, whose optimum does not fit, and compares with the
// best of all assignments that fit.
func TestPricesFindWhatFits(t *testing.T) {
	p := machine(0, 100)
	p.addNode(0, 8)
	p.addNode(0, 4)
	p.addLeaf(80, 0)
	p.addLeaf(80, 1)
	p.Limits[1] = 100
	g := newGraph(p)
	found, bound := g.solveTrees(context.Background())
	best := Never
	for _, labels := range found {
		if len(g.fullSpaces(labels)) == 0 {
			best = min(best, newClock(g).total(labels))
		}
	}
	if want := exhaustive(g); want != 4 || !near(best, want) || bound <= 0 || bound > want {
		t.Errorf("the best of the trees that fits takes %v s and the bound is %v, want %v and one up to that", best, bound, want)
	}
}

// TestPricesRaiseTheBound expects that prices of memory raise the bound of trees in most problems with tight memory,
// and that no bound is above the best of all assignments.
func TestPricesRaiseTheBound(t *testing.T) {
	cases, raised := 0, 0
	for seed := range uint64(200) {
		p := random(rand.New(rand.NewPCG(seed, 13)), world{nodes: 6, leaves: 5, targets: 2, limits: true})
		p.Room, p.CopyRoom = []int64{-1, -1}, []int64{-1, -1}
		p.Limits[1] = 15
		for i := range p.Nodes {
			p.Nodes[i].Seconds[0] += 20 // so that leaves are wanted in space 1
		}
		g := newGraph(p)
		free, unpriced := newTree(g).solve(make([]float64, g.spaces))
		want := exhaustive(g)
		if len(g.fullSpaces(free)) == 0 || want == Never {
			continue
		}
		cases++
		_, bound := g.solveTrees(context.Background())
		if bound > unpriced*(1+1e-9) {
			raised++
		}
		if bound > want*(1+1e-9) {
			t.Errorf("seed %d: the bound is %v, and the best takes %v", seed, bound, want)
		}
	}
	if cases < 10 || raised*2 < cases {
		t.Errorf("prices raise the bound of %d problems of %d", raised, cases)
	}
}

// TestRunsOfManyTargetsMoveToTheirNeighbours lists the targets to try for runs on more targets than are all tried.
func TestRunsOfManyTargetsMoveToTheirNeighbours(t *testing.T) {
	p := random(rand.New(rand.NewPCG(1, 17)), world{nodes: 6, targets: 2 * fewTargets, chain: true})
	d := &descent{state: newState(newGraph(p), []int32{3, 3, 5, 5, 5, 7})}
	for _, tt := range []struct {
		first, end int
		want       []int32
	}{{0, 2, []int32{5}}, {2, 5, []int32{3, 7}}, {5, 6, []int32{5}}} {
		if got := d.runTargets(&p.Steps[0], tt.first, tt.end); !slices.Equal(got, tt.want) {
			t.Errorf("nodes %d to %d: targets %v, want %v", tt.first, tt.end-1, got, tt.want)
		}
	}
}
