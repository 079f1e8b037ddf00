package mem

import (
	"cmp"
	"math"
	"slices"

	"github.com/ggmlc/ggmlc/passes/abreast"
)

// greedyOrder is one order in which greedy places buffers: that of their keys, smallest first,
// then of the problem.
type greedyOrder struct {
	name string
	key  func(*Buffer) [2]int64
}

// greedyOrders are the orders that Greedy tries. Size and area are the ones that the
// field uses for tensors; start is that of an allocator at run time.
var greedyOrders = []greedyOrder{
	{"size", func(b *Buffer) [2]int64 { return [2]int64{-b.Size, b.Lower - b.Upper} }},
	{"area", func(b *Buffer) [2]int64 {
		// Bits of floats that are not negative have their order.
		return [2]int64{-int64(math.Float64bits(float64(b.Size) * float64(b.Upper-b.Lower))), 0}
	}},
	{"length", func(b *Buffer) [2]int64 { return [2]int64{b.Lower - b.Upper, -b.Size} }},
	{"start", func(b *Buffer) [2]int64 { return [2]int64{b.Lower, -b.Size} }},
}

// maxLooks is the work after which greedy tries no further order: so many times a placed buffer
// had to be minded when another one was placed, which takes about 3 ns. Problems of some ten
// thousand buffers, of which hundreds live at once, have the first order alone; others are far
// below.
const maxLooks = 1 << 22

// Greedy places buffers one by one, each into the smallest gap that holds it among those
// placed before that live at the same time, in each of several orders, unless one of them
// takes very long. It returns the lowest packing and the name of its order, the first one
// that leads to it.
func Greedy(p Problem) (best Solution, orderName string) {
	var bound int64
	g := newGreedy(p, func() { bound, _ = peak(p) })
	return g.best(bound)
}

// greedy is Greedy with all that goes before the packing done.
type greedy struct {
	packer *packer
	first  []int // the first order
}

// newGreedy gets ready to pack p. Beside that, which takes a quarter of the time, it does also.
func newGreedy(p Problem, also func()) greedy {
	var g greedy
	abreast.Do(func() { g.first = p.sorted(greedyOrders[0]) }, func() { g.packer = newPacker(p) }, also)
	return g
}

// best is Greedy for a problem of that bound.
func (g *greedy) best(bound int64) (best Solution, orderName string) {
	best.Height = math.MaxInt64
	for i, o := range greedyOrders {
		idx := g.first
		if i > 0 {
			idx = g.packer.p.sorted(o)
		}
		if s, lower := g.packer.pack(idx, best.Height); lower {
			best, orderName = s, o.name
		}
		if best.Height <= bound || g.packer.looks > maxLooks {
			break // the others cannot be lower, or take too long
		}
	}
	return best, orderName
}

// sorted returns the buffers in the given order, fixed ones first.
func (p Problem) sorted(o greedyOrder) []int {
	type entry struct {
		key    [2]int64
		buffer int
	}
	list := make([]entry, 0, len(p.Buffers))
	for _, fixed := range []bool{true, false} {
		from := len(list)
		for i := range p.Buffers {
			if b := &p.Buffers[i]; b.Fixed == fixed {
				list = append(list, entry{o.key(b), i})
			}
		}
		slices.SortFunc(list[from:], func(a, b entry) int {
			switch {
			case a.key[0] != b.key[0]:
				return cmp.Compare(a.key[0], b.key[0])
			case a.key[1] != b.key[1]:
				return cmp.Compare(a.key[1], b.key[1])
			}
			return a.buffer - b.buffer
		})
	}
	idx := make([]int, len(list))
	for k := range list {
		idx[k] = list[k].buffer
	}
	return idx
}

// packer puts buffers into the smallest gap each.
type packer struct {
	p       Problem
	placed  *leases
	offsets []int64
	looks   int         // how many placed buffers others had to mind, in all orders
	taken   []byteRange // scratch
}

func newPacker(p Problem) *packer { return &packer{p: p, placed: newLeases(p)} }

// reset takes all buffers out.
func (g *packer) reset() {
	g.placed.reset()
	g.offsets = make([]int64, len(g.p.Buffers))
}

// pack places the buffers in the given order. It gives up, and lower is false, as soon as the
// packing cannot become lower than below.
func (g *packer) pack(idx []int, below int64) (s Solution, lower bool) {
	g.reset()
	var wants [lookAhead]want
	for len(idx) > 0 {
		next := idx[:min(lookAhead, len(idx))]
		for k, i := range next {
			b := &g.p.Buffers[i]
			wants[k] = want{b.Size, b.align(), b.Fixed}
		}
		for k, i := range next {
			at := g.find(i, &wants[k])
			end := at + wants[k].size
			if end >= below {
				return Solution{}, false
			}
			if g.offsets[i] = at; end > at {
				g.placed.add(i, at)
			}
			s.Height = max(s.Height, end)
		}
		idx = idx[len(next):]
	}
	s.Offsets = g.offsets
	return s, true
}

// lookAhead is how many buffers pack looks at before it places them. In its orders they are far apart
// in memory, and looks at one after the other that do not wait for a packing overlap.
const lookAhead = 64

// want is what a buffer asks for.
type want struct {
	size, align int64
	fixed       bool
}

// find returns the offset for buffer i, the next one.
func (g *packer) find(i int, w *want) int64 {
	switch {
	case w.fixed:
		return g.p.Buffers[i].Offset
	case w.size == 0:
		return 0
	}
	g.findTaken(i)
	return g.bestFit(w)
}

// findTaken finds the bytes of the placed buffers that live at the same time as buffer i, in order.
func (g *packer) findTaken(i int) {
	var looks int
	g.taken, looks = g.placed.taken(i, g.taken[:0])
	g.looks += looks
}

// bestFit returns the offset of the smallest gap between what is taken that holds w; above all
// of it where no gap does.
func (g *packer) bestFit(w *want) int64 {
	best, bestGap := int64(-1), int64(0)
	var end int64 // everything below is taken or looked at
	for _, t := range g.taken {
		gap := t.lo - end
		if gap >= w.size && (best < 0 || gap < bestGap) {
			if off := alignUp(end, w.align); off+w.size <= t.lo {
				best, bestGap = off, gap
			}
		}
		end = max(end, t.hi)
	}
	if best >= 0 {
		return best
	}
	return alignUp(end, w.align)
}
