package runtime

import "github.com/ggmlc/ggmlc/kernels/cpu/tile"

// Share iterates over the items that one worker computes of n items with a dynamic share: first a range of its own,
// then pieces of the dynamic share that no worker has begun yet. Emitted code makes a Share and calls Next until it
// returns false. All workers pass a barrier between two Shares.
//
// For example, of 100 items 80 may be divided statically among 4 workers, 20 each. The other 20 are the dynamic
// share: each worker that is done with its own 20 takes the next piece of it, so a fast worker computes more of them.
type Share struct {
	Lo, Hi int // the range to compute now

	w          *Worker
	n, granule int
	begun      bool
}

// Share returns the worker's share of n items in units of granule.
func (w *Worker) Share(n, granule int) Share { return Share{w: w, n: n, granule: granule} }

// Next sets Lo and Hi to the next range that the worker has to compute, which may be empty. It returns false when all
// items are computed or begun by other workers.
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
