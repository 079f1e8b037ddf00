package runtime

import (
	"errors"
	goruntime "runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"
)

// TestThreadsChangeBetweenSteps changes the number of workers while sessions run. The logits stay those of the
// definition.
func TestThreadsChangeBetweenSteps(t *testing.T) {
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(4))
	m, _ := openToy(t, 1)
	var wg sync.WaitGroup
	for range 3 {
		s := mustSession(t, m)
		wg.Go(func() {
			for range 4 {
				s.Reset()
				for n := range 40 {
					got, err := s.Decode(t.Context(), prompt(n + 1)[n])
					if err != nil || !slices.Equal(got, toyWant(prompt(n+1))) {
						t.Errorf("%d tokens: %v, %v", n+1, err, got)
						return
					}
				}
			}
		})
	}
	for i := range 200 {
		n := 1 + i*7%5
		if err := m.SetThreads(n); err != nil || m.Threads() != min(n, 4) {
			t.Errorf("%v, %d threads, want %d", err, m.Threads(), n)
		}
	}
	wg.Wait()
}

// TestThreadsReachTheStep: a step runs on as many workers as were asked for, each with scratch of its own.
func TestThreadsReachTheStep(t *testing.T) {
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(4))
	p := toyProgram()
	var parts, scratch atomic.Int64
	p.Funcs[1].Run = func(w *Worker, a *Args) {
		if w.Part == 0 {
			parts.Store(int64(w.Parts))
		}
		mine := unsafe.Slice((*byte)(unsafe.Add(a.Scratch, w.Part*Align)), Align)
		for i := range mine {
			mine[i] = byte(w.Part)
		}
		w.Barrier()
		for _, b := range mine {
			if int(b) != w.Part {
				scratch.Add(1)
			}
		}
		w.Barrier()
	}
	m, s := openProgram(t, p, Options{Threads: 2, Steady: true})
	for _, n := range []int{2, 1, 4, 3, 1, 4} {
		if err := m.SetThreads(n); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Decode(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if parts.Load() != int64(n) || scratch.Load() != 0 {
			t.Errorf("%d workers, want %d; %d bytes of scratch are shared", parts.Load(), n, scratch.Load())
		}
	}
	if err := m.SetThreads(-1); !errors.Is(err, ErrInput) {
		t.Error(err)
	}
	m.Close()
	if err := m.SetThreads(1); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}
