package mem

import (
	"cmp"
	"math"
	"slices"
)

// liveIndex finds the placed buffers that live at some instant of an interval, in about
// as many steps as there are. It is a tree over the buffers in order of their starts that
// knows, for each node, the last end of the placed buffers below it.
type liveIndex struct {
	starts []int64 // sorted
	leaf   []int   // by buffer: its position in starts
	buffer []int   // by position: the buffer
	ends   []int64 // the tree: children of i are 2i and 2i+1; leaves come last
}

const never = math.MinInt64

func newLiveIndex(p Problem) *liveIndex {
	n := len(p.Buffers)
	x := &liveIndex{
		starts: make([]int64, n), leaf: make([]int, n), ends: make([]int64, 2*n),
		buffer: order(n, func(i, j int) int { return cmp.Compare(p.Buffers[i].Lower, p.Buffers[j].Lower) }),
	}
	for at, i := range x.buffer {
		x.leaf[i], x.starts[at] = at, p.Buffers[i].Lower
	}
	return x
}

// reset takes all buffers out.
func (x *liveIndex) reset() {
	for i := range x.ends {
		x.ends[i] = never
	}
}

// add says that buffer i, which ends at end, is placed.
func (x *liveIndex) add(i int, end int64) {
	for node := len(x.starts) + x.leaf[i]; node > 0; node /= 2 {
		x.ends[node] = max(x.ends[node], end)
	}
}

// started returns how many buffers start in [lower, upper).
func (x *liveIndex) started(lower, upper int64) int {
	from, _ := slices.BinarySearch(x.starts, lower)
	to, _ := slices.BinarySearch(x.starts, upper)
	return to - from
}

// meeting appends the placed buffers that live in [lower, upper) to out, in no particular
// but a fixed order.
func (x *liveIndex) meeting(lower, upper int64, out []int) []int {
	n := len(x.starts)
	before, _ := slices.BinarySearch(x.starts, upper)
	for l, r := n, n+before; l < r; l, r = l/2, r/2 {
		if l&1 == 1 {
			out = x.collect(l, lower, out)
			l++
		}
		if r&1 == 1 {
			r--
			out = x.collect(r, lower, out)
		}
	}
	return out
}

// collect appends those below a node that end after lower.
func (x *liveIndex) collect(node int, lower int64, out []int) []int {
	switch {
	case x.ends[node] <= lower:
		return out
	case node >= len(x.starts):
		return append(out, x.buffer[node-len(x.starts)])
	}
	return x.collect(2*node+1, lower, x.collect(2*node, lower, out))
}
