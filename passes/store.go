package passes

// store hands out elements that lie one after the other, and takes all of them back at once: what
// a walk tries and drops again costs no allocation of its own then. The zero value is ready.
type store[T any] struct {
	blocks [][]T
	at     int // the block that elements are cut from
	used   int // how many of its elements are
}

// storeBlock is how many elements a block has, unless more are asked for at once.
const storeBlock = 128

// cut returns n elements. Those that reset has taken back hold what they held.
func (s *store[T]) cut(n int) []T {
	for s.at < len(s.blocks) {
		if end := s.used + n; end <= len(s.blocks[s.at]) {
			s.used = end
			return s.blocks[s.at][end-n : end : end]
		}
		s.at, s.used = s.at+1, 0
	}
	s.blocks = append(s.blocks, make([]T, max(n, storeBlock)))
	s.used = n
	return s.blocks[s.at][:n:n]
}

// put returns a new place that holds x.
func (s *store[T]) put(x T) *T {
	e := &s.cut(1)[0]
	*e = x
	return e
}

// reset takes back all elements.
func (s *store[T]) reset() { s.at, s.used = 0, 0 }
