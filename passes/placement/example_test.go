package placement

import (
	"context"
	"slices"
	"testing"
)

// The tests of this file check the examples in doc comments.

// machine returns a problem without nodes: target 0 is a GPU whose home is space 1, target 1 is the CPU whose home is
// space 0. All copies take the same time.
func machine(gpuQueues int, copySeconds float64) *Problem {
	link := []Link{{Delay: copySeconds}, {Delay: copySeconds}}
	return &Problem{
		Targets: []Target{
			{Home: 1, Addresses: []bool{false, true}, Queues: gpuQueues, Events: true},
			{Home: 0, Addresses: []bool{true, false}},
		},
		Limits: []int64{-1, -1}, Room: []int64{-1, -1}, CopyRoom: []int64{-1, -1},
		Links: [][]Link{link, link},
		Steps: []Step{{Weight: 1}},
	}
}

// addLeaf adds a leaf that may be in either space. All leaves have to be added after the nodes.
func (p *Problem) addLeaf(bytes int64, readers ...int) {
	x := int32(len(p.Nodes) + len(p.Leaves))
	p.Leaves = append(p.Leaves, Leaf{Bytes: bytes, Spaces: []bool{true, true}})
	p.Values = append(p.Values, Value{Owner: x, Maker: -1, Bytes: float64(bytes)})
	for _, n := range readers {
		p.Nodes[n].Reads = append(p.Nodes[n].Reads, int32(len(p.Values)-1))
	}
}

// addNode adds a node that reads results of other nodes. Value i is the result of node i.
func (p *Problem) addNode(gpu, cpu float64, reads ...int32) {
	x := int32(len(p.Nodes))
	p.Nodes = append(p.Nodes, Node{Seconds: []float64{gpu, cpu}, Reads: reads, Writes: -1})
	p.Values = append(p.Values, Value{Owner: x, Maker: x})
	p.Steps[0].End = len(p.Nodes)
}

// chainOfThree returns the problem of the package's comment.
func chainOfThree() *Problem {
	p := machine(0, 2)
	p.addNode(1, 4)
	p.addNode(Never, 1, 0)
	p.addNode(1, 2, 1)
	p.addLeaf(100, 0)
	return p
}

func TestExampleOfThePackage(t *testing.T) {
	g := newGraph(chainOfThree())
	for _, tt := range []struct {
		labels []int32
		want   float64
	}{
		{[]int32{1, 1, 1, 0}, 7},
		{[]int32{0, 1, 1, 0}, 8},
		{[]int32{0, 1, 1, 1}, 6},
		{[]int32{0, 1, 0, 1}, 7},
	} {
		if got := newClock(g).total(tt.labels); got != tt.want {
			t.Errorf("%v takes %v s, want %v", tt.labels, got, tt.want)
		}
		if got := newState(g, tt.labels).cost; got != tt.want {
			t.Errorf("%v costs %v s, want %v", tt.labels, got, tt.want)
		}
	}
	r := Solve(context.Background(), g.Problem, nil, Options{})
	if want := []int32{0, 1, 1, 1}; !slices.Equal(r.Labels, want) || !r.Proved {
		t.Errorf("solved as %v (proved %v), want %v", r.Labels, r.Proved, want)
	}
}

func TestExampleOfTrees(t *testing.T) {
	g := newGraph(chainOfThree())
	tree := newTree(g)
	if len(tree.joints) != 3 || tree.order[0] != 0 {
		t.Errorf("%d joints, and the root is %d; want 3 and node 0", len(tree.joints), tree.order[0])
	}
	c := treeCosts{tree, make([][]float64, g.variables())}
	for _, x := range slices.Backward(tree.order) {
		c.cost[x] = c.costsOf(x, []float64{0, 0})
	}
	for x, want := range [][]float64{{6, 7}, {3}, {1, 2}, {0, 0}} {
		if !slices.Equal(c.cost[x], want) {
			t.Errorf("variable %d costs %v, want %v", x, c.cost[x], want)
		}
	}
}

func TestExampleOfTheState(t *testing.T) {
	p := machine(0, 2)
	p.addNode(0, 0)
	p.addNode(0, 0, 0)
	p.addNode(0, 0, 0)
	s := newState(newGraph(p), []int32{0, 0, 0})
	for i, tt := range []struct {
		x    int32
		want float64
	}{{1, 2}, {2, 2}, {0, 0}} {
		if s.set(tt.x, 1); s.cost != tt.want {
			t.Errorf("after %d changes the cost is %v s, want %v", i+1, s.cost, tt.want)
		}
	}
}

func TestExampleOfTheClock(t *testing.T) {
	p := machine(1, 0.5)
	p.addNode(3, Never)
	p.addNode(Never, 2)
	p.addNode(Never, 1, 0)
	g := newGraph(p)
	labels := []int32{0, 1, 1}
	if got := newClock(g).total(labels); got != 4.5 {
		t.Errorf("the step takes %v s, want 4.5", got)
	}
	if got := newState(g, labels).cost; got != 6.5 {
		t.Errorf("all times together are %v s, want 6.5", got)
	}
}

