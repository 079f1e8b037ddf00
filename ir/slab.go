package ir

// slab allocates elements in blocks, so that successive elements of a function are adjacent in memory. Walks over a
// large function then wait less for memory. The zero value is ready.
//
// An element keeps its whole block alive. Therefore blocks are small at first, and never large.
type slab[T any] struct {
	free []T
	size int // of the last block
}

// next returns a new element.
func (s *slab[T]) next() *T {
	const first, most = 4, 128
	if len(s.free) == 0 {
		s.size = min(max(2*s.size, first), most)
		s.free = make([]T, s.size)
	}
	e := &s.free[0]
	s.free = s.free[1:]
	return e
}
