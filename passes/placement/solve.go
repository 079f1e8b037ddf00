package placement

import (
	"cmp"
	"context"
	"slices"
)

// Options bound the search. The zero value is the default.
type Options struct {
	Work int // labels that moves may change; 0 is the default
}

// defaultWork is the number of labels that moves may change by default. A bound on work instead of time makes the
// result the same on every machine.
const defaultWork = 1_000_000

// Result is an assignment and what is known about it.
type Result struct {
	Labels  []int32
	Seconds float64   // predicted time of all steps, weighted
	Steps   []float64 // by step: its predicted time, without its weight
	Bound   float64   // no assignment takes less
	Proved  bool      // no assignment is better
	Starts  []float64 // by start: its predicted time; Never if it does not fit or cannot run
	Over    []int64   // by space: bytes beyond its limit; all 0 if the assignment fits
	Moved   []int32   // nodes that moved for the sake of pipelined steps, although a single step takes longer for it
	Work    int       // labels that moves have changed
}

// Fits reports whether the assignment keeps all limits and can run.
func (r *Result) Fits() bool {
	return r.Seconds < Never && !slices.ContainsFunc(r.Over, func(n int64) bool { return n > 0 })
}

// Solve returns the best assignment that it finds. It is never worse than a start that fits. Every variable needs at
// least one label that it may have. If ctx ends, Solve returns the best assignment that it has found until then.
//
// The search has these steps:
//
//  1. The candidates are the starts and the optima of trees within the problem (tree.go, price.go). If there are
//     none, the candidate has each node on its fastest target.
//  2. If candidates do not fit, leaves are moved out of full spaces (evict.go).
//  3. Moves improve the best candidates: first by the sum of all times (descend.go), then by the clock (polish.go).
//  4. Lower bounds show how far the result may be from the best, or that it is the best (bound.go, relax.go).
//  5. A small problem for which they do not is searched completely (exact.go).
//  6. If steps are pipelined, nodes move so that fewer targets wait for each other (flow.go).
func Solve(ctx context.Context, p *Problem, starts [][]int32, o Options) *Result {
	g := newGraph(p)
	s := &solver{ctx, g, newClock(g)}
	r := &Result{}

	var found []solution
	found, r.Starts = s.judgeStarts(starts)
	trees, treeBound := g.solveTrees(ctx)
	for _, labels := range trees {
		found = append(found, s.judge(labels))
	}
	if len(found) == 0 {
		found = append(found, s.judge(g.fallbackLabels()))
	}

	fitting, work := s.makeFit(found)
	found = append(found, fitting...)

	r.Bound = g.chainBound()
	if g.serial { // the bound of trees is a bound of the sum of all times
		r.Bound = max(r.Bound, treeBound)
	}
	best, more := s.improve(found, r.Bound, cmp.Or(o.Work, defaultWork)-work)
	best = better(best, s.polish(best))
	r.Work = work + more

	r.Bound = max(r.Bound, s.relax(best, r.Bound))
	r.Proved = best.isOptimal(r.Bound)
	if !r.Proved {
		if best, r.Proved = s.searchAll(best); r.Proved {
			r.Bound = best.time
		}
	}

	if straight, changed := s.straighten(best); changed {
		r.Moved = differences(best.labels[:len(p.Nodes)], straight.labels)
		r.Proved = false
		best = straight
	}
	r.Labels, r.Seconds, r.Over = best.labels, best.time, g.overs(best.labels)
	for i := range p.Steps {
		r.Steps = append(r.Steps, s.clock.step(best.labels, i))
	}
	return r
}

// differences returns the nodes whose labels are not the same.
func differences(a, b []int32) []int32 {
	var list []int32
	for x := range a {
		if a[x] != b[x] {
			list = append(list, int32(x))
		}
	}
	return list
}

// solver has what the steps of the search share.
type solver struct {
	ctx   context.Context
	g     *graph
	clock *clock
}

// solution is an assignment and how good it is.
type solution struct {
	labels []int32
	over   int64   // bytes of leaves beyond the limits, in all spaces together
	time   float64 // weighted, of all steps; Never if the assignment is not legal or makes a copy that is not allowed
}

