package placement

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
)

// world says how random problems look.
type world struct {
	nodes, leaves, targets int
	queues                 bool // some targets have queues
	limits                 bool // some spaces have limits
	shared                 bool // some targets address others' spaces
	chain, tree            bool // what nodes read
	steps                  int
}

// random returns a problem of that kind.
func random(r *rand.Rand, w world) *Problem {
	p := &Problem{}
	p.Limits = make([]int64, w.targets)
	p.Room, p.CopyRoom = make([]int64, w.targets), make([]int64, w.targets)
	for s := range p.Limits {
		p.Limits[s], p.Room[s], p.CopyRoom[s] = -1, -1, -1
		if w.limits && s > 0 {
			p.Limits[s] = int64(r.IntN(40))
			p.Room[s] = int64(5 + r.IntN(20))
			p.CopyRoom[s] = p.Room[s] / int64(1+s%2)
		}
		row := make([]Link, w.targets)
		for to := range row {
			row[to] = Link{Delay: float64(r.IntN(4)), PerByte: float64(1+r.IntN(3)) / 4}
		}
		p.Links = append(p.Links, row)
	}
	for t := range w.targets {
		tg := Target{Home: t, Addresses: make([]bool, w.targets), Events: r.IntN(2) == 0}
		tg.Addresses[t] = true
		if w.shared && r.IntN(3) == 0 {
			tg.Addresses[r.IntN(w.targets)] = true
		}
		if w.queues {
			tg.Queues = r.IntN(3)
		}
		p.Targets = append(p.Targets, tg)
	}
	b := &randomBuilder{r: r, w: w, p: p}
	for i := range max(w.steps, 1) {
		b.step(i, w.nodes/max(w.steps, 1))
	}
	for i := range p.Values {
		if v := &p.Values[i]; v.Owner < -1 { // a leaf, counted from -2 while the nodes are not all there
			v.Owner = int32(len(p.Nodes)) - v.Owner - 2
		}
	}
	return p
}

type randomBuilder struct {
	r      *rand.Rand
	w      world
	p      *Problem
	leaves int
}

func (b *randomBuilder) step(i, nodes int) {
	s := Step{Weight: float64(1 + b.r.IntN(3)), First: len(b.p.Nodes)}
	input := b.value(i, -1, -1)
	made := []int32{}
	for range nodes {
		made = append(made, b.node(i, input, made))
	}
	s.End = len(b.p.Nodes)
	b.p.Steps = append(b.p.Steps, s)
}

func (b *randomBuilder) value(step int, owner, maker int32) int32 {
	b.p.Values = append(b.p.Values, Value{Step: int32(step), Owner: owner, Maker: maker, Bytes: float64(1 + b.r.IntN(20))})
	return int32(len(b.p.Values) - 1)
}

func (b *randomBuilder) node(step int, input int32, made []int32) int32 {
	x := int32(len(b.p.Nodes))
	n := Node{Step: int32(step), Writes: -1}
	for range b.p.Targets {
		secs := float64(b.r.IntN(30))
		if b.r.IntN(5) == 0 {
			secs = Never
		}
		n.Seconds = append(n.Seconds, secs)
	}
	if slices.Min(n.Seconds) == Never {
		n.Seconds[0] = float64(b.r.IntN(30))
	}
	switch {
	case len(made) == 0:
		n.Reads = []int32{input}
	case b.w.chain:
		n.Reads = []int32{made[len(made)-1]}
	case b.w.tree:
		n.Reads = []int32{made[b.r.IntN(len(made))]}
	default:
		for range 1 + b.r.IntN(3) {
			if v := made[b.r.IntN(len(made))]; !slices.Contains(n.Reads, v) {
				n.Reads = append(n.Reads, v)
			}
		}
	}
	if b.leaves < b.w.leaves && b.r.IntN(2) == 0 {
		n.Reads = append(n.Reads, b.leaf(step))
		if b.r.IntN(3) == 0 {
			n.Writes = n.Reads[len(n.Reads)-1]
		}
	}
	b.p.Nodes = append(b.p.Nodes, n)
	return b.value(step, x, x)
}

