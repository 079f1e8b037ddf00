package runtime

import "github.com/ggmlc/ggmlc/kernels/cpu/tile"

// Share is a worker's way through n things that are divided with a tail: a range of its
// own, then pieces of the tail that nobody has begun yet. Emitted code makes one and calls Next until it
// returns false; between two Shares all workers meet at a barrier.
type Share struct {
	Lo, Hi int // the range to compute now

	w          *Worker
	n, granule int
	begun      bool
}

// Share returns the worker's share of n things in units of granule.
func (w *Worker) Share(n, granule int) Share { return Share{w: w, n: n, granule: granule} }

// Next sets Lo and Hi to what the worker has to compute next; they may be equal. It returns
// false when everything is computed or begun by others.
func (s *Share) Next() bool {
	if !s.begun {
		s.begun = true
		s.Lo, s.Hi = tile.Head(s.n, s.granule, s.w.Part, s.w.Parts)
		return true
	}
	if s.w.Parts == 1 {
		return false
	}
	var ok bool
	s.Lo, s.Hi, ok = tile.Tail(s.n, s.granule, int(s.w.pool.taken.Add(1))-1, s.w.Parts)
	return ok
}
