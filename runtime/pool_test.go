package runtime

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// newTestPool returns a pool of n workers, for any GOMAXPROCS.
func newTestPool(t testing.TB, n int) *pool {
	procs(t, max(n, goruntime.GOMAXPROCS(0)))
	p := newPool(n, Align)
	t.Cleanup(func() { p.close() })
	return p
}

func TestBarrierOrdersWritesAndReads(t *testing.T) {
	const repeats = 300
	for _, n := range []int{1, 2, 3, 8} {
		p := newTestPool(t, n)
		cells := make([]int, n) // not atomic, so that the race detector checks the order
		step := &Func{Name: "ring", Run: func(w *Worker, _ *Args) {
			for r := range repeats {
				cells[w.Part] = r + w.Part
				w.Barrier()
				next := (w.Part + 1) % w.Parts
				if got := cells[next]; got != r+next {
					panic(fmt.Sprintf("run %d: worker %d sees %d", r, w.Part, got))
				}
				w.Barrier()
			}
		}}
		if err := p.run(context.Background(), newTicket(), step, &Args{}, nil); err != nil {
			t.Errorf("%d workers: %v", n, err)
		}
	}
}

func TestMaxPartsLimitsWorkersWithScratchEach(t *testing.T) {
	p := newTestPool(t, 4)
	var seen [4]atomic.Int32
	step := &Func{Run: func(w *Worker, a *Args) {
		seen[w.Part].Store(int32(w.Parts))
		if a.Scratch == nil {
			panic("no scratch")
		}
	}}
	for _, maxParts := range []int{0, 1, 3, 9} {
		for i := range seen {
			seen[i].Store(0)
		}
		step.MaxParts = maxParts
		if err := p.run(context.Background(), newTicket(), step, &Args{}, nil); err != nil {
			t.Fatal(err)
		}
		want := 4
		if maxParts > 0 {
			want = min(4, maxParts)
		}
		for i := range seen {
			if got := int(seen[i].Load()); i < want && got != want || i >= want && got != 0 {
				t.Errorf("MaxParts %d: worker %d ran with %d parts", maxParts, i, got)
			}
		}
	}
}

func TestFaultOfOneWorkerEndsTheStep(t *testing.T) {
	for _, n := range []int{1, 2, 5} {
		p := newTestPool(t, n)
		for bad := range n {
			step := &Func{Name: "bad", Run: func(w *Worker, _ *Args) {
				w.Barrier()
				if w.Part == bad {
					panic("out of order")
				}
				w.Barrier() // never complete
				w.Barrier()
			}}
			err := p.run(context.Background(), newTicket(), step, &Args{}, nil)
			var fe *FaultError
			if !errors.As(err, &fe) || fe.Part != bad || fe.Func != "bad" || fe.Value != "out of order" {
				t.Fatalf("%d workers, %d fails: %v", n, bad, err)
			}
			good := &Func{Run: func(w *Worker, _ *Args) { w.Barrier() }}
			if err := p.run(context.Background(), newTicket(), good, &Args{}, nil); err != nil {
				t.Fatalf("the step after a fault: %v", err)
			}
		}
	}
}

func TestStopIsTheSameForAll(t *testing.T) {
	const n, layers = 4, 50
	p := newTestPool(t, n)
	for at := range 10 {
		ctx, cancel := context.WithCancel(context.Background())
		var left [n]atomic.Int32
		step := &Func{Run: func(w *Worker, _ *Args) {
			for l := range layers {
				if w.Part == at%n && l == at {
					cancel()
				}
				w.Barrier()
				if w.Stop() {
					left[w.Part].Store(int32(l))
					return
				}
			}
		}}
		err := p.run(ctx, newTicket(), step, &Args{}, nil)
		if !errors.Is(err, ErrCancelled) || !errors.Is(err, context.Canceled) {
			t.Fatalf("error %v", err)
		}
		for i := range left {
			if l := left[i].Load(); l != left[0].Load() || l < int32(at) || l > int32(at)+2 {
				t.Errorf("cancelled in layer %d: worker %d left in layer %d, worker 0 in %d", at, i, l, left[0].Load())
			}
		}
	}
}

func TestLateCancelIsNoError(t *testing.T) {
	p := newTestPool(t, 2)
	ctx, cancel := context.WithCancel(context.Background())
	step := &Func{Run: func(w *Worker, _ *Args) {
		w.Barrier()
		w.Stop()
		cancel()
		w.Barrier()
	}}
	if err := p.run(ctx, newTicket(), step, &Args{}, nil); err != nil {
		t.Errorf("a step that was done returned %v", err)
	}
}

func TestCancelErrorHasDeadlineAndCause(t *testing.T) {
	p := newTestPool(t, 1)
	ctx, cancel := context.WithTimeout(context.Background(), -time.Second)
	defer cancel()
	noop := &Func{Run: func(*Worker, *Args) {}}
	if err := p.run(ctx, newTicket(), noop, &Args{}, nil); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrCancelled) {
		t.Error(err)
	}
	reason := errors.New("the user left")
	caused, cancelCause := context.WithCancelCause(context.Background())
	cancelCause(reason)
	if err := p.run(caused, newTicket(), noop, &Args{}, nil); !errors.Is(err, reason) || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestQueueIsFirstComeFirstServed holds the pool, lets callers queue one after another, cancels one of them, and
