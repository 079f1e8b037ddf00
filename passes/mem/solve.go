package mem

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// Options bound the effort of Solve.
type Options struct {
	// MaxSteps is the number of decisions that the searches may try; 0 means DefaultSteps, a negative number no search.
	MaxSteps int64

	// Capacity is a height that is low enough; 0 asks for the lowest packing that can be found.
	Capacity int64

	// Without is the techniques that are switched off, to measure what they are worth.
	Without Techniques
}

// DefaultSteps is the budget of the searches where none is given: a second or two for parts of 450 buffers.
const DefaultSteps = 1 << 16

// maxSearched is the most buffers of one connected part that are searched: memory grows with the square.
const maxSearched = 4096

// Stats describes how a solution was found and how good it can be.
type Stats struct {
	Bound       int64 // the height that no packing is below
	Setters     []int // indices of the buffers that set Bound, largest first
	Greedy      int64 // height of the best greedy packing
	GreedyOrder string
	Steps       int64 // decisions that the searches tried
	Restarts    int64
	Cancelled   bool // the context ended the search: another run may find another packing

	// Proved is set where a search has shown that no packing is lower than the solution, or, with a capacity, that none
	// fits. A height equal to Bound needs no such proof.
	Proved bool
}

// CapacityError reports that no packing within the capacity was found.
type CapacityError struct {
	Capacity, Bound, Best int64
	Proved                bool // that there is none
}

// Error describes the heights that would be needed.
func (e *CapacityError) Error() string {
	switch {
	case e.Bound > e.Capacity:
		return fmt.Sprintf("capacity %d: buffers that live at the same time need %d", e.Capacity, e.Bound)
	case e.Proved:
		return fmt.Sprintf("capacity %d: no packing exists; the best one found needs %d", e.Capacity, e.Best)
	}
	return fmt.Sprintf("capacity %d: the best packing found needs %d (bound %d); more steps may find a better one", e.Capacity, e.Best, e.Bound)
}

// Solve packs the buffers of p. The packing is the best one that was found, greedy ones included, and valid even where
// the error is a [*CapacityError]. Other errors mean that the problem itself is wrong. Equal arguments give equal
// results unless ctx ends first.
func Solve(ctx context.Context, p Problem, opts Options) (Solution, Stats, error) {
	if err := p.Check(); err != nil {
		return Solution{}, Stats{}, err
	}
	var stats Stats
	stats.Bound, stats.Setters = Bound(p)
	best, name := greedy(p, stats.Bound)
	stats.Greedy, stats.GreedyOrder = best.Height, name

	goal := stats.Bound
	if opts.Capacity > 0 {
		goal = max(goal, opts.Capacity)
	}
	if opts.Capacity == 0 || stats.Bound <= opts.Capacity {
		improve(ctx, p, &best, goal, opts, &stats)
	}
	if opts.Capacity > 0 && best.Height > opts.Capacity {
		return best, stats, &CapacityError{opts.Capacity, stats.Bound, best.Height, stats.Proved}
	}
	return best, stats, nil
}

// budget returns the number of decisions that the searches may try.
func budget(opts Options) int64 {
	if opts.MaxSteps == 0 {
		return DefaultSteps
	}
	return max(opts.MaxSteps, 0)
}

// improve searches each independent part of p that is higher than goal.
func improve(ctx context.Context, p Problem, best *Solution, goal int64, opts Options, stats *Stats) {
	if best.Height <= goal {
		return
	}
	proved, steps := true, budget(opts)
	for _, part := range parts(p) {
		if p.heightOf(part, best.Offsets) <= goal {
			continue
		}
		if len(part) > maxSearched || steps == 0 {
			proved = false
			continue
		}
		a := newAttempt(ctx, p.of(part), opts, steps, stats)
		for k, i := range part {
			a.best.Offsets[k] = best.Offsets[i]
		}
		a.best.Height = a.p.height(a.best.Offsets)
		if opts.Capacity > 0 {
			proved = a.try(goal, steps) && proved
		} else {
			proved = a.minimise(goal) && proved
		}
		steps = a.steps
		for k, i := range part {
			best.Offsets[i] = a.best.Offsets[k]
		}
	}
	best.Height = p.height(best.Offsets)
	stats.Proved = proved && best.Height > goal
}