func TestExampleOfBounds(t *testing.T) {
	p := machine(1, 0)
	p.addNode(1, 1)
	p.addNode(4, 4, 0)
	p.addNode(2, 2)
	g := newGraph(p)
	chain, all := g.followers()
	if !slices.Equal(chain, []float64{4, 0, 0}) || !slices.Equal(all, []float64{6, 2, 0}) {
		t.Errorf("chains %v, all %v; want [4 0 0] and [6 2 0]", chain, all)
	}
	if got := g.chainBound(); got != 5 {
		t.Errorf("the bound is %v s, want 5", got)
	}
}

// twoNodes returns the example of the relaxation and of polish.
func twoNodes() *graph {
	p := machine(1, 0)
	p.addNode(2, 3)
	p.addNode(2, 3)
	return newGraph(p)
}

func TestExampleOfTheRelaxation(t *testing.T) {
	g := twoNodes()
	r := newRelaxation(g)
	for _, tt := range []struct{ gpu, host, want float64 }{{0.5, 0.5, 2}, {0.6, 0.4, 2.4}} {
		weight := make([]float64, r.resources())
		weight[r.queueOf(0)], weight[onHost] = tt.gpu, tt.host
		if got, _ := r.solve(&multipliers{[][]float64{weight}, make([]float64, 2)}); !near(got, tt.want) {
			t.Errorf("weights %v and %v: the bound is %v s, want %v", tt.gpu, tt.host, got, tt.want)
		}
	}
	if got := g.relaxedBound(context.Background(), 3); got < 2.3 || got > 3 {
		t.Errorf("the best bound is %v s, want one near 2.4", got)
	}
}

func TestExampleOfPolish(t *testing.T) {
	g := twoNodes()
	s := &solver{context.Background(), g, newClock(g)}
	both := s.judge([]int32{0, 0})
	if got := s.polish(both); both.time != 4 || got.time != 3 {
		t.Errorf("%v s becomes %v s, want 4 and 3", both.time, got.time)
	}
}

func TestExampleOfDescents(t *testing.T) {
	p := machine(0, 0.5)
	p.addNode(0, 0) // makes the input, on the CPU
	p.addNode(1, 2, 0)
	p.addNode(1, 2, 1)
	p.addNode(0, 0, 2)
	p.Nodes[0].Seconds[0], p.Nodes[3].Seconds[0] = Never, Never
	p.Values[1].Bytes = 9
	for from := range p.Links {
		for to := range p.Links[from] {
			p.Links[from][to].PerByte = 0.5 // 5 s for the large value
		}
	}
	s := newState(newGraph(p), []int32{1, 1, 1, 1})
	for _, tt := range []struct {
		nodes []int32
		want  float64
	}{{[]int32{1}, 4.5}, {[]int32{2}, 4.5}, {[]int32{1, 2}, -1}} {
		mark := s.mark()
		s.moveNodes(0, tt.nodes...)
		if got := s.cost - mark.cost; got != tt.want {
			t.Errorf("moving %v costs %v s, want %v", tt.nodes, got, tt.want)
		}
		s.undo(mark)
	}
	if labels, _ := s.g.descend(context.Background(), s.labels, 100); !slices.Equal(labels, []int32{1, 0, 0, 1}) {
		t.Errorf("the descent ends at %v, want [1 0 0 1]", labels)
	}
}

func TestExampleOfGroups(t *testing.T) {
	p := machine(0, 1)
	for range 6 {
		p.addNode(1, 1)
	}
	p.addLeaf(1, 0, 5) // k
	p.addLeaf(1, 4, 5) // v
	gr := newGraph(p).around(0)
	if !slices.Equal(gr.nodes, []int32{0, 5, 4}) || !slices.Equal(gr.leaves, []int32{6, 7}) {
		t.Errorf("the group has nodes %v and leaves %v, want [0 5 4] and [6 7]", gr.nodes, gr.leaves)
	}
}

func TestExampleOfPrices(t *testing.T) {
	p := machine(0, 100)
	p.addNode(0, 8)
	p.addNode(0, 4)
	p.addLeaf(80, 0)
	p.addLeaf(80, 1)
	p.Limits[1] = 100
	tree := newTree(newGraph(p))
	for _, tt := range []struct {
		price float64
		want  []int32
		cost  float64
	}{{0, []int32{0, 0, 1, 1}, 0}, {0.06, []int32{0, 1, 1, 0}, 8.8}} {
		if labels, cost := tree.solve([]float64{0, tt.price}); !slices.Equal(labels, tt.want) || !near(cost, tt.cost) {
			t.Errorf("price %v: %v for %v s, want %v for %v", tt.price, labels, cost, tt.want, tt.cost)
		}
	}
}

func TestExampleOfEvictions(t *testing.T) {
	p := machine(0, 100)
	p.addNode(0, 6)
	p.addNode(0, 1)
	p.addNode(0, 3)
	p.addLeaf(60, 0)
	p.addLeaf(40, 1)
	p.addLeaf(30, 2)
	p.Limits[1] = 100
	g := newGraph(p)
	for by, want := range [][]int32{{0, 1, 0}, {0, 0, 1}, {1, 0, 0}} {
		s := newState(g, []int32{0, 0, 0, 1, 1, 1})
		if s.evict(evictions[by]); !slices.Equal(s.labels[:3], want) || s.over > 0 {
			t.Errorf("order %d: nodes are on %v with %d bytes over, want %v", by, s.labels[:3], s.over, want)
		}
	}
}