// judge returns the solution that an assignment is.
func (s *solver) judge(labels []int32) solution {
	f := solution{labels: labels, time: s.clock.total(labels)}
	if f.time >= broken || !s.g.legal(labels) {
		f.time = Never
	}
	for _, n := range s.g.overs(labels) {
		f.over += n
	}
	return f
}

// compare orders solutions by excess, and then by time, the least first.
func compare(a, b solution) int {
	return cmp.Or(cmp.Compare(a.over, b.over), cmp.Compare(a.time, b.time))
}

// better returns the better one of two solutions, the first one if they are equally good.
func better(a, b solution) solution {
	if compare(b, a) < 0 {
		return b
	}
	return a
}

// fits reports whether the assignment keeps all limits and can run.
func (f solution) fits() bool { return f.over == 0 && f.time < Never }

// isOptimal reports whether a lower bound proves that no solution is better.
func (f solution) isOptimal(bound float64) bool { return f.over == 0 && !shorter(bound, f.time) }

// judgeStarts judges the given assignments, with labels repaired that are not allowed, and returns their times: Never
// for an assignment that is not valid as it is given.
func (s *solver) judgeStarts(starts [][]int32) (found []solution, times []float64) {
	times = make([]float64, len(starts))
	for i, start := range starts {
		labels, changed := s.g.repair(start)
		f := s.judge(labels)
		found = append(found, f)
		times[i] = f.time
		if changed || f.over > 0 {
			times[i] = Never
		}
	}
	return found, times
}

// fewBases is the number of solutions from which makeFit starts.
const fewBases = 3

// makeFit moves leaves out of full spaces, in all orders of eviction, in the fastest of the solutions that do not
// fit. It returns the solutions that it makes, and the work.
func (s *solver) makeFit(found []solution) (fitting []solution, work int) {
	bases := slices.DeleteFunc(slices.Clone(found), func(f solution) bool { return f.over == 0 })
	slices.SortStableFunc(bases, func(a, b solution) int { return cmp.Compare(a.time, b.time) })
	for _, b := range bases[:min(fewBases, len(bases))] {
		if s.ctx.Err() != nil {
			break
		}
		for _, by := range evictions {
			st := newState(s.g, b.labels)
			st.evict(by)
			work += st.work
			fitting = append(fitting, s.judge(st.labels))
		}
	}
	return fitting, work
}

// fewImproved is the number of solutions that are improved by moves.
const fewImproved = 4

// improve improves the best solutions by moves, and returns the best of all and the work. It ends when a lower bound
// proves that the best is optimal, or when the work reaches the limit. Each descent may use half of the work that is
// left, so that one that does not end leaves work for the next.
func (s *solver) improve(found []solution, bound float64, limit int) (best solution, work int) {
	slices.SortStableFunc(found, compare)
	found = slices.CompactFunc(found, func(a, b solution) bool { return slices.Equal(a.labels, b.labels) })
	best = found[0]
	for _, f := range found[:min(fewImproved, len(found))] {
		half := (limit - work) / 2
		if half <= 0 || best.isOptimal(bound) || s.ctx.Err() != nil {
			break
		}
		labels, used := s.g.descend(s.ctx, f.labels, half)
		work += used
		best = better(best, s.judge(labels))
	}
	return best, work
}

// relax returns the bound of a relaxation, or 0 if it would be of no use: the best solution is optimal or not legal,
// or the other bounds are as good because nothing overlaps and memory has no limits.
func (s *solver) relax(best solution, bound float64) float64 {
	limited := slices.ContainsFunc(s.g.Limits, func(n int64) bool { return n >= 0 })
	if s.g.serial && !limited || best.time == Never || best.isOptimal(bound) {
		return 0
	}
	return s.g.relaxedBound(s.ctx, best.time)
}

// searchAll searches a small problem completely. It returns the best solution that it finds or the given one, and
// whether it is proved to be the best of all.
func (s *solver) searchAll(best solution) (found solution, proved bool) {
	time := best.time
	if !best.fits() {
		time = Never
	}
	labels, time, proved := s.g.searchAll(best.labels, time)
	if time >= broken {
		return best, false
	}
	return solution{labels: labels, time: time}, proved
}
