package mem

import (
	"cmp"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// rise looks for a packing within a capacity by placing block after block at the lowest offset that is still open to
// it, from the bottom of memory upwards. In some packing of every problem that has one no block can fall, and such a
// packing can be built by placing blocks in the order of their offsets.
//
// Three blocks, with a capacity of 5: a lives in sections 0 and 1, b in section 0, c in section 1.
//
//	place b at 0     lowest offsets: a 3, c 0
//	place c at 0     lowest offsets: a 3
//	place a at 3     ends at 5: a packing
//
//	5 ┌─────┬─────┐
//	  │  a     a  │
//	3 ├─────┼─────┤
//	  │  b  │  c  │
//	0 └─────┴─────┘
//
// Placing a first would lead to a packing as well: a at 0, then b and c at 2.
//
// The method is MiniMalloc's (Moffitt, "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine
// Learning", ASPLOS 2023), which builds on TelaMalloc's (Maas et al., ASPLOS 2023). The techniques that keep it from
// trying all orders:
//
//   - canonical: offsets never decrease from one placement to the next, and equal ones follow the preference order
//   - dominance: no block is placed so high that another one fits below it entirely
//   - floor: in each section what is left has to fit above the lowest offset that is open there, and above the last
//     placement
//   - fit: likewise, but each block counts from its own lowest offset
//   - decompose: where no unplaced block spans a point of time any more, the two sides are solved separately, each with a
//     preference order of its own
//
// A preference order decides what is tried first; runs differ in it (see riseOrders).
type rise struct {
	in       *instance
	capacity int64
	use      Techniques
	partial  *partial
	effort   effort
}

// property is a number by which blocks are preferred, larger ones first.
type property uint8

const (
	byTotal  property = iota // the largest sum of sizes left in a section of the block
	byLength                 // the time that it lives
	byArea                   // size times length
	bySize
	numProperties
)

// riseOrders are the preference orders, most significant property first, that runs take in turn. The tightest time
// first, then the longest life, solves most public problems alone. Each of the others solves some that it does not. The
// first three are MiniMalloc's defaults.
var riseOrders = [][]property{
	{byTotal, byLength, byArea},
	{byTotal, byArea, byLength},
	{byLength, byArea, byTotal},
	{byTotal, bySize, byLength},
	{byArea, byTotal, byLength},
}

// riseRun is what makes one run differ from another.
type riseRun struct {
	order  []property
	shaken []float64 // by block: a factor of its properties, 1 or more
	fit    bool      // the run uses Fit
}

// part is the blocks that are left in sections [from,to), in the order of preference.
type part struct {
	blocks   []int32
	from, to int32
}

// newRise prepares a search; the instance is only read.
func newRise(in *instance, capacity int64, use Techniques, halt func() bool) *rise {
	return &rise{in: in, capacity: capacity, use: use, partial: newPartial(in), effort: effort{halt: halt}}
}

// work returns how many blocks were looked at.
func (r *rise) work() int64 { return r.partial.work }

// run searches with one of the preference orders within a number of steps. Iterations, from 1, have the lengths of
// Luby's sequence. It returns the offsets if it finds a packing.
func (r *rise) run(order, iteration, steps int64) (outcome, []int64) {
	r.effort.left = steps
	r.partial.clearLows()
	if slices.ContainsFunc(r.partial.rest, func(sum int64) bool { return sum > r.capacity }) {
		return failed, nil
	}
	all := make([]int32, len(r.in.blocks))
	for i := range all {
		all[i] = int32(i)
	}
	run := r.newRun(order, iteration)
	return r.solvePart(&run, part{all, 0, int32(len(r.in.members))}), r.partial.offset
}

// newRun determines an iteration with a preference order. An iteration that is longer than any before takes the order
// as it is; the others shake it. Fit is on in every other iteration of both kinds.
func (r *rise) newRun(order, iteration int64) riseRun {
	run := riseRun{order: riseOrders[order], shaken: make([]float64, len(r.in.blocks))}
	longest := iteration&(iteration+1) == 0
	turn := order + iteration
	if longest {
		turn = order + int64(bits.Len64(uint64(iteration)))
	}
	run.fit = r.use.has(Fit) && turn%2 == 0
	rng := rand.New(rand.NewPCG(uint64(iteration), 1))
	for i := range run.shaken {
		run.shaken[i] = 1
		if !longest && r.use.has(Shake) {
			run.shaken[i] += rng.Float64()
		}
	}
	return run
}

// solvePart brings the blocks of a part into the order of preference and solves it.
func (r *rise) solvePart(run *riseRun, p part) outcome {
	if r.use.has(Preorder) {
		p.blocks = r.preferred(run, p.blocks)
	}
	return r.solve(run, p, 0, 0)
}

// preferred returns blocks in the order of preference.
func (r *rise) preferred(run *riseRun, blocks []int32) []int32 {
	type scored struct {
		block  int32
		scores [numProperties]float64
	}
	list := make([]scored, len(blocks))
	for i, b := range blocks {
		list[i] = scored{b, r.scores(b, run.shaken[b])}
	}
	slices.SortFunc(list, func(a, b scored) int {
		for _, p := range run.order {
			if c := cmp.Compare(b.scores[p], a.scores[p]); c != 0 {
				return c
			}
		}
		return cmp.Compare(a.block, b.block)
	})
	out := make([]int32, len(list))
	for i := range list {
		out[i] = list[i].block
	}
	return out
}

// scores returns the properties of a block, shaken by a factor.
func (r *rise) scores(b int32, shaken float64) [numProperties]float64 {
	k := r.in.blocks[b]
	length, total := shaken*float64(k.length), int64(0)
	for _, t := range k.live {
		total = max(total, r.partial.rest[t])
	}
	size := float64(k.size)
	return [numProperties]float64{byTotal: float64(total), byLength: length, byArea: length * size, bySize: shaken * size}
}

// solve finds offsets for the blocks of a part that are not placed yet: the next one at or above offset, and at offset
// only one that is at or after rank in the part. All placements are taken back; the offsets that were found stay in
// r.partial.
func (r *rise) solve(run *riseRun, p part, offset int64, rank int) outcome {
	next, done := r.candidates(p, offset, rank)
	if done {
		return solved
	}
	most := slices.Max(r.partial.rest[p.from:p.to])
	for _, rank := range next {
		b := p.blocks[rank]
		if r.use.has(Floor) && r.use.has(Canonical) && r.partial.low[b]+most > r.capacity {
			break // the fullest section does not fit above, nor above any later candidate
		}
		if !r.effort.spend() {
			return stopped
		}
		mark, got := r.partial.mark(), failed
		if touched := r.partial.place(b); r.allFit(run, touched, r.partial.low[b]) {
			got = r.descend(run, p, rank)
		}
		r.partial.takeBack(b, mark)
		if got != failed {
			return got
		}
	}
	return failed
}

// candidates returns the blocks that may be placed next, as ranks in the part, lowest first; done where all are placed.
func (r *rise) candidates(p part, offset int64, rank int) (next []int, done bool) {
	low, canonical := r.partial.low, r.use.has(Canonical)
	ceiling, done := int64(math.MaxInt64), true
	for _, b := range p.blocks {
		if !r.partial.placed[b] {
			done = false
			lowest := low[b]
			if canonical {
				lowest = max(lowest, offset)
			}
			ceiling = min(ceiling, lowest+r.in.blocks[b].size)
		}
	}
	for i, b := range p.blocks {
		switch {
		case r.partial.placed[b],
			canonical && r.use.has(Dominance) && low[b] >= ceiling,
			canonical && (low[b] < offset || low[b] == offset && i < rank):
		default:
			next = append(next, i)
		}
	}
	slices.SortFunc(next, func(i, j int) int {
		return cmp.Or(cmp.Compare(low[p.blocks[i]], low[p.blocks[j]]), cmp.Compare(i, j))
	})
	return next, done
}

// descend continues after the block of a rank was placed: with each side separately where it was the last block that
// spanned both.
func (r *rise) descend(run *riseRun, p part, rank int) outcome {
	b := p.blocks[rank]
	k := r.in.blocks[b]
	var cuts []int32
	if r.use.has(Decompose) {
		for t := k.from; t+1 < k.to; t++ {
			if r.partial.spans[t] == 0 {
				cuts = append(cuts, t+1)
			}
		}
	}
	if len(cuts) == 0 {
		return r.solve(run, p, r.partial.low[b], rank)
	}
	from := p.from
	for _, to := range append(cuts, p.to) {
		if side := r.within(p.blocks, from, to); len(side.blocks) > 0 {
			if got := r.solvePart(run, side); got != solved {
				return got
			}
		}
		from = to
	}
	return solved
}

// within returns the part of the unplaced blocks whose lives are in sections [from,to).
func (r *rise) within(blocks []int32, from, to int32) part {
	p := part{from: from, to: to}
	for _, b := range blocks {
		if k := &r.in.blocks[b]; !r.partial.placed[b] && k.from < to && from < k.to {
			p.blocks = append(p.blocks, b)
		}
	}
	return p
}

// allFit reports whether what is left of each of some sections fits, where the last placement was at an offset.
func (r *rise) allFit(run *riseRun, sections []int32, offset int64) bool {
	if !r.use.has(Canonical) {
		offset = 0 // the next placement may be lower
	}
	for _, t := range sections {
		if r.end(run, t, offset) > r.capacity {
			return false
		}
	}
	return true
}

// end returns a height that the rest of a section needs at least, if nothing more is placed below an offset.
func (r *rise) end(run *riseRun, t int32, offset int64) int64 {
	if r.partial.rest[t] == 0 {
		return r.partial.floor[t]
	}
	r.partial.work += int64(len(r.in.members[t]))
	switch {
	case run.fit:
		return r.partial.stacked(t, offset)
	case r.use.has(Floor):
		return max(r.partial.floor[t], r.partial.lowest(t), offset) + r.partial.rest[t]
	}
	return r.partial.floor[t]
}
