package mem

import (
	"cmp"
	"math"
)

// This file packs buffers one after the other, each into the smallest gap that holds it.
//
// A buffer meets only the placed buffers that live at the same time. For d, which lives from 2 to 4, these are a and c:
//
//	buffer  life  size  offset      offset
//	a       0–5   3     0           7–8     c c c c .
//	b       0–2   1     3           4–6     . . d d .
//	c       0–4   2     7           3       b b d d .
//	d       2–4   4     new         0–2     a a a a a
//	                                time    0 1 2 3 4
//
// Between a, which ends at 3, and c, which begins at 7, is a gap of 4: d fits exactly, at 3. A larger buffer would go
// above c.
//
// The order of the buffers decides how good the packing is, and no order is best for all problems. So several are
// tried.

// greedyOrder is an order in which buffers are placed.
type greedyOrder struct {
	name    string
	compare func(a, b *Buffer) int
}

// greedyOrders are the orders that Greedy tries. Planners of tensors use size and area; an allocator at run time has
// the order start.
var greedyOrders = []greedyOrder{
	{"size", func(a, b *Buffer) int {
		return cmp.Or(cmp.Compare(b.Size, a.Size), cmp.Compare(b.length(), a.length()))
	}},
	{"area", func(a, b *Buffer) int { return cmp.Compare(b.area(), a.area()) }},
	{"length", func(a, b *Buffer) int {
		return cmp.Or(cmp.Compare(b.length(), a.length()), cmp.Compare(b.Size, a.Size))
	}},
	{"start", func(a, b *Buffer) int { return cmp.Or(cmp.Compare(a.Lower, b.Lower), cmp.Compare(b.Size, a.Size)) }},
}

func (b *Buffer) length() int64 { return b.Upper - b.Lower }

func (b *Buffer) area() float64 { return float64(b.Size) * float64(b.length()) }

// sorted returns the buffers of p in an order. Fixed buffers are first, ties are in the order of the problem.
func (p Problem) sorted(o greedyOrder) []int {
	return order(len(p.Buffers), func(i, j int) int {
		a, b := &p.Buffers[i], &p.Buffers[j]
		if a.Fixed != b.Fixed {
			if a.Fixed {
				return -1
			}
			return 1
		}
		return o.compare(a, b)
	})
}

// maxLooks is the work after which greedy tries no further order: the number of times that a placed buffer was looked
// at for another one. Only problems of some ten thousand buffers, of which hundreds live at once, exceed it, and have
// the first order alone.
const maxLooks = 1 << 22

// Greedy places buffers one by one, each into the smallest gap that holds it among those placed before that live at the
// same time, in each of several orders, unless one of them takes very long. It returns the lowest packing and the name
// of its order; of equal packings the first.
func Greedy(p Problem) (best Solution, orderName string) {
	bound, _ := peak(p)
	return greedy(p, bound)
}

// greedy is Greedy for a problem of which no packing is lower than bound.
func greedy(p Problem, bound int64) (best Solution, orderName string) {
	best.Height = math.MaxInt64
	looks := 0
	for _, o := range greedyOrders {
		k := newPacker(p)
		if s, lower := k.pack(p.sorted(o), best.Height); lower {
			best, orderName = s, o.name
		}
		looks += k.looks
		if best.Height <= bound || looks > maxLooks {
			break // the other orders cannot be lower, or take too long
		}
	}
	return best, orderName
}

// packer places buffers.
type packer struct {
	p       Problem
	placed  *placed
	offsets []int64
	looks   int // how often a placed buffer was looked at
}

func newPacker(p Problem) *packer {
	return &packer{p: p, placed: newPlaced(p), offsets: make([]int64, len(p.Buffers))}
}

// pack places the buffers in the given order. It gives up, and lower is false, as soon as the packing is not lower than
// below.
func (k *packer) pack(idx []int, below int64) (s Solution, lower bool) {
	for _, i := range idx {
		b := &k.p.Buffers[i]
		at := k.bestFit(i)
		if at+b.Size >= below {
			return Solution{}, false
		}
		k.put(i, at)
		s.Height = max(s.Height, at+b.Size)
	}
	s.Offsets = k.offsets
	return s, true
}

// put places buffer i.
func (k *packer) put(i int, at int64) {
	k.offsets[i] = at
	if k.p.Buffers[i].Size > 0 {
		k.placed.add(i, at)
	}
}

// takenFor returns the bytes of the placed buffers that live at the same time as buffer i; see placed.taken.
func (k *packer) takenFor(i int) []byteRange {
	taken, looks := k.placed.taken(i)
	k.looks += looks
	return taken
}

// bestFit returns the offset for buffer i.
func (k *packer) bestFit(i int) int64 {
	switch b := &k.p.Buffers[i]; {
	case b.Fixed:
		return b.Offset
	case b.Size == 0:
		return 0
	default:
		return smallestGap(k.takenFor(i), b.Size, b.align())
	}
}

// smallestGap returns the offset of the smallest gap between taken bytes that holds a buffer; above all of them where
// no gap does.
func smallestGap(taken []byteRange, size, align int64) int64 {
	best, bestGap := int64(-1), int64(0)
	var end int64 // everything below is taken or looked at
	for _, t := range taken {
		gap := t.lo - end
		if gap >= size && (best < 0 || gap < bestGap) {
			if offset := alignUp(end, align); offset+size <= t.lo {
				best, bestGap = offset, gap
			}
		}
		end = max(end, t.hi)
	}
	if best >= 0 {
		return best
	}
	return alignUp(end, align)
}
