package placement

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"
)

// exhaustive returns the time of the best of all assignments; Never if none fits.
func exhaustive(g *graph) float64 {
	c := newClock(g)
	labels := make([]int32, g.variables())
	best := Never
	var visit func(x int)
	visit = func(x int) {
		if x == len(labels) {
			if t := c.total(labels); t < min(best, broken) && g.legal(labels) && len(g.fullSpaces(labels)) == 0 {
				best = t
			}
			return
		}
		for _, l := range g.allowed[x] {
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

// TestSolveFindsTheBestOfAllAssignments compares with a search of all assignments.
func TestSolveFindsTheBestOfAllAssignments(t *testing.T) {
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

// TestSolveFindsTheBestOfTwelveNodes does the same for the largest problems for which that is affordable.
func TestSolveFindsTheBestOfTwelveNodes(t *testing.T) {
	for seed := range uint64(4) {
		p := random(rand.New(rand.NewPCG(seed, 2)), world{nodes: 12, targets: 3, shared: seed%2 == 0, queues: seed > 1})
		compareAll(t, seed, p)
	}
}

// TestTargetsAreNoSpaces reverses the order of targets, so that the number of a target is not that of its home.
func TestTargetsAreNoSpaces(t *testing.T) {
	for _, name := range []string{"weights", "limits", "shared", "two steps"} {
		for seed := range uint64(8) {
			p := random(rand.New(rand.NewPCG(seed, 16)), worlds[name])
			slices.Reverse(p.Targets)
			for i := range p.Nodes {
				slices.Reverse(p.Nodes[i].Seconds)
			}
			compareAll(t, seed, p)
		}
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

// TestBoundsAreNotAboveTheBest compares each lower bound with the best of all assignments.
func TestBoundsAreNotAboveTheBest(t *testing.T) {
	for name, w := range worlds {
		cases, sum := 0, 0.0
		for seed := range uint64(60) {
			g := newGraph(random(rand.New(rand.NewPCG(seed, 11)), w))
			want := exhaustive(g)
			if want == Never || want == 0 {
				continue
			}
			chains, relaxed := g.chainBound(), g.relaxedBound(context.Background(), want)
			if chains > want*(1+1e-9) || relaxed > want*(1+1e-9) {
				t.Errorf("%s, seed %d: bounds %v and %v, and the best takes %v s", name, seed, chains, relaxed, want)
			}
			cases++
			sum += relaxed / want
		}
		t.Logf("%s: the relaxation is %.0f%% of the best in %d cases", name, 100*sum/float64(cases), cases)
	}
}

// TestMovesFindTheBestOfMostProblems counts how often trees and moves find the best assignment without the search of
// all assignments, which larger problems do not get.
func TestMovesFindTheBestOfMostProblems(t *testing.T) {
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

// moves returns the time of the best solution that trees and moves find.
func moves(g *graph) float64 {
	s := &solver{context.Background(), g, newClock(g)}
	trees, _ := g.solveTrees(s.ctx)
	var found []solution
	for _, labels := range trees {
		found = append(found, s.judge(labels))
	}
	fitting, work := s.makeFit(found)
	best, _ := s.improve(append(found, fitting...), g.chainBound(), defaultWork-work)
	return better(best, s.polish(best)).time
}

// TestChainsAndTreesAreProvedOptimal expects that the bound of trees proves the optimum of large chains and trees.
func TestChainsAndTreesAreProvedOptimal(t *testing.T) {
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

// separateLeaves removes reads so that no two nodes read the same leaf, which would close circles.
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

// TestSolveIsNotWorseThanItsStarts gives bad starts to problems that are too large for a search of all assignments.
func TestSolveIsNotWorseThanItsStarts(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 5))
		w := world{nodes: 150, leaves: 40, targets: 4, shared: true, steps: 2}
		w.queues, w.limits = seed%2 == 0, seed%3 == 0
		p := random(r, w)
		g := newGraph(p)
		var starts [][]int32
		for range 4 {
			labels := make([]int32, g.variables())
			for x := range labels {
				labels[x] = g.allowed[x][r.IntN(len(g.allowed[x]))]
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

// TestHundredTargetsAreSolved expects that there is no limit on targets and spaces.
func TestHundredTargetsAreSolved(t *testing.T) {
	p := random(rand.New(rand.NewPCG(1, 10)), world{nodes: 400, leaves: 80, targets: 100, shared: true, steps: 2})
	got := Solve(context.Background(), p, nil, Options{})
	if !got.Fits() || got.Bound > got.Seconds {
		t.Errorf("%v s, fits %v, bound %v", got.Seconds, got.Fits(), got.Bound)
	}
	if again := newState(newGraph(p), got.Labels).cost; !near(again, got.Seconds) {
		t.Errorf("%v s, and the sum is %v", got.Seconds, again)
	}
}

// TestAlternatingStartMovesToTheFastTarget gives a chain that a start distributes over two targets.
func TestAlternatingStartMovesToTheFastTarget(t *testing.T) {
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

// TestStateKeepsItsCostUpToDate compares the cost after many changes with a new sum, and with the clock where nothing
// overlaps.
func TestStateKeepsItsCostUpToDate(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 7))
		g := newGraph(random(r, world{nodes: 40, leaves: 12, targets: 3, shared: true, limits: true, steps: 2}))
		labels := make([]int32, g.variables())
		for x := range labels {
			labels[x] = g.allowed[x][0]
		}
		s := newState(g, labels)
		mark := s.mark()
		for range 200 {
			x := int32(r.IntN(g.variables()))
			s.set(x, g.allowed[x][r.IntN(len(g.allowed[x]))])
		}
		cost, over := s.cost, s.over
		if s.recount(); !near(cost, s.cost) || over != s.over {
			t.Fatalf("seed %d: cost %v, over %d; summed up %v, %d", seed, cost, over, s.cost, s.over)
		}
		if g.legal(s.labels) && !near(newClock(g).total(s.labels), s.cost) {
			t.Errorf("seed %d: %v s by the clock, and the sum is %v", seed, newClock(g).total(s.labels), s.cost)
		}
		if s.undo(mark); !slices.Equal(s.labels, labels) {
			t.Fatalf("seed %d: not all was undone", seed)
		}
	}
}

// TestSolveReturnsTheSameEveryTime solves problems again, with another number of processors.
func TestSolveReturnsTheSameEveryTime(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for seed := range uint64(8) {
		w := world{nodes: 300, leaves: 60, targets: 5, shared: true, queues: true, limits: seed%2 == 0, steps: 2}
		p := random(rand.New(rand.NewPCG(seed, 8)), w)
		var before *Result
		for _, procs := range []int{1, 2, 8} {
			runtime.GOMAXPROCS(procs)
			r := Solve(context.Background(), p, nil, Options{Work: 20_000 >> seed})
			if before != nil && !reflect.DeepEqual(r, before) {
				t.Errorf("seed %d: with %d processors %v s after %d changes, before %v s after %d",
					seed, procs, r.Seconds, r.Work, before.Seconds, before.Work)
			}
			before = r
		}
	}
}

func BenchmarkSolve(b *testing.B) {
	for _, nodes := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			w := world{nodes: nodes, leaves: nodes / 3, targets: 8, shared: true, steps: 2}
			p := random(rand.New(rand.NewPCG(1, 9)), w)
			for b.Loop() {
				Solve(context.Background(), p, nil, Options{})
			}
		})
	}
}

// countdown is a context that ends after a number of calls of Err.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestSolveStopsWhenTheContextEnds ends the context later and later, and expects that the search stops at once with
// what it has found.
func TestSolveStopsWhenTheContextEnds(t *testing.T) {
	w := world{nodes: 300, leaves: 60, targets: 5, shared: true, queues: true, limits: true, steps: 2}
	p := random(rand.New(rand.NewPCG(5, 8)), w)
	start := Solve(context.Background(), p, nil, Options{Work: 1}).Labels
	whole := Solve(context.Background(), p, [][]int32{start}, Options{})
	for looks, before := 0, -1; looks < 1000; looks = 2*looks + 1 {
		ctx := &countdown{context.Background(), looks}
		r := Solve(ctx, p, [][]int32{start}, Options{})
		if r.Seconds > r.Starts[0] {
			t.Errorf("after %d looks: %v s, and the start takes %v", looks, r.Seconds, r.Starts[0])
		}
		if ctx.left < 0 && r.Work >= whole.Work || r.Work < before {
			t.Errorf("after %d looks: %d moves, before %d, all are %d", looks, r.Work, before, whole.Work)
		}
		before = r.Work
	}
}

// TestProblemWithoutStartsIsSolved gives no start for a problem that is too large for trees.
func TestProblemWithoutStartsIsSolved(t *testing.T) {
	p := random(rand.New(rand.NewPCG(1, 12)), world{nodes: maxTreeWork/(100*100) + 1, targets: 100})
	got := Solve(context.Background(), p, nil, Options{Work: 1})
	if !got.Fits() || len(got.Labels) != len(p.Nodes) {
		t.Errorf("%d labels, fits %v; want %d that fit", len(got.Labels), got.Fits(), len(p.Nodes))
	}
}