// leaf returns a value of a new leaf, or of one that is there.
func (b *randomBuilder) leaf(step int) int32 {
	k := int32(len(b.p.Leaves))
	if k > 0 && b.r.IntN(3) == 0 {
		k = int32(b.r.IntN(int(k)))
		for v := range b.p.Values {
			if b.p.Values[v].Owner == -k-2 && b.p.Values[v].Step == int32(step) {
				return int32(v)
			}
		}
		return b.value(step, -k-2, -1)
	}
	b.leaves++
	spaces := make([]bool, len(b.p.Limits))
	for s := range spaces {
		spaces[s] = s == 0 || b.r.IntN(4) > 0
	}
	b.p.Leaves = append(b.p.Leaves, Leaf{Bytes: int64(1 + b.r.IntN(20)), Spaces: spaces})
	return b.value(step, -k-2, -1)
}

// exhaustive returns the time of the best of all assignments; Never if none fits.
func exhaustive(g *graph) float64 {
	c := newClock(g)
	labels := make([]int32, g.variables())
	best := Never
	var visit func(x int)
	visit = func(x int) {
		if x == len(labels) {
			if t := c.total(labels); t < min(best, broken) && g.legal(labels) && len(g.full(labels)) == 0 {
				best = t
			}
			return
		}
		for _, l := range g.labelsOf(int32(x)) {
			labels[x] = l
			visit(x + 1)
		}
	}
	visit(0)
	return best
}

func near(a, b float64) bool { return a == b || math.Abs(a-b) <= 1e-6*math.Abs(b) }

var worlds = map[string]world{
	"host":      {nodes: 6, targets: 3},
	"weights":   {nodes: 5, leaves: 2, targets: 3, steps: 1},
	"limits":    {nodes: 4, leaves: 3, targets: 3, limits: true},
	"queues":    {nodes: 6, targets: 3, queues: true},
	"shared":    {nodes: 6, leaves: 1, targets: 3, shared: true},
	"all":       {nodes: 5, leaves: 3, targets: 2, shared: true, queues: true, limits: true, steps: 2},
	"two steps": {nodes: 6, leaves: 2, targets: 2, steps: 2},
}

// TestSolveIsExhaustive compares with the best of all assignments.
func TestSolveIsExhaustive(t *testing.T) {
	seeds := uint64(60)
	if testing.Short() {
		seeds = 10
	}
	for name, w := range worlds {
		t.Run(name, func(t *testing.T) {
			for seed := range seeds {
				compareAll(t, seed, random(rand.New(rand.NewPCG(seed, 1)), w))
			}
		})
	}
}

// TestTwelveNodes is the same for the largest that all assignments can be looked at of.
func TestTwelveNodes(t *testing.T) {
	for seed := range uint64(4) {
		p := random(rand.New(rand.NewPCG(seed, 2)), world{nodes: 12, targets: 3, shared: seed%2 == 0, queues: seed > 1})
		compareAll(t, seed, p)
	}
}

func compareAll(t *testing.T, seed uint64, p *Problem) {
	t.Helper()
	want := exhaustive(newGraph(p))
	got := Solve(context.Background(), p, nil, Options{})
	switch {
	case want == Never:
		if got.Fits() && newGraph(p).legal(got.Labels) {
			t.Errorf("seed %d: an assignment was found, and there is none", seed)
		}
	case !near(got.Seconds, want) || !got.Fits():
		t.Errorf("seed %d: %v s (fits %v), and the best takes %v", seed, got.Seconds, got.Fits(), want)
	case !got.Proved:
		t.Errorf("seed %d: the best was not proved to be that", seed)
	case got.Bound > want*(1+1e-9):
		t.Errorf("seed %d: the bound %v is above the best, %v", seed, got.Bound, want)
	}
}

// TestBoundsHold compares each lower bound with the best of all assignments.
func TestBoundsHold(t *testing.T) {
	for name, w := range worlds {
		cases, sum := 0, 0.0
		for seed := range uint64(60) {
			g := newGraph(random(rand.New(rand.NewPCG(seed, 11)), w))
			want := exhaustive(g)
			if want == Never || want == 0 {
				continue
			}
			relaxed := newRelaxation(g).bound(context.Background(), want, relaxRounds)
			if g.bound() > want*(1+1e-9) || relaxed > want*(1+1e-9) {
				t.Errorf("%s, seed %d: bounds %v and %v, and the best takes %v", name, seed, g.bound(), relaxed, want)
			}
			cases++
			sum += relaxed / want
		}
		t.Logf("%s: the relaxation is %.0f%% of the best in %d cases", name, 100*sum/float64(cases), cases)
	}
}

