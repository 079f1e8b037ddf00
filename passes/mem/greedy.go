package mem

import (
	"cmp"
	"slices"
)

// greedyOrder is one order in which greedy places buffers.
type greedyOrder struct {
	name    string
	compare func(a, b Buffer) int // negative where a comes first
}

// greedyOrders are the orders that Greedy tries. Size and area are the ones that the
// field uses for tensors; start is that of an allocator at run time.
var greedyOrders = []greedyOrder{
	{"size", func(a, b Buffer) int {
		return cmp.Or(cmp.Compare(b.Size, a.Size), cmp.Compare(b.Upper-b.Lower, a.Upper-a.Lower))
	}},
	{"area", func(a, b Buffer) int {
		return cmp.Compare(float64(b.Size)*float64(b.Upper-b.Lower), float64(a.Size)*float64(a.Upper-a.Lower))
	}},
	{"length", func(a, b Buffer) int {
		return cmp.Or(cmp.Compare(b.Upper-b.Lower, a.Upper-a.Lower), cmp.Compare(b.Size, a.Size))
	}},
	{"start", func(a, b Buffer) int {
		return cmp.Or(cmp.Compare(a.Lower, b.Lower), cmp.Compare(b.Size, a.Size))
	}},
}

// Greedy places buffers one by one, each into the smallest gap that holds it among those
// placed before that live at the same time, in each of several orders. It returns the
// lowest packing and the name of its order.
func Greedy(p Problem) (best Solution, orderName string) {
	for _, o := range greedyOrders {
		s := place(p, order(len(p.Buffers), func(i, j int) int { return o.compare(p.Buffers[i], p.Buffers[j]) }))
		if orderName == "" || s.Height < best.Height {
			best, orderName = s, o.name
		}
	}
	return best, orderName
}

// place puts buffers into the smallest gap each, in the given order.
func place(p Problem, idx []int) Solution {
	offsets := make([]int64, len(p.Buffers))
	var low []int // the placed ones, by offset
	for _, i := range idx {
		offsets[i] = bestFit(p, offsets, low, p.Buffers[i])
		at, _ := slices.BinarySearchFunc(low, offsets[i], func(j int, off int64) int { return cmp.Compare(offsets[j], off) })
		low = slices.Insert(low, at, i)
	}
	return Solution{offsets, p.height(offsets)}
}

// bestFit returns the offset of the smallest gap that holds b between the placed buffers
// that b meets; above all of them where no gap does. Low lists the placed ones by offset.
func bestFit(p Problem, offsets []int64, low []int, b Buffer) int64 {
	best, bestGap := int64(-1), int64(0)
	var end int64 // everything below is taken or looked at
	for _, j := range low {
		c := p.Buffers[j]
		if c.Size == 0 || !b.meets(c) {
			continue
		}
		gap := offsets[j] - end
		if off := alignUp(end, b.align()); off+b.Size <= offsets[j] && (best < 0 || gap < bestGap) {
			best, bestGap = off, gap
		}
		end = max(end, offsets[j]+c.Size)
	}
	if best >= 0 {
		return best
	}
	return alignUp(end, b.align())
}
