package mem

import (
	"cmp"
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

// Greedy places buffers one by one, each into the smallest gap that holds it among those
// placed before that live at the same time, in each of several orders. It returns the
// lowest packing and the name of its order, the first one that leads to it.
func Greedy(p Problem) (best Solution, orderName string) {
	bound, _ := peak(p)
	return greedy(p, bound)
}

// greedy is Greedy for a problem whose bound is known.
func greedy(p Problem, bound int64) (best Solution, orderName string) {
	g := &packer{p: p, live: newLiveIndex(p)}
	for _, o := range greedyOrders {
		s := g.pack(order(len(p.Buffers), func(i, j int) int {
			a, b := &p.Buffers[i], &p.Buffers[j]
			return cmp.Or(fixedFirst(a, b), o.compare(a, b))
		}))
		if orderName == "" || s.Height < best.Height {
			best, orderName = s, o.name
		}
		if best.Height <= bound {
			break // the others cannot be lower
		}
	}
	return best, orderName
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

// packer puts buffers into the smallest gap each.
type packer struct {
	p       Problem
	live    *liveIndex // of the placed buffers
	offsets []int64
	near    []int       // scratch
	taken   []byteRange // likewise
	placed  []int       // those in live, as they were placed
	sorted  []int       // the first ones of placed, by offset
}

// byteRange is the bytes [lo, hi).
type byteRange struct{ lo, hi int64 }

// pack places the buffers in the given order.
func (g *packer) pack(idx []int) Solution {
	g.live.reset()
	g.placed, g.sorted = g.placed[:0], g.sorted[:0]
	g.offsets = make([]int64, len(g.p.Buffers))
	for _, i := range idx {
		b := &g.p.Buffers[i]
		if b.Fixed {
			g.offsets[i] = b.Offset
		}
		if b.Size == 0 {
			continue
		}
		if b.Fixed {
			g.add(i)
			continue
		}
		g.findTaken(b)
		g.offsets[i] = g.bestFit(b)
		g.add(i)
	}
	return Solution{g.offsets, g.p.height(g.offsets)}
}

func (g *packer) add(i int) {
	g.live.add(i, g.p.Buffers[i].Upper)
	g.placed = append(g.placed, i)
}

// findTaken finds the bytes of the placed buffers that live at the same time as b, in order.
// Where they are many of all, all are kept sorted instead of those again for each b.
func (g *packer) findTaken(b *Buffer) {
	const few, part = 64, 8
	g.near = g.live.meeting(b.Lower, b.Upper, g.near[:0])
	if len(g.near) < few || len(g.near) < len(g.placed)/part {
		g.take(b, g.near)
		slices.SortFunc(g.taken, func(x, y byteRange) int { return cmp.Compare(x.lo, y.lo) })
		return
	}
	g.sortPlaced()
	g.take(b, g.sorted)
}

// take notes the bytes of those of a list that live at the same time as b.
func (g *packer) take(b *Buffer, list []int) {
	g.taken = g.taken[:0]
	for _, j := range list {
		if c := &g.p.Buffers[j]; b.meets(c) {
			g.taken = append(g.taken, byteRange{g.offsets[j], g.offsets[j] + c.Size})
		}
	}
}

// sortPlaced brings sorted up to date.
func (g *packer) sortPlaced() {
	const few = 8
	fresh := g.placed[len(g.sorted):]
	if len(fresh) > few {
		g.sorted = append(g.sorted, fresh...)
		slices.SortFunc(g.sorted, g.byOffset)
		return
	}
	for _, i := range fresh {
		at, _ := slices.BinarySearchFunc(g.sorted, i, g.byOffset)
		g.sorted = slices.Insert(g.sorted, at, i)
	}
}

func (g *packer) byOffset(i, j int) int {
	return cmp.Or(cmp.Compare(g.offsets[i], g.offsets[j]), cmp.Compare(i, j))
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