// TestMovesFindTheBest counts how often the moves alone, which is what larger problems get,
// find the best of all.
func TestMovesFindTheBest(t *testing.T) {
	cases, best, worst := 0, 0, 1.0
	for _, name := range []string{"host", "weights", "queues", "shared", "two steps"} {
		for seed := range uint64(40) {
			p := random(rand.New(rand.NewPCG(seed, 3)), worlds[name])
			g := newGraph(p)
			want := exhaustive(g)
			if want == Never {
				continue
			}
			got := moves(g)
			cases++
			if near(got, want) {
				best++
			}
			worst = max(worst, got/want)
		}
	}
	t.Logf("%d of %d are the best; the worst takes %.2f times as long", best, cases, worst)
	if best*100 < cases*95 || worst > 1.5 {
		t.Errorf("moves found the best of %d in %d cases; the worst takes %.2f times as long", best, cases, worst)
	}
}

func moves(g *graph) float64 {
	prep := &Prepared{g: g}
	prep.findTrees(context.Background())
	s := prep.solver(context.Background(), nil, defaultWork)
	s.fit()
	s.improve()
	return s.result().Seconds
}

// TestTreesAreExact proves the optimum of chains and trees of many nodes by the bound.
func TestTreesAreExact(t *testing.T) {
	for _, w := range []world{
		{nodes: 200, targets: 3, chain: true},
		{nodes: 200, targets: 3, tree: true},
		{nodes: 200, targets: 4, leaves: 100, tree: true, shared: true},
	} {
		for seed := range uint64(20) {
			p := random(rand.New(rand.NewPCG(seed, 4)), w)
			separateLeaves(p)
			got := Solve(context.Background(), p, nil, Options{})
			if got.Bound >= broken {
				continue // a node writes what its targets do not address
			}
			if !got.Proved || !near(got.Seconds, got.Bound) {
				t.Errorf("%+v, seed %d: %v s, bound %v", w, seed, got.Seconds, got.Bound)
			}
		}
	}
}

// separateLeaves lets no two nodes read one leaf: they would close circles.
func separateLeaves(p *Problem) {
	nodes := int32(len(p.Nodes))
	seen := make(map[int32]bool)
	for i := range p.Nodes {
		n := &p.Nodes[i]
		n.Reads = slices.DeleteFunc(n.Reads, func(v int32) bool {
			if p.Values[v].Owner < nodes {
				return false
			}
			again := seen[p.Values[v].Owner]
			seen[p.Values[v].Owner] = true
			if again && n.Writes == v {
				n.Writes = -1
			}
			return again
		})
	}
}

// TestNeverWorse gives bad starts to problems too large for a complete search.
func TestNeverWorse(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 5))
		p := random(r, world{nodes: 150, leaves: 40, targets: 4, shared: true, queues: seed%2 == 0, limits: seed%3 == 0, steps: 2})
		g := newGraph(p)
		var starts [][]int32
		for range 4 {
			labels := make([]int32, g.variables())
			for x := range labels {
				labels[x] = g.labelsOf(int32(x))[r.IntN(len(g.labelsOf(int32(x))))]
			}
			starts = append(starts, labels)
		}
		got := Solve(context.Background(), p, starts, Options{})
		if !got.Fits() || !g.legal(got.Labels) {
			if slices.Min(got.Starts) < Never {
				t.Errorf("seed %d: nothing fits, and a start does", seed)
			}
			continue
		}
		if got.Seconds > slices.Min(got.Starts) {
			t.Errorf("seed %d: %v s, and the starts take %v", seed, got.Seconds, got.Starts)
		}
		if got.Bound > got.Seconds*(1+1e-9) {
			t.Errorf("seed %d: the bound is %v, and %v was found", seed, got.Bound, got.Seconds)
		}
	}
}

// TestManyTargets has no limit on targets and spaces.
func TestManyTargets(t *testing.T) {
	p := random(rand.New(rand.NewPCG(1, 10)), world{nodes: 400, leaves: 80, targets: 100, shared: true, steps: 2})
	got := Solve(context.Background(), p, nil, Options{})
	if !got.Fits() || got.Bound > got.Seconds {
		t.Errorf("%v s, fits %v, bound %v", got.Seconds, got.Fits(), got.Bound)
	}
	if again := newState(newGraph(p), got.Labels).cost; !near(again, got.Seconds) {
		t.Errorf("%v s, and the sum is %v", got.Seconds, again)
	}
}