// parts returns the indices of the buffers with a size, divided at each instant that no life spans. With lives 0–2, 1–3
// and 3–5 there are two parts: the first two buffers, and the last one.
func parts(p Problem) (parts [][]int) {
	idx := order(len(p.Buffers), func(i, j int) int { return cmp.Compare(p.Buffers[i].Lower, p.Buffers[j].Lower) })
	idx = slices.DeleteFunc(idx, func(i int) bool { return p.Buffers[i].Size == 0 })
	var end int64
	for _, i := range idx {
		b := p.Buffers[i]
		if len(parts) == 0 || b.Lower >= end {
			parts = append(parts, nil)
			end = b.Upper
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], i)
		end = max(end, b.Upper)
	}
	return parts
}

// heightOf returns the largest offset + size of some of the buffers.
func (p Problem) heightOf(part []int, offsets []int64) int64 {
	var h int64
	for _, i := range part {
		h = max(h, offsets[i]+p.Buffers[i].Size)
	}
	return h
}

// of returns the problem of some of the buffers.
func (p Problem) of(part []int) Problem {
	sub := Problem{Buffers: make([]Buffer, len(part))}
	for k, i := range part {
		sub.Buffers[k] = p.Buffers[i]
	}
	return sub
}

// attempt improves the packing of one part within a budget.
type attempt struct {
	ctx   context.Context
	use   Techniques
	p     Problem
	in    *instance // of p
	best  Solution
	steps int64  // that are left
	stats *Stats // of all parts
}

// newAttempt returns an attempt whose best packing is not set yet.
func newAttempt(ctx context.Context, p Problem, opts Options, steps int64, stats *Stats) *attempt {
	return &attempt{
		ctx: ctx, use: allTechniques &^ opts.Without, p: p, in: newInstance(p),
		best: Solution{Offsets: make([]int64, len(p.Buffers))}, steps: steps, stats: stats,
	}
}

// minimise lowers the packing as far as goal, in iterations with growing budgets. It reports whether it proved that the
// packing cannot be lower.
func (a *attempt) minimise(goal int64) (proved bool) {
	proven := goal // no packing below it, or none is wanted
	for steps := int64(DefaultSteps); proven < a.best.Height && a.steps > 0 && !a.stats.Cancelled; steps = min(4*steps, 1<<50) {
		proven = a.approach(proven, min(steps, a.steps))
	}
	return a.best.Height <= proven
}

// approach tries capacities within a number of steps, which is at most what is left: first the goal itself, which is
// mostly the height of the lowest packing, then by bisection with half of what is left each time. It returns the height
// below which there is no packing or none is wanted.
//
// With a goal of 100 and a packing of height 180, it tries 100; if that fails within half of the steps, 101 + 79/2 =
// 140; if a packing of 132 is found there, 101 + 31/2 = 116, and so on.
func (a *attempt) approach(goal, steps int64) (proven int64) {
	proven = goal
	end := a.steps - steps
	for low := goal; low < a.best.Height && a.steps > end && !a.stats.Cancelled; {
		capacity := low
		if low > goal {
			capacity = low + (a.best.Height-low)/2
		}
		left := a.steps - end
		if a.try(capacity, left-left/2) {
			proven = capacity + 1
		}
		if a.best.Height > capacity {
			low = capacity + 1
		}
	}
	return proven
}

// try searches for a packing within a capacity. It reports whether it proved that there is none.
func (a *attempt) try(capacity, steps int64) (impossible bool) {
	got := newPortfolio(a.in, capacity, a.use, func() bool { return a.ctx.Err() != nil }).run(steps)
	a.steps -= got.steps
	a.stats.Steps += got.steps
	a.stats.Restarts += got.restarts
	if got.outcome == solved {
		a.best = Solution{slices.Clone(got.offsets), a.p.height(got.offsets)}
	}
	a.stats.Cancelled = a.stats.Cancelled || got.outcome == stopped && a.ctx.Err() != nil
	return got.outcome == failed
}