// checks the order in which the others run.
func TestQueueIsFirstComeFirstServed(t *testing.T) {
	p := newTestPool(t, 2)
	hold, held := make(chan bool), make(chan bool)
	var wg sync.WaitGroup
	wg.Go(func() {
		p.run(context.Background(), newTicket(), &Func{MaxParts: 1, Run: func(*Worker, *Args) { held <- true; <-hold }}, &Args{}, nil)
	})
	<-held
	var order []int
	ctx, cancel := context.WithCancel(context.Background())
	errs := make([]error, 6)
	for i := range errs {
		wg.Go(func() {
			c := context.Background()
			if i == 2 || i == 5 {
				c = ctx
			}
			errs[i] = p.run(c, newTicket(), &Func{MaxParts: 1, Run: func(*Worker, *Args) { order = append(order, i) }}, &Args{}, nil)
		})
		waitFor(t, func() bool { return p.queue.length() == i+1 })
	}
	cancel()
	waitFor(t, func() bool { return p.queue.length() == 4 })
	close(hold)
	wg.Wait()
	if !slices.Equal(order, []int{0, 1, 3, 4}) {
		t.Errorf("order %v", order)
	}
	for i, err := range errs {
		if errors.Is(err, ErrCancelled) != (i == 2 || i == 5) {
			t.Errorf("caller %d: %v", i, err)
		}
	}
}

func (q *queue) length() (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for t := q.first; t != nil; t = t.next {
		n++
	}
	return n
}

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); {
		if time.Now().After(end) {
			t.Fatal("it does not come to pass")
		}
		time.Sleep(100 * time.Microsecond)
	}
}

func TestCloseRefusesWaitingCallers(t *testing.T) {
	p := newTestPool(t, 2)
	hold, held := make(chan bool), make(chan bool)
	var wg sync.WaitGroup
	wg.Go(func() {
		err := p.run(context.Background(), newTicket(), &Func{MaxParts: 1, Run: func(*Worker, *Args) { held <- true; <-hold }}, &Args{}, nil)
		if err != nil {
			t.Errorf("the step in progress: %v", err)
		}
	})
	<-held
	for range 3 {
		wg.Go(func() {
			if err := p.run(context.Background(), newTicket(), &Func{Run: func(*Worker, *Args) { t.Error("ran") }}, &Args{}, nil); !errors.Is(err, ErrClosed) {
				t.Errorf("waiting: %v", err)
			}
		})
	}
	waitFor(t, func() bool { return p.queue.length() == 3 })
	wg.Go(func() { p.close() })
	waitFor(t, func() bool { return p.queue.isClosed() })
	close(hold)
	wg.Wait()
}

// TestIdleWorkersPark inspects the workers' goroutines some time after a step.
func TestIdleWorkersPark(t *testing.T) {
	p := newTestPool(t, 3)
	if err := p.run(context.Background(), newTicket(), &Func{Run: func(w *Worker, _ *Args) { w.Barrier() }}, &Args{}, nil); err != nil {
		t.Fatal(err)
	}
	for _, w := range p.workers[1:] {
		waitFor(t, func() bool { return w.start.asleep.Load() != 0 })
	}
}

// TestHammerConcurrentSteps runs steps of many sessions with cancellations, faults and a changing GOMAXPROCS, on more
// workers than processors. The results of steps that are not cancelled must be right.
func TestHammerConcurrentSteps(t *testing.T) {
	procs(t, 8)
	m, _ := openToy(t, 8)
	sessions, repeats := 6, 60
	if testing.Short() {
		repeats = 10
	}
	stop := make(chan bool)
	var wg, changer sync.WaitGroup
	changer.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				goruntime.GOMAXPROCS(1 + i%8)
			}
		}
	})
	for i := range sessions {
		wg.Go(func() { hammerSession(t, m, i, repeats) })
	}
	wg.Wait()
	close(stop)
	changer.Wait()
}

func hammerSession(t *testing.T, m *Model, seed, repeats int) {
	s, err := m.NewSession()
	if err != nil {
		t.Error(err)
		return
	}
	bad := &Func{Name: "bad", Run: func(w *Worker, _ *Args) {
		w.Barrier()
		if w.Part == seed%w.Parts {
			panic("hammer")
		}
		w.Barrier()
	}}
	for r := range repeats {
		s.Reset()
		tokens := prompt(1 + (seed*7+r)%20)
		ctx, cancel := context.WithCancel(context.Background())
		if (seed+r)%3 == 0 {
			go func() { time.Sleep(time.Duration(r) * time.Microsecond); cancel() }()
		}
		got, err := s.Prefill(ctx, tokens)
		switch {
		case err == nil && !slices.Equal(got, toyWant(tokens)):
			t.Errorf("wrong logits in run %d", r)
		case err != nil && !errors.Is(err, ErrCancelled):
			t.Errorf("run %d: %v", r, err)
		case err != nil && s.Len() != 0:
			t.Errorf("run %d: %d positions after a cancelled prompt", r, s.Len())
		}
		cancel()
		if (seed+r)%4 == 0 {
			if err := m.pool.run(context.Background(), s.ticket, bad, &s.args, nil); !errors.Is(err, ErrFault) || !strings.Contains(err.Error(), "hammer") {
				t.Errorf("a fault gives %v", err)
			}
		}
	}
}

// BenchmarkStep measures the cost of a step without its work.
func BenchmarkStep(b *testing.B) {
	for _, n := range []int{1, 2} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p, t, a := newTestPool(b, n), newTicket(), &Args{}
			step := &Func{Run: func(*Worker, *Args) {}}
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			for b.Loop() {
				if err := p.run(ctx, t, step, a, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkBarrier measures the cost of a barrier at which all workers arrive together.
func BenchmarkBarrier(b *testing.B) {
	for _, n := range []int{2, 4} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := newTestPool(b, n)
			step := &Func{Run: func(w *Worker, _ *Args) {
				for range b.N {
					w.Barrier()
				}
			}}
			b.ResetTimer()
			if err := p.run(context.Background(), newTicket(), step, &Args{}, nil); err != nil {
				b.Fatal(err)
			}
		})
	}
}
