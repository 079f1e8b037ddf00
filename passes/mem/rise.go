package mem

import (
	"cmp"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// rise looks for a packing within one capacity by placing block after block at the lowest
// offset that is still open to it, from the bottom of memory upwards.
//
// The method is MiniMalloc's (Moffitt, "MiniMalloc: A Lightweight Memory Allocator for
// Hardware-Accelerated Machine Learning", ASPLOS 2023), which builds on TelaMalloc's (Maas
// et al., ASPLOS 2023). In some packing of every problem that has one no block can fall,
// and such a packing can be built by placing blocks in the order of their offsets. So:
//
//   - canonical: offsets never decrease from one placement to the next, and equal ones
//     follow the preference order;
//   - dominance: no block is placed so high that another one fits below it entirely;
//   - floor: in each section what is left must fit above the lowest offset that is open
//     there, and above the last placement;
//   - fit: likewise, but each block counts from its own lowest offset;
//   - decompose: where no unplaced block spans a point of time any more, the two sides are
//     solved by themselves, each with an order of its own.
//
// What is tried first is a preference order; runs differ in it (see riseOrders).
type rise struct {
	*instance
	capacity int64
	use      Techniques
	order    []property // the preference order, most significant first
	fit      bool       // this run uses Fit

	low    []int64 // by block: the lowest offset that is open
	placed []bool
	offset []int64 // by block: where it was placed last
	floor  []int64 // by section: the end of what is placed there
	rest   []int64 // by section: sum of the sizes of what is not placed
	spans  []int32 // by section: unplaced blocks whose lives go on into the next one
	sorted [][]int32
	rank   []int32 // by block: its position in the preference order of its part
	scores [][numProperties]float64
	shaken []float64 // by block: a factor, 1 or more

	undone []riseChange
	pool   []int32 // candidates of all nodes on the path
	dirty  []int32
	marked []bool

	halt  func() bool
	tried int64
	work  int64 // blocks of sections looked at: what time goes into
	left  int64
}

// riseChange is what taking back a placement restores.
type riseChange struct {
	index int32
	floor bool // of a section; otherwise low of a block
	old   int64
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

// riseOrders are the preference orders that runs take in turn. The tightest time first,
// then the longest-lived, solves most public problems alone; each of the others solves
// some that it does not. The first three are MiniMalloc's defaults.
var riseOrders = [][]property{
	{byTotal, byLength, byArea},
	{byTotal, byArea, byLength},
	{byLength, byArea, byTotal},
	{byTotal, bySize, byLength},
	{byArea, byTotal, byLength},
}

// newRise prepares a search; the instance is only read.
func newRise(in *instance, capacity int64, use Techniques) *rise {
	n, sections := len(in.blocks), len(in.members)
	r := &rise{
		instance: in, capacity: capacity, use: use,
		low: make([]int64, n), placed: make([]bool, n), offset: make([]int64, n), rank: make([]int32, n),
		scores: make([][numProperties]float64, n), shaken: make([]float64, n),
		floor: make([]int64, sections), rest: make([]int64, sections), spans: make([]int32, sections),
		sorted: cloneLists(in.members), marked: make([]bool, sections),
	}
	for _, b := range in.blocks {
		r.account(b, 1)
	}
	return r
}

// account adds a block to what is left in its sections, or takes it away.
func (r *rise) account(b block, sign int32) {
	for _, t := range b.live {
		r.rest[t] += int64(sign) * b.size
	}
	for t := b.from; t+1 < b.to; t++ {
		r.spans[t] += sign
	}
}

// run searches with one of the preference orders within a number of steps. Rounds, from 1,
// have the lengths of Luby's sequence. Those that are longer than any before take the
// order as it is, the others shake it; fit takes turns among both.
func (r *rise) run(order, round, steps int64) outcome {
	longest := round&(round+1) == 0
	r.order = riseOrders[order]
	r.fit = r.use.has(Fit) && (order+round)%2 == 0
	if longest {
		r.fit = r.use.has(Fit) && (order+int64(bits.Len64(uint64(round))))%2 == 0
	}
	r.shake(round, !longest && r.use.has(Shake))
	r.left = steps
	all := make([]int32, len(r.blocks))
	for i := range all {
		all[i], r.low[i] = int32(i), 0
	}
	if slices.ContainsFunc(r.rest, func(sum int64) bool { return sum > r.capacity }) {
		return failed
	}
	return r.part(all, 0, int32(len(r.members)))
}

// shake draws the factor by which each block's properties are multiplied.
func (r *rise) shake(round int64, differ bool) {
	rng := rand.New(rand.NewPCG(uint64(round), 1))
	for i := range r.shaken {
		r.shaken[i] = 1
		if differ {
			r.shaken[i] += rng.Float64()
		}
	}
}

// part solves blocks that are all there is in sections [from, to).
func (r *rise) part(blocks []int32, from, to int32) outcome {
	blocks = slices.Clone(blocks)
	if r.use.has(Preorder) {
		for _, b := range blocks {
			r.score(b)
		}
		slices.SortFunc(blocks, r.prefer)
	}
	outer := make([]int32, len(blocks))
	for i, b := range blocks {
		outer[i], r.rank[b] = r.rank[b], int32(i)
	}
	got := r.solve(blocks, from, to, 0, 0)
	for i, b := range blocks {
		r.rank[b] = outer[i]
	}
	return got
}

func (r *rise) score(b int32) {
	k := r.blocks[b]
	length, total := r.shaken[b]*float64(k.length), int64(0)
	for _, t := range k.live {
		total = max(total, r.rest[t])
	}
	r.scores[b] = [numProperties]float64{
		byTotal: float64(total), byLength: length, byArea: length * float64(k.size),
		bySize: r.shaken[b] * float64(k.size),
	}
}

func (r *rise) prefer(a, b int32) int {
	for _, p := range r.order {
		if c := cmp.Compare(r.scores[b][p], r.scores[a][p]); c != 0 {
			return c
		}
	}
	return cmp.Compare(a, b)
}

// solve finds offsets for the blocks of a part that are not placed yet, which are in the
// order of preference: the next one at or above offset, at offset only from rank on. All
// placements are taken back; what was found stays in r.offset.
func (r *rise) solve(blocks []int32, from, to int32, offset int64, rank int32) outcome {
	base := len(r.pool)
	defer func() { r.pool = r.pool[:base] }()
	done := r.candidates(blocks, offset, rank)
	if done {
		return solved
	}
	next := r.pool[base:]
	var most int64
	for _, sum := range r.rest[from:to] {
		most = max(most, sum)
	}
	for _, b := range next {
		if r.use.has(Floor) && r.use.has(Canonical) && r.low[b]+most > r.capacity {
			break // the fullest section does not fit above, nor above any later candidate
		}
		if r.left--; r.left < 0 || r.tried%1024 == 1023 && r.halt() {
			return stopped
		}
		r.tried++
		mark, got := len(r.undone), failed
		if r.place(b) {
			got = r.descend(blocks, b, from, to)
		}
		r.takeBack(b, mark)
		if got != failed {
			return got
		}
	}
	return failed
}

// candidates appends the blocks that may be placed next to the pool, lowest first; done
// where all are placed.
func (r *rise) candidates(blocks []int32, offset int64, rank int32) (done bool) {
	base := len(r.pool)
	ceiling, done := int64(math.MaxInt64), true
	for _, b := range blocks {
		if !r.placed[b] {
			done = false
			ceiling = min(ceiling, r.lowest(b, offset)+r.blocks[b].size)
		}
	}
	for _, b := range blocks {
		switch {
		case r.placed[b],
			r.use.has(Dominance|Canonical) && r.low[b] >= ceiling,
			r.use.has(Canonical) && (r.low[b] < offset || r.low[b] == offset && r.rank[b] < rank):
		default:
			r.pool = append(r.pool, b)
		}
	}
	slices.SortFunc(r.pool[base:], func(b, c int32) int {
		return cmp.Or(cmp.Compare(r.low[b], r.low[c]), cmp.Compare(r.rank[b], r.rank[c]))
	})
	return done
}

// lowest returns the lowest offset that a block can still have where none below offset
// may be used.
func (r *rise) lowest(b int32, offset int64) int64 {
	if !r.use.has(Canonical) {
		return r.low[b]
	}
	return max(r.low[b], offset)
}

// place puts b at its lowest open offset; false where something does not fit any more.
func (r *rise) place(b int32) bool {
	k := r.blocks[b]
	r.placed[b], r.offset[b] = true, r.low[b]
	r.account(k, -1)
	end := r.low[b] + k.size
	for _, t := range k.live {
		r.undone = append(r.undone, riseChange{t, true, r.floor[t]})
		r.floor[t] = max(r.floor[t], end)
		r.touch(t)
	}
	for _, c := range r.meets[b] {
		if r.placed[c] || r.low[c] >= end {
			continue
		}
		r.undone = append(r.undone, riseChange{c, false, r.low[c]})
		r.low[c] = alignUp(end, r.blocks[c].align)
		for _, t := range r.blocks[c].live {
			r.touch(t)
		}
	}
	return r.checkTouched(r.low[b])
}

func (r *rise) touch(t int32) {
	if !r.marked[t] {
		r.marked[t] = true
		r.dirty = append(r.dirty, t)
	}
}

func (r *rise) checkTouched(offset int64) bool {
	ok := true
	for _, t := range r.dirty {
		r.marked[t] = false
		ok = ok && r.fits(t, offset)
	}
	r.dirty = r.dirty[:0]
	return ok
}

// fits reports whether what is left of a section fits above its floor.
func (r *rise) fits(t int32, offset int64) bool {
	if r.rest[t] == 0 {
		return r.floor[t] <= r.capacity
	}
	if !r.use.has(Canonical) {
		offset = 0
	}
	r.work += int64(len(r.members[t]))
	if r.fit {
		return r.stack(t, offset) <= r.capacity
	}
	if !r.use.has(Floor) {
		return r.floor[t] <= r.capacity
	}
	lowest := int64(math.MaxInt64)
	for _, b := range r.members[t] {
		if !r.placed[b] {
			lowest = min(lowest, r.low[b])
		}
	}
	return max(r.floor[t], lowest, offset)+r.rest[t] <= r.capacity
}

// stack returns the end of what is left of a section when it is stacked by the lowest open
// offsets.
func (r *rise) stack(t int32, offset int64) int64 {
	list := r.sorted[t]
	insertionSort(list, func(b int32) int64 { return r.low[b] })
	end := offset
	for _, b := range list {
		if !r.placed[b] {
			end = max(end, r.low[b]) + r.blocks[b].size
		}
	}
	return end
}

func (r *rise) takeBack(b int32, mark int) {
	for _, c := range slices.Backward(r.undone[mark:]) {
		if c.floor {
			r.floor[c.index] = c.old
		} else {
			r.low[c.index] = c.old
		}
	}
	r.undone = r.undone[:mark]
	r.placed[b] = false
	r.account(r.blocks[b], 1)
}

// descend goes on after b was placed: with each side by itself where b was the last block
// that held two sides together.
func (r *rise) descend(blocks []int32, b int32, from, to int32) outcome {
	var cuts []int32
	if r.use.has(Decompose) {
		for t := r.blocks[b].from; t+1 < r.blocks[b].to; t++ {
			if r.spans[t] == 0 {
				cuts = append(cuts, t+1)
			}
		}
	}
	if len(cuts) == 0 {
		return r.solve(blocks, from, to, r.low[b], r.rank[b])
	}
	for _, end := range append(cuts, to) {
		if part := r.within(blocks, from, end); len(part) > 0 {
			if got := r.part(part, from, end); got != solved {
				return got
			}
		}
		from = end
	}
	return solved
}

// within returns the unplaced blocks whose lives are in sections [from, to).
func (r *rise) within(blocks []int32, from, to int32) (part []int32) {
	for _, b := range blocks {
		if !r.placed[b] && r.blocks[b].from < to && from < r.blocks[b].to {
			part = append(part, b)
		}
	}
	return part
}
