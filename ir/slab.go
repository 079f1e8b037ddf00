package ir

import "sync"

// slab hands out elements that lie one after the other in memory, in the order in which walks
// over a function meet them: a walk over a hundred thousand nodes takes half as long then. The
// zero value is ready.
type slab[T any] struct {
	free []T
	size int // of the last block
}

// A block is twice as long as the one before, so that small functions hold little that they do
// not need, up to maxBlock: what is alive keeps its whole block alive.
const (
	minBlock = 4
	maxBlock = 128
)

// next returns a new element.
func (s *slab[T]) next() *T {
	if len(s.free) == 0 {
		s.size = min(max(2*s.size, minBlock), maxBlock)
		s.free = make([]T, s.size)
	}
	e := &s.free[0]
	s.free = s.free[1:]
	return e
}

// nodeSlot is a node and room for its result: most have one.
type nodeSlot struct {
	node   Node
	result [1]*Value
}

// allocNode returns a new node of f that has room for its results.
func (f *Func) allocNode(results int) *Node {
	slot := f.nodeSlots.next()
	n := &slot.node
	n.Func = f
	if n.Results = slot.result[:0:1]; results > 1 {
		n.Results = make([]*Value, 0, results)
	}
	return n
}

// causeRoom hands out room for the causes of nodes, of which most nodes have one to three and a
// few very many: without it each of them is an allocation or two. It may be asked by several
// goroutines that look at different nodes.
type causeRoom struct {
	mu   sync.Mutex
	free []Cause
	size int // of the last block
}

// more returns causes with room for as many again, two at least.
func (r *causeRoom) more(causes []Cause) []Cause {
	n := max(2*len(causes), 2)
	if n > maxBlock {
		return append(make([]Cause, 0, n), causes...)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.free) < n {
		r.size = min(max(2*r.size, minBlock, n), maxBlock)
		r.free = make([]Cause, r.size)
	}
	room := append(r.free[:0:n], causes...)
	r.free = r.free[n:]
	return room
}
