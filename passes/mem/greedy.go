package mem

import (
	"cmp"
	"math"
	"slices"
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
	bound, _ := peak(p)
	return greedy(p, bound)
}

// greedy is Greedy for a problem whose bound is known.
func greedy(p Problem, bound int64) (best Solution, orderName string) {
	g := newPacker(p)
	best.Height = math.MaxInt64
	for _, o := range greedyOrders {
		if s, lower := g.pack(p.sorted(o), best.Height); lower {
			best, orderName = s, o.name
		}
		if best.Height <= bound || g.looks > maxLooks {
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
	for _, i := range idx {
		b := &g.p.Buffers[i]
		g.offsets[i] = g.find(i)
		end := g.offsets[i] + b.Size
		if end >= below {
			return Solution{}, false
		}
		if b.Size > 0 {
			g.placed.add(i, g.offsets[i])
		}
		s.Height = max(s.Height, end)
	}
	s.Offsets = g.offsets
	return s, true
}

// find returns the offset for buffer i, the next one.
func (g *packer) find(i int) int64 {
	b := &g.p.Buffers[i]
	switch {
	case b.Fixed:
		return b.Offset
	case b.Size == 0:
		return 0
	}
	g.findTaken(i)
	return g.bestFit(b)
}

// findTaken finds the bytes of the placed buffers that live at the same time as buffer i, in order.
func (g *packer) findTaken(i int) {
	var looks int
	g.taken, looks = g.placed.taken(i, g.taken[:0])
	g.looks += looks
}

// bestFit returns the offset of the smallest gap between what is taken that holds b; above all
// of it where no gap does.
func (g *packer) bestFit(b *Buffer) int64 {
	best, bestGap := int64(-1), int64(0)
	var end int64 // everything below is taken or looked at
	for _, t := range g.taken {
		gap := t.lo - end
		if gap >= b.Size && (best < 0 || gap < bestGap) {
			if off := alignUp(end, b.align()); off+b.Size <= t.lo {
				best, bestGap = off, gap
			}
		}
		end = max(end, t.hi)
	}
	if best >= 0 {
		return best
	}
	return alignUp(end, b.align())
}
