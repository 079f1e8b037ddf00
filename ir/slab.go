package ir

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
