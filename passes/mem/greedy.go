package mem

import (
	"cmp"
	"math"
	"slices"
)

// greedyOrder is one order in which greedy places buffers.
type greedyOrder struct {
	name    string
	compare func(a, b *Buffer) int // negative where a comes first
}

// greedyOrders are the orders that Greedy tries. Size and area are the ones that the
// field uses for tensors; start is that of an allocator at run time.
var greedyOrders = []greedyOrder{
	{"size", func(a, b *Buffer) int {
		return cmp.Or(cmp.Compare(b.Size, a.Size), cmp.Compare(b.Upper-b.Lower, a.Upper-a.Lower))
	}},
	{"area", func(a, b *Buffer) int {
		return cmp.Compare(float64(b.Size)*float64(b.Upper-b.Lower), float64(a.Size)*float64(a.Upper-a.Lower))
	}},
	{"length", func(a, b *Buffer) int {
		return cmp.Or(cmp.Compare(b.Upper-b.Lower, a.Upper-a.Lower), cmp.Compare(b.Size, a.Size))
	}},
	{"start", func(a, b *Buffer) int {
		return cmp.Or(cmp.Compare(a.Lower, b.Lower), cmp.Compare(b.Size, a.Size))
	}},
}

// maxLooks is the work after which greedy tries no further order: so many times it has looked
// at a placed buffer, which takes about 10 ns. Problems of some ten thousand buffers, of which
// hundreds live at once, have the first order alone; others are far below.
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
	return order(len(p.Buffers), func(i, j int) int {
		a, b := &p.Buffers[i], &p.Buffers[j]
		if a.Fixed != b.Fixed {
			return fixedFirst(a, b)
		}
		return o.compare(a, b)
	})
}

func fixedFirst(a, b *Buffer) int {
	switch {
	case a.Fixed && !b.Fixed:
		return -1
	case b.Fixed && !a.Fixed:
		return 1
	}
	return 0
}

// packer puts buffers into the smallest gap each. Of the placed ones those that live long
// are apart: they meet many others, which find them in order.
type packer struct {
	p       Problem
	isLong  []bool
	long    []lease    // placed, by address
	live    *liveIndex // of the other placed ones
	offsets []int64
	looks   int         // how often a placed buffer was looked at, in all orders
	near    []int       // scratch
	short   []byteRange // likewise
	taken   []byteRange // likewise
}

// byteRange is the bytes [lo, hi).
type byteRange struct{ lo, hi int64 }

// lease is what a placed buffer has, and when.
type lease struct {
	byteRange
	Interval
	buffer int
}

func newPacker(p Problem) *packer {
	// Looking at a long one costs a thirtieth of finding a short one and sorting it in.
	const part = 32
	g := &packer{p: p, isLong: make([]bool, len(p.Buffers)), live: newLiveIndex(p)}
	for i := range p.Buffers {
		b := &p.Buffers[i]
		g.isLong[i] = g.live.started(b.Lower, b.Upper) >= len(p.Buffers)/part
	}
	return g
}

// reset takes all buffers out.
func (g *packer) reset() {
	g.live.reset()
	g.long = g.long[:0]
	g.offsets = make([]int64, len(g.p.Buffers))
}

// pack places the buffers in the given order. It gives up, and lower is false, as soon as the
// packing cannot become lower than below.
func (g *packer) pack(idx []int, below int64) (s Solution, lower bool) {
	g.reset()
	for _, i := range idx {
		b := &g.p.Buffers[i]
		g.offsets[i] = g.find(b)
		end := g.offsets[i] + b.Size
		if end >= below {
			return Solution{}, false
		}
		if b.Size > 0 {
			g.add(i)
		}
		s.Height = max(s.Height, end)
	}
	s.Offsets = g.offsets
	return s, true
}

// find returns the offset for the next buffer.
func (g *packer) find(b *Buffer) int64 {
	switch {
	case b.Fixed:
		return b.Offset
	case b.Size == 0:
		return 0
	}
	g.findTaken(b)
	return g.bestFit(b)
}

// add says that buffer i is placed.
func (g *packer) add(i int) {
	b := &g.p.Buffers[i]
	if !g.isLong[i] {
		g.live.add(i, b.Upper)
		return
	}
	l := lease{byteRange{g.offsets[i], g.offsets[i] + b.Size}, Interval{b.Lower, b.Upper}, i}
	at, _ := slices.BinarySearchFunc(g.long, l.lo, func(l lease, lo int64) int { return cmp.Compare(l.lo, lo) })
	g.long = slices.Insert(g.long, at, l)
}

// findTaken finds the bytes of the placed buffers that live at the same time as b, in order.
func (g *packer) findTaken(b *Buffer) {
	g.findShort(b)
	g.looks += len(g.short) + len(g.long)
	short := g.short
	g.taken = g.taken[:0]
	for i := range g.long {
		l := &g.long[i]
		if l.Lower >= b.Upper || b.Lower >= l.Upper || !b.meets(&g.p.Buffers[l.buffer]) {
			continue
		}
		for len(short) > 0 && short[0].lo < l.lo {
			g.taken = append(g.taken, short[0])
			short = short[1:]
		}
		g.taken = append(g.taken, l.byteRange)
	}
	g.taken = append(g.taken, short...)
}

// findShort finds likewise the bytes of those that do not live long.
func (g *packer) findShort(b *Buffer) {
	g.near = g.live.meeting(b.Lower, b.Upper, g.near[:0])
	g.short = g.short[:0]
	for _, j := range g.near {
		if c := &g.p.Buffers[j]; b.meets(c) {
			g.short = append(g.short, byteRange{g.offsets[j], g.offsets[j] + c.Size})
		}
	}
	slices.SortFunc(g.short, func(x, y byteRange) int { return cmp.Compare(x.lo, y.lo) })
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