// TestBadStartIsImproved moves a chain that a start spreads over two targets.
func TestBadStartIsImproved(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 6))
	p := random(r, world{nodes: 60, targets: 2, chain: true})
	for i := range p.Nodes {
		p.Nodes[i].Seconds = []float64{10, 1}
	}
	start := make([]int32, 60)
	for i := range start {
		start[i] = int32(i % 2)
	}
	got := Solve(context.Background(), p, [][]int32{start}, Options{})
	if got.Seconds >= got.Starts[0]/4 {
		t.Errorf("%v s, and the start takes %v", got.Seconds, got.Starts[0])
	}
	if i := slices.Index(got.Labels, 0); i >= 0 {
		t.Errorf("node %d stays on the slow target", i)
	}
}

// TestStateFollowsChanges compares the cost that is kept up to date with one that is summed
// up anew, and that with the clock where nothing overlaps.
func TestStateFollowsChanges(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 7))
		g := newGraph(random(r, world{nodes: 40, leaves: 12, targets: 3, shared: true, limits: true, steps: 2}))
		labels := make([]int32, g.variables())
		for x := range labels {
			labels[x] = g.labelsOf(int32(x))[0]
		}
		s := newState(g, labels)
		mark := s.mark()
		for range 200 {
			x := int32(r.IntN(g.variables()))
			s.set(x, g.labelsOf(x)[r.IntN(len(g.labelsOf(x)))])
		}
		cost, over := s.cost, s.over
		if s.recount(); !near(cost, s.cost) || over != s.over {
			t.Fatalf("seed %d: cost %v, over %d; summed up %v, %d", seed, cost, over, s.cost, s.over)
		}
		if g.legal(s.labels) && !near(newClock(g).total(s.labels), s.cost) {
			t.Errorf("seed %d: the clock says %v, the sum %v", seed, newClock(g).total(s.labels), s.cost)
		}
		if s.undo(mark); !slices.Equal(s.labels, labels) {
			t.Fatalf("seed %d: not all was undone", seed)
		}
	}
}

// TestSolveIsDeterministic solves problems again, with more processors.
func TestSolveIsDeterministic(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for seed := range uint64(8) {
		p := random(rand.New(rand.NewPCG(seed, 8)), world{nodes: 300, leaves: 60, targets: 5, shared: true, queues: true, limits: seed%2 == 0, steps: 2})
		var before *Result
		for _, procs := range []int{1, 2, 8} {
			runtime.GOMAXPROCS(procs)
			r := Solve(context.Background(), p, nil, Options{Work: 20_000 >> seed})
			if before != nil && !reflect.DeepEqual(r, before) {
				t.Errorf("seed %d: with %d processors %v s after %d changes, before %v s after %d", seed, procs, r.Seconds, r.Work, before.Seconds, before.Work)
			}
			before = r
		}
	}
}

func BenchmarkSolve(b *testing.B) {
	for _, nodes := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			p := random(rand.New(rand.NewPCG(1, 9)), world{nodes: nodes, leaves: nodes / 3, targets: 8, shared: true, steps: 2})
			for b.Loop() {
				Solve(context.Background(), p, nil, Options{})
			}
		})
	}
}

// countdown is a context that ends when it has been looked at so many times.
type countdown struct {
	context.Context
	left atomic.Int64
}

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestSolveStops ends the context ever later: the search stops at once, with what it has found.
// It looks from one processor, so that looks have an order.
func TestSolveStops(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	p := random(rand.New(rand.NewPCG(5, 8)), world{nodes: 300, leaves: 60, targets: 5, shared: true, queues: true, limits: true, steps: 2})
	start := Solve(context.Background(), p, nil, Options{Work: 1}).Labels
	whole := Solve(context.Background(), p, [][]int32{start}, Options{})
	for looks, before := int64(0), -1; looks < 1000; looks = 2*looks + 1 {
		ctx := &countdown{Context: context.Background()}
		ctx.left.Store(looks)
		r := Solve(ctx, p, [][]int32{start}, Options{})
		if r.Seconds > r.Starts[0] {
			t.Errorf("after %d looks: %v s, and the start takes %v", looks, r.Seconds, r.Starts[0])
		}
		if ctx.left.Load() < 0 && r.Work >= whole.Work || r.Work < before {
			t.Errorf("after %d looks: %d moves, before %d, all are %d", looks, r.Work, before, whole.Work)
		}
		before = r.Work
	}
}
