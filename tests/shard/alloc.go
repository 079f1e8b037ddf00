package shard

import (
	"cmp"
	"slices"
)

// allocAlign is the alignment of addresses and sizes in the traces, in bytes.
const allocAlign = 128

// takers are the ops whose result may take the bytes of a source (ggml_op_can_inplace in ggml-alloc.c).
var takers = []string{
	"SCALE", "DIAG_MASK_INF", "DIAG_MASK_ZERO", "ADD", "ADD_ID", "ADD1", "SUB", "MUL", "DIV", "SQR", "SQRT", "LOG", "UNARY", "FILL",
	"ROPE", "ROPE_BACK", "SILU_BACK", "RMS_NORM", "RMS_NORM_BACK", "SOFT_MAX", "SOFT_MAX_BACK",
}

// allocator is ggml's allocator of 2026 on the whole graph of a case: the smallest free block that fits, or the end.
// The README of ../shared/data/sched describes it.
type allocator struct {
	c       *Case
	free    []block // by address; without the endless one from end on
	end     int64   // where the endless block begins
	size    int64   // the largest end so far
	at      []int64 // address of each tensor; -1 if it is not allocated
	readers []int   // of each tensor: source positions still to come
	views   []int   // of each tensor: views whose readers are still to come
}

type block struct{ at, size int64 }

// ComputeBytes returns the bytes that ggml's allocator needs for all tensors that are not kept.
func (c *Case) ComputeBytes() int64 {
	n := len(c.Tensors)
	a := &allocator{c: c, at: slices.Repeat([]int64{-1}, n), readers: make([]int, n), views: make([]int, n)}
	for _, i := range c.Leafs {
		a.allocate(i)
	}
	for _, i := range c.Nodes {
		a.count(i)
	}
	for _, i := range c.Nodes {
		for s := range c.sources(i) {
			a.allocate(s)
		}
		a.allocate(i)
		for s := range c.sources(i) {
			a.release(s)
		}
	}
	return a.size
}

// sources yields the sources of a tensor by position, itself included.
func (c *Case) sources(i int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for _, s := range c.Tensors[i].Src {
			if s != nil && !yield(*s) {
				return
			}
		}
	}
}

func (a *allocator) count(i int) {
	if v := a.c.Tensors[i].ViewOf; v != nil {
		a.views[*v]++
	}
	for s := range a.c.sources(i) {
		a.readers[s]++
		if a.c.Tensors[s].Input {
			a.allocate(s)
		}
	}
}

// allocate gives a tensor an address unless it has one, is kept or is a view.
func (a *allocator) allocate(i int) {
	t := &a.c.Tensors[i]
	if a.at[i] >= 0 || t.Kept != "" || t.ViewOf != nil {
		return
	}
	if from := a.taken(i); from >= 0 {
		a.at[i], a.at[from] = a.at[from], -1
		return
	}
	a.at[i] = a.take(aligned(t.Bytes))
}

func aligned(n int64) int64 { return (n + allocAlign - 1) / allocAlign * allocAlign }

// taken returns the source whose bytes tensor i takes over; -1 if there is none.
func (a *allocator) taken(i int) int {
	t := &a.c.Tensors[i]
	if !slices.Contains(takers, t.Op) {
		return -1
	}
	for s := range a.c.sources(i) {
		from := &a.c.Tensors[s]
		same := from.Type == t.Type && from.NE == t.NE && from.NB == t.NB
		if same && a.at[s] >= 0 && !from.Output && a.readers[s] == 1 && a.views[s] == 0 {
			return s
		}
	}
	return -1
}

// take returns the address of n free bytes.
func (a *allocator) take(n int64) int64 {
	best := -1
	for i, b := range a.free {
		if b.size >= n && (best < 0 || b.size <= a.free[best].size) {
			best = i
		}
	}
	if best < 0 {
		at := a.end
		a.end += n
		a.size = max(a.size, a.end)
		return at
	}
	b := &a.free[best]
	at := b.at
	b.at, b.size = b.at+n, b.size-n
	if b.size == 0 {
		a.free = slices.Delete(a.free, best, best+1)
	}
	return at
}

// release counts a reader less, and frees what has none left.
func (a *allocator) release(i int) {
	if a.readers[i]--; a.readers[i] > 0 || a.views[i] > 0 {
		return
	}
	v := a.c.Tensors[i].ViewOf
	if v == nil {
		a.freeTensor(i)
		return
	}
	if a.views[*v]--; a.views[*v] == 0 && a.readers[*v] == 0 {
		a.freeTensor(*v)
	}
}

// freeTensor returns the bytes of a tensor that is no output, and joins free neighbours.
func (a *allocator) freeTensor(i int) {
	t := &a.c.Tensors[i]
	if a.at[i] < 0 || t.Output {
		return
	}
	a.free = append(a.free, block{a.at[i], aligned(t.Bytes)})
	slices.SortFunc(a.free, func(x, y block) int { return cmp.Compare(x.at, y.at) })
	joined := a.free[:0]
	for _, b := range a.free {
		if n := len(joined); n > 0 && joined[n-1].at+joined[n-1].size == b.at {
			joined[n-1].size += b.size
			continue
		}
		joined = append(joined, b)
	}
	a.free = joined
	if n := len(a.free); n > 0 && a.free[n-1].at+a.free[n-1].size == a.end {
		a.end = a.free[n-1].at
		a.free = a.free[:n-1]
	}
}
