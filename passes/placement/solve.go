package placement

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/ggmlc/ggmlc/passes/abreast"
)

// Options bound the search. The zero value is the default.
type Options struct {
	Work int // changes of labels that moves may try; 0 is the default
}

// defaultWork is how many changes are tried: what takes about 0.2 s.
const defaultWork = 1_000_000

// Result is an assignment with what is known of it.
type Result struct {
	Labels  []int32
	Seconds float64   // predicted, weighted, of all steps
	Steps   []float64 // of each step, without its weight
	Bound   float64   // no assignment takes less
	Proved  bool      // the assignment is the best: all others were looked at, or the bound says so
	Starts  []float64 // what the given starts take; Never where one does not fit or cannot run
	Over    []int64   // by space: bytes beyond its limit; all 0 unless nothing was found that fits
	Moved   []int32   // nodes that are where they are for the sake of steps under way at once, though the step takes longer so
	Work    int       // changes that were tried
}

// Fits reports whether the assignment keeps all limits and can run.
func (r *Result) Fits() bool {
	return r.Seconds < broken && !slices.ContainsFunc(r.Over, func(n int64) bool { return n > 0 })
}

// Solve returns the best assignment that it finds, and never a worse one than a start that
// fits. Every variable needs at least one label. When ctx ends, so does the search: the result
// is what was found until then.
func Solve(ctx context.Context, p *Problem, starts [][]int32, o Options) *Result {
	return Prepare(ctx, p).Solve(ctx, starts, o)
}

// Prepared is a problem with what is found out about it without a start.
type Prepared struct {
	g     *graph
	trees [][]int32 // the best assignments of trees that are a part of the problem
	bound float64
}

// Prepare does what does not need starts, so that it can be done while others look for them.
// The problem must not change between this and Prepared.Solve.
func Prepare(ctx context.Context, p *Problem) *Prepared {
	prep := &Prepared{g: newGraph(p)}
	prep.findTrees(ctx)
	return prep
}

// Solve is the function Solve for the problem.
func (prep *Prepared) Solve(ctx context.Context, starts [][]int32, o Options) *Result {
	s := prep.solver(ctx, starts, cmp.Or(o.Work, defaultWork))
	s.fit()
	s.improve()
	s.relax()
	r := s.result()
	r.Over = s.g.overs(r.Labels)
	if !r.Proved {
		s.complete(r)
	}
	s.straighten(r)
	s.figures(r)
	return r
}

// complete searches a small problem completely.
func (s *solver) complete(r *Result) {
	time := r.Seconds
	if !r.Fits() {
		time = Never
	}
	labels, best, all := s.g.search(r.Labels, time)
	if best >= broken {
		return
	}
	r.Labels, r.Seconds, r.Over = labels, best, s.g.overs(labels)
	if all {
		r.Proved, r.Bound = true, best
	}
}

// solver is the state of one Solve.
type solver struct {
	ctx    context.Context
	g      *graph
	clock  *clock
	groups func() *grouper // of whoever works alone; mostly nobody needs it
	work   int             // that may be done
	done   int
	found  []found
	starts []float64
	bound  float64
}

// found is an assignment that may be the answer.
type found struct {
	labels []int32
	over   int64
	time   float64 // Never where a node writes where it cannot
}

// able returns the labels, changed where they cannot be, and whether they are the same.
func (g *graph) able(labels []int32) (able []int32, same bool) {
	able, same = labels, true
	for x, label := range labels {
		if g.mayBe(int32(x), label) {
			continue
		}
		if same {
			able, same = slices.Clone(labels), false
		}
		if able[x] = g.labelsOf(int32(x))[0]; !g.isLeaf(int32(x)) {
			able[x] = g.fastest(int32(x))
		}
	}
	return able, same
}

// add notes an assignment, which nobody changes any more.
func (s *solver) add(labels []int32) { s.found = append(s.found, s.clock.judge(labels)) }

// judge finds out what there is to know of an assignment.
func (c *clock) judge(labels []int32) found {
	f := found{labels: labels, time: c.total(labels)}
	if f.time >= broken || !c.g.legal(labels) {
		f.time = Never
	}
	for _, n := range c.g.overs(labels) {
		f.over += n
	}
	return f
}

// legal reports whether all nodes address what they write, and there is room for what they
// make.
func (g *graph) legal(labels []int32) bool {
	for _, i := range g.writers.items {
		if !g.reaches(labels[i], g.spaceOf(labels, g.Nodes[i].Writes)) {
			return false
		}
	}
	if g.roomy {
		return true
	}
	for i := range g.Nodes {
		if g.misfits(int32(i), labels[i]) > 0 {
			return false
		}
	}
	return true
}

