package runtime

import (
	"context"
	"testing"
	"time"
)

// TestShareComputesEachItemOnce divides items with a dynamic share repeatedly. Each item is computed once, and before
// the barrier (not atomic, so that the race detector checks the order).
func TestShareComputesEachItemOnce(t *testing.T) {
	const repeats, n, granule = 50, 201, 2
	for _, workers := range []int{1, 2, 3, 8} {
		p := newTestPool(t, workers)
		var seen [n]int
		step := &Func{Run: func(w *Worker, _ *Args) {
			for range repeats {
				for s := w.Share(n, granule); s.Next(); {
					for i := s.Lo; i < s.Hi; i++ {
						seen[i]++
					}
				}
				w.Barrier()
			}
		}}
		for range 2 { // the second step has a dynamic share of its own
			if err := p.run(context.Background(), newTicket(), step, &Args{}, nil); err != nil {
				t.Fatal(err)
			}
		}
		for i, count := range seen {
			if count != 2*repeats {
				t.Fatalf("%d workers: %d was computed %d times, not %d", workers, i, count, 2*repeats)
			}
		}
	}
}

// TestShareOfTheSlow has one worker that is late for all its units: the others take its dynamic share.
func TestShareOfTheSlow(t *testing.T) {
	const n = 64
	p := newTestPool(t, 2)
	var by [n]int
	step := &Func{Run: func(w *Worker, _ *Args) {
		for s := w.Share(n, 1); s.Next(); {
			if w.Part == 1 {
				time.Sleep(20 * time.Millisecond)
			}
			for i := s.Lo; i < s.Hi; i++ {
				by[i] = w.Part + 1
			}
		}
	}}
	if err := p.run(context.Background(), newTicket(), step, &Args{}, nil); err != nil {
		t.Fatal(err)
	}
	taken := 0
	for _, who := range by[n/2:] {
		if who == 1 {
			taken++
		}
	}
	if taken < 4 {
		t.Errorf("worker 0 took %d units of a worker that was late", taken)
	}
}
