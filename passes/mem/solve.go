package mem

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// Options bound the effort of Solve.
type Options struct {
	// MaxSteps is the number of decisions that the search may try; 0 means
	// DefaultSteps, a negative number no search at all.
	MaxSteps int64

	// Capacity is the height that is enough; 0 asks for the lowest packing that is found.
	Capacity int64

	// Without has the techniques that are switched off, to see what they are worth.
	Without Techniques
}

// DefaultSteps is the search's budget where none is given: a step takes 2 to 30 µs on the
// public problems of 150 to 450 buffers, so two seconds at most.
const DefaultSteps = 1 << 16

// maxSearched is the most buffers of one connected part that the search takes: its
// memory grows with the square.
const maxSearched = 4096

// Stats says how a solution was found and how good it can be.
type Stats struct {
	Bound       int64 // no packing is lower: largest sum of sizes live at once
	Setters     []int // indices of the buffers that set Bound, largest first
	Greedy      int64 // height of the best greedy packing
	GreedyOrder string
	Steps       int64 // decisions tried by the search
	Restarts    int64
	Cancelled   bool // the context ended the search: another run may find another packing

	// Proved is set where the search has shown that no packing is lower than the
	// solution, or, with a capacity, that none fits; a height equal to Bound needs no
	// such proof.
	Proved bool
}

// CapacityError says that no packing within the capacity was found.
type CapacityError struct {
	Capacity, Bound, Best int64
	Proved                bool // that there is none
}

// Error says what is missing.
func (e *CapacityError) Error() string {
	switch {
	case e.Bound > e.Capacity:
		return fmt.Sprintf("capacity %d: buffers that live at the same time need %d", e.Capacity, e.Bound)
	case e.Proved:
		return fmt.Sprintf("capacity %d: no packing exists; the best one found needs %d", e.Capacity, e.Best)
	}
	return fmt.Sprintf("capacity %d: the best packing found needs %d (bound %d); more steps may find a better one", e.Capacity, e.Best, e.Bound)
}

// Solve packs the buffers of p. The packing returned is the best one found, greedy ones
// included, and valid even where the error is a [*CapacityError]; other errors mean that
// the problem itself is wrong. Equal arguments give equal results unless ctx ends first.
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
		a := newAttempt(p, part, best.Offsets)
		a.ctx, a.use, a.steps, a.stats = ctx, allTechniques&^opts.Without, steps, stats
		proved = a.search(goal, opts.Capacity > 0) && proved
		steps = a.steps
		for k, i := range part {
			best.Offsets[i] = a.best.Offsets[k]
		}
	}
	best.Height = p.height(best.Offsets)
	stats.Proved = proved && best.Height > goal
}

// parts returns the buffers of p with a size, cut where no buffer spans the cut.
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

// attempt improves the packing of one part within a budget.
type attempt struct {
	ctx   context.Context
	use   Techniques
	p     Problem
	in    *instance // of p
	best  Solution
	steps int64 // left
	stats *Stats
}

// newAttempt returns the attempt to improve the offsets of some of the buffers of p.
func newAttempt(p Problem, part []int, offsets []int64) *attempt {
	sub := Problem{Buffers: make([]Buffer, len(part))}
	own := make([]int64, len(part))
	for k, i := range part {
		sub.Buffers[k], own[k] = p.Buffers[i], offsets[i]
	}
	return &attempt{p: sub, best: Solution{own, sub.height(own)}}
}

// search looks for a packing as low as goal, and, unless nothing above it is wanted, for
// the lowest one above it. It reports whether it proved that there is none.
func (a *attempt) search(goal int64, only bool) (proved bool) {
	a.in = newInstance(a.p)
	if only {
		return a.try(goal, a.steps)
	}
	return a.minimise(goal)
}

// minimise lowers the packing as far as goal, in rounds of growing budgets. It reports
// whether it proved that the packing cannot be lower.
func (a *attempt) minimise(goal int64) (proved bool) {
	proven := goal // no packing below it, or none is wanted
	for round := int64(DefaultSteps); proven < a.best.Height && a.steps > 0 && !a.stats.Cancelled; round = min(4*round, 1<<50) {
		proven = a.approach(proven, min(round, a.steps))
	}
	return a.best.Height <= proven
}

// approach tries capacities within a number of steps, which is at most what is left: first
// the goal itself, which is where the lowest packing usually lies, then by bisection with
// half of what is left each time. It returns the height below which there is no packing
// or none is wanted.
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

// try searches for a packing within a capacity and reports whether it proved that there
// is none.
func (a *attempt) try(capacity, steps int64) (impossible bool) {
	f := newPortfolio(a.in, capacity, a.use, func() bool { return a.ctx.Err() != nil })
	got := f.run(steps)
	a.steps -= steps - f.steps
	a.stats.Steps += steps - f.steps
	a.stats.Restarts += f.restarts
	if got == solved {
		a.best = Solution{slices.Clone(f.offsets), a.p.height(f.offsets)}
	}
	a.stats.Cancelled = a.stats.Cancelled || got == stopped && a.ctx.Err() != nil
	return got == failed
}