// overs returns by how many bytes an assignment exceeds the limit of each space.
func (g *graph) overs(labels []int32) []int64 {
	used := make([]int64, g.spaces)
	for i := range g.Leaves {
		used[labels[len(g.Nodes)+i]] += g.Leaves[i].Bytes
	}
	for space := range used {
		used[space] = g.excess(int32(space), used[space])
	}
	return used
}

// maxTreeWork bounds the pairs of labels that the tree looks at: what takes about 0.3 s.
const maxTreeWork = 60_000_000

// solver returns a solver that knows the starts and the trees.
func (prep *Prepared) solver(ctx context.Context, starts [][]int32, work int) *solver {
	g := prep.g
	s := &solver{ctx: ctx, g: g, clock: newClock(g), groups: sync.OnceValue(func() *grouper { return newGrouper(g) }), work: work, bound: prep.bound}
	s.begin(starts, prep.trees)
	return s
}

// begin notes the starts, changed where they have labels that cannot be, and the time of those
// that can be as they are and fit; then what trees found.
func (s *solver) begin(starts, trees [][]int32) {
	s.starts = make([]float64, len(starts))
	s.found = make([]found, len(starts)+len(trees))
	own := make(chan *clock, 1)
	own <- s.clock
	clocks := func() *clock {
		select {
		case c := <-own: // one worker takes that of the solver
			return c
		default:
			return newClock(s.g)
		}
	}
	abreast.Each(len(s.found), clocks, func(c *clock, i int) {
		if i >= len(starts) {
			s.found[i] = c.judge(trees[i-len(starts)])
			return
		}
		labels, same := s.g.able(starts[i])
		s.found[i], s.starts[i] = c.judge(labels), Never
		if same && s.found[i].over == 0 {
			s.starts[i] = s.found[i].time
		}
	})
}

// findTrees finds a bound, and assignments that are the best where copies are left out.
func (prep *Prepared) findTrees(ctx context.Context) {
	g := prep.g
	prep.bound = g.bound()
	once := g.variables() * len(g.Targets) * len(g.Targets)
	if once > maxTreeWork {
		return
	}
	labels, bound := g.priced(ctx, newTree(g), min(priceRounds, maxTreeWork/max(once, 1)))
	prep.trees = labels
	if g.sync {
		prep.bound = max(prep.bound, bound)
	}
}

// compare puts what fits before what does not, then the shorter before the longer.
func compare(a, b found) int {
	return cmp.Or(cmp.Compare(a.over, b.over), cmp.Compare(a.time, b.time))
}

// fewBases is from how many assignments leaves are moved out where they do not fit.
const fewBases = 3

// fit adds assignments that fit where the best ones do not.
func (s *solver) fit() {
	bases := slices.Clone(s.found)
	slices.SortStableFunc(bases, func(a, b found) int { return cmp.Compare(a.time, b.time) })
	tried := 0
	for _, b := range bases {
		if b.over == 0 || tried == fewBases || s.ctx.Err() != nil {
			continue
		}
		tried++
		for by := range evictions {
			st := newState(s.g, b.labels)
			st.evict(s.groups(), by)
			s.done += st.work
			s.add(st.labels)
		}
	}
}

// relaxRounds is how many rounds the relaxation has, at most, and maxRelaxWork bounds the
// labels that it looks at. Fewer than fewRounds find too little.
const (
	relaxRounds  = 200
	fewRounds    = 10
	maxRelaxWork = 20_000_000
)

// relax raises the bound where work overlaps or memory has limits.
func (s *solver) relax() {
	best := s.found[0]
	limited := slices.ContainsFunc(s.g.Limits, func(n int64) bool { return n >= 0 })
	if best.time >= broken || s.proved(best) || s.g.sync && !limited {
		return
	}
	once := s.g.variables() * len(s.g.Targets) * s.g.spaces
	if rounds := min(relaxRounds, maxRelaxWork/max(once, 1)); rounds >= fewRounds {
		s.bound = max(s.bound, newRelaxation(s.g).bound(s.ctx, best.time, rounds))
	}
}

func (s *solver) result() *Result {
	best := s.found[0]
	return &Result{
		Labels: best.labels, Seconds: best.time, Bound: s.bound, Proved: s.proved(best),
		Starts: s.starts, Work: s.done,
	}
}

// figures fills in what follows from the labels.
func (s *solver) figures(r *Result) {
	r.Over = s.g.overs(r.Labels)
	for i := range s.g.Steps {
		r.Steps = append(r.Steps, s.clock.step(r.Labels, i))
	}
}
