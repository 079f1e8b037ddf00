package mem

import (
	"cmp"
	"slices"
)

// Bound returns the largest sum of sizes that are live at one instant, and the indices of
// the buffers that are live at the first such instant, largest first: no packing is lower,
// and none can become so while those buffers stay as they are. Where a fixed buffer ends
// higher, that is the bound.
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

// peak returns the largest sum of live sizes and the first instant that has it.
func peak(p Problem) (bound, at int64) {
	type event struct{ time, size int64 }
	events := make([]event, 0, 2*len(p.Buffers))
	for _, b := range p.Buffers {
		for l := range b.live {
			events = append(events, event{l.Lower, b.Size}, event{l.Upper, -b.Size})
		}
	}
	// Ends come before starts: the intervals are half open.
	slices.SortFunc(events, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.size, b.size))
	})
	var sum int64
	for _, e := range events {
		if sum += e.size; sum > bound {
			bound, at = sum, e.time
		}
	}
	return bound, at
}
