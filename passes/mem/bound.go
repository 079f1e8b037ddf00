package mem

import (
	"cmp"
	"slices"
)

// Bound returns the largest sum of sizes that are live at one instant, and the indices of the buffers that are live at
// the first such instant, largest first. No packing is lower, and none can become lower while those buffers stay as
// they are. Where a fixed buffer ends higher, its end is the bound.
//
// For
//
//	buffer   life   size
//	a        0–5    3
//	b        0–2    1
//	c        1–3    2
//	d        3–4    1
//
// the sums are 4 at 0, 6 at 1, 5 at 2, 4 at 3 and 3 at 4: the bound is 6, set by a, c and b at instant 1.
func Bound(p Problem) (bound int64, setters []int) {
	bound, at := peak(p)
	highest := -1
	for i, b := range p.Buffers {
		if b.Fixed && b.Offset+b.Size > bound {
			bound, highest = b.Offset+b.Size, i
		}
	}
	if highest >= 0 {
		return bound, []int{highest}
	}
	for i, b := range p.Buffers {
		if b.Size > 0 && b.meets(&Buffer{Lower: at, Upper: at + 1}) {
			setters = append(setters, i)
		}
	}
	slices.SortStableFunc(setters, func(i, j int) int { return cmp.Compare(p.Buffers[j].Size, p.Buffers[i].Size) })
	return bound, setters
}

// peak returns the largest sum of live sizes and the first instant that has it. It visits the starts of lives in order
// of time, as the sum grows nowhere else, and takes away the sizes of lives that have ended by then.
func peak(p Problem) (bound, at int64) {
	type event struct{ time, size int64 }
	starts, ends := make([]event, 0, len(p.Buffers)), make([]event, 0, len(p.Buffers))
	for i := range p.Buffers {
		b := &p.Buffers[i]
		for l := range b.live {
			starts, ends = append(starts, event{l.Lower, b.Size}), append(ends, event{l.Upper, b.Size})
		}
	}
	byTime := func(a, b event) int { return cmp.Compare(a.time, b.time) }
	slices.SortFunc(starts, byTime)
	slices.SortFunc(ends, byTime)
	var sum int64
	for _, e := range starts {
		for ; ends[0].time <= e.time; ends = ends[1:] { // the intervals are half open
			sum -= ends[0].size
		}
		if sum += e.size; sum > bound {
			bound, at = sum, e.time
		}
	}
	return bound, at
}
