package runtime

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	goruntime "runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

// TestStepsEqualCalls runs random calls of several sessions twice: one by one, and started ahead with waits in random
// order. The logits are those of the definition in both.
func TestStepsEqualCalls(t *testing.T) {
	m, _ := openProgram(t, toySessions(4, nil), Options{Poison: true})
	g := newSessions(mustSession(t, m))
	var wg sync.WaitGroup
	for seed := range uint64(8) {
		s := mustSession(t, m)
		if seed%2 == 1 {
			s = seatOf(t, g)
		}
		wg.Go(func() { startRandomly(t, s, rand.New(rand.NewPCG(seed, 1))) })
	}
	wg.Wait()
}

func mustSession(t testing.TB, m *Model) *Session {
	t.Helper()
	s, err := m.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// startRandomly starts steps until the context is full.
func startRandomly(t *testing.T, s *Session, r *rand.Rand) {
	var all []int32
	var steps []*LogitsStep
	var want [][]float32
	for len(all) < toyContext-10 {
		ids := make([]int32, 1+r.IntN(10))
		for i := range ids {
			ids[i] = int32(r.IntN(toyVocab))
		}
		start := func() (*LogitsStep, error) { return s.StartPrefill(t.Context(), ids) }
		if r.IntN(2) == 0 {
			ids = ids[:1]
			start = func() (*LogitsStep, error) { return s.StartDecode(t.Context(), ids[0]) }
		}
		all = append(all, ids...)
		st, err := start()
		if err != nil {
			t.Error(err)
			return
		}
		for i := range ids {
			ids[i] = -1 // they are copied
		}
		steps, want = append(steps, st), append(want, toyWant(all))
	}
	for _, i := range r.Perm(len(steps)) {
		for range 2 { // the second Wait returns the same
			if got, err := steps[i].Wait(); err != nil || !slices.Equal(got, want[i]) {
				t.Errorf("step %d: %v, %v, want %v", i, err, got, want[i])
				return
			}
		}
	}
	if s.Len() != len(all) {
		t.Errorf("%d positions, want %d", s.Len(), len(all))
	}
}

// TestStartedCallsEqualCalls does the same for functions of a module that is no language model.
func TestStartedCallsEqualCalls(t *testing.T) {
	m, _ := openProgram(t, grid(), Options{})
	var wg sync.WaitGroup
	for seed := range uint64(4) {
		s, r := mustSession(t, m), rand.New(rand.NewPCG(seed, 2))
		wg.Go(func() {
			const n = 40
			steps, outs, want := make([]*Step, n), make([][]float32, n), make([][]float32, n)
			for i := range n {
				x, y := []float32{float32(r.IntN(100)), 2, 3, 4}, []int32{int32(r.IntN(3)), 1}
				want[i] = []float32{x[0] + float32(10*y[0]+10), x[1] + float32(10*y[0]+10), 3 + 20, 4 + 20}
				var err error
				if steps[i], err = s.Start(t.Context(), 0, []any{x, y}, []any{&outs[i]}); err != nil {
					t.Error(err)
					return
				}
			}
			for i := range n {
				if err := steps[i].Wait(); err != nil || !slices.Equal(outs[i], want[i]) {
					t.Errorf("call %d: %v, %v, want %v", i, err, outs[i], want[i])
				}
			}
		})
	}
	wg.Wait()
}

// gated returns a toy whose steps wait for a token of the channel, by worker 0, and tell that they have begun.
func gated(p *Program) (begun, gate chan bool) {
	begun, gate = make(chan bool, 100), make(chan bool, 100)
	for i := range p.Funcs {
		run := p.Funcs[i].Run
		p.Funcs[i].Run = func(w *Worker, a *Args) {
			if w.Part == 0 {
				begun <- true
				<-gate
			}
			run(w, a)
		}
	}
	return begun, gate
}

// TestStepsAfterAFailureAreSkipped cancels a step that others follow. The session is then as it was before it.
func TestStepsAfterAFailureAreSkipped(t *testing.T) {
	p := toyProgram()
	begun, gate := gated(p)
	m, s := openProgram(t, p, Options{Threads: 2})
	other := mustSession(t, m)
	ctx, cancel := context.WithCancelCause(t.Context())
	first, e1 := s.StartPrefill(t.Context(), []int32{1, 2, 3})
	<-begun
	second, e2 := s.StartPrefill(ctx, []int32{4})
	third, e3 := s.StartDecode(t.Context(), 5)
	free, e4 := other.StartDecode(t.Context(), 9)
	if err := errors.Join(e1, e2, e3, e4); err != nil {
		t.Fatal(err)
	}
	cause := errors.New("the user left")
	cancel(cause)
	for range 10 {
		gate <- true
	}
	if got, err := first.Wait(); err != nil || !slices.Equal(got, toyWant([]int32{1, 2, 3})) {
		t.Errorf("the first step: %v, %v", got, err)
	}
	for range 2 {
		if _, err := third.Wait(); !errors.Is(err, ErrSkipped) || !errors.Is(err, ErrCancelled) || !errors.Is(err, cause) {
			t.Errorf("the third step: %v", err)
		}
		if _, err := second.Wait(); errors.Is(err, ErrSkipped) || !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
			t.Errorf("the second step: %v", err)
		}
	}
	if got, err := free.Wait(); err != nil || !slices.Equal(got, toyWant([]int32{9})) {
		t.Errorf("the other session: %v, %v", got, err)
	}
	if s.Len() != 3 {
		t.Errorf("%d positions", s.Len())
	}
	if got, err := s.Decode(t.Context(), 7); err != nil || !slices.Equal(got, toyWant([]int32{1, 2, 3, 7})) {
		t.Errorf("after the failure: %v, %v", got, err)
	}
}

// TestUnseenFailuresSkip: until a caller has seen the error, everything that was to follow it is skipped.
func TestUnseenFailuresSkip(t *testing.T) {
	_, s := openToy(t, 1)
	bad, err := s.StartPrefill(t.Context(), make([]int32, toyContext+1))
	if err != nil {
		t.Fatal(err)
	}
	s.settle()
	next, err := s.StartDecode(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Decode(t.Context(), 2); !errors.Is(err, ErrSkipped) || !errors.Is(err, ErrContextFull) {
		t.Errorf("a call: %v", err)
	}
	if got, err := s.Decode(t.Context(), 3); err != nil || !slices.Equal(got, toyWant([]int32{3})) {
		t.Errorf("the call after it: %v, %v", got, err)
	}
	if _, err := next.Wait(); !errors.Is(err, ErrSkipped) {
		t.Errorf("the step after the failure: %v", err)
	}
	if _, err := bad.Wait(); !errors.Is(err, ErrContextFull) || errors.Is(err, ErrSkipped) {
		t.Errorf("the step that failed: %v", err)
	}
	if got, err := s.Decode(t.Context(), 4); err != nil || !slices.Equal(got, toyWant([]int32{3, 4})) {
		t.Errorf("at the end: %v, %v", got, err)
	}
}

// TestStartRefuses what it can know at once, without effect on the steps in progress.
func TestStartRefuses(t *testing.T) {
	_, s := openToy(t, 1)
	for _, ids := range [][]int32{{}, {-1}, {toyVocab}} {
		if _, err := s.StartPrefill(t.Context(), ids); !errors.Is(err, ErrInput) {
			t.Errorf("%v: %v", ids, err)
		}
	}
	_, x := openProgram(t, grid(), Options{})
	var out []float32
	if _, err := x.Start(t.Context(), 0, []any{1, 2}, []any{&out}); !errors.Is(err, ErrInput) {
		t.Errorf("wrong types: %v", err)
	}
	if _, err := x.StartPrefill(t.Context(), []int32{1}); !errors.Is(err, ErrInput) {
		t.Errorf("no language model: %v", err)
	}
	st, err := x.Start(t.Context(), 0, []any{[]float32{1, 2}, []int32{0, 3}}, []any{&out})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Wait(); !errors.Is(err, ErrInput) {
		t.Errorf("an index beyond the rows: %v", err)
	}
	g := openSessions(t, 2, nil)
	if _, err := seatOf(t, g).Start(t.Context(), 0, nil, nil); !errors.Is(err, ErrInput) {
		t.Errorf("a session of several: %v", err)
	}
	s.busy.Store(true) // as if another goroutine used it
	if _, err := s.StartDecode(t.Context(), 1); !errors.Is(err, ErrBusy) {
		t.Errorf("a session in use: %v", err)
	}
	s.busy.Store(false)
}

// TestCallsWaitForSteps: each call sees the steps that were started before it.
func TestCallsWaitForSteps(t *testing.T) {
	p := toySessions(1, nil)
	begun, gate := gated(p)
	_, s := openProgram(t, p, Options{Threads: 1})
	if _, err := s.StartPrefill(t.Context(), []int32{1, 2}); err != nil {
		t.Fatal(err)
	}
	<-begun
	time.AfterFunc(20*time.Millisecond, func() { close(gate) })
	got, err := s.Decode(t.Context(), 3)
	if err != nil || !slices.Equal(got, toyWant([]int32{1, 2, 3})) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := s.StartDecode(t.Context(), 4); err != nil || s.Len() != 4 {
		t.Errorf("%v, %d positions", err, s.Len())
	}
	if _, err := s.StartDecode(t.Context(), 5); err != nil || len(save(t, s)) < savedHead+5*4 {
		t.Error(err)
	}
	if _, err := s.StartDecode(t.Context(), 6); err != nil || s.Truncate(2) != nil || s.Len() != 2 {
		t.Errorf("%v, %d positions", err, s.Len())
	}
}

// TestCloseWithStepsInFlight: the step in progress ends, the others return ErrClosed, and no goroutine is left.
func TestCloseWithStepsInFlight(t *testing.T) {
	before := goruntime.NumGoroutine()
	for round := range 20 {
		p := toyProgram()
		begun, gate := gated(p)
		m, err := Open(p, Options{Threads: 2})
		if err != nil {
			t.Fatal(err)
		}
		var steps []*LogitsStep
		for range 3 {
			s := mustSession(t, m)
			for id := range int32(4) {
				st, err := s.StartDecode(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				steps = append(steps, st)
			}
		}
		<-begun
		for range 1 + round%3 {
			gate <- true
		}
		go func() {
			for !m.pool.queue.isClosed() {
				goruntime.Gosched()
			}
			close(gate)
		}()
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		closed := 0
		for _, st := range steps {
			_, err := st.Wait()
			if err != nil && !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
			if errors.Is(err, ErrClosed) {
				closed++
			}
		}
		if closed == 0 {
			t.Error("Close waited for all steps")
		}
		if _, err := m.NewSession(); !errors.Is(err, ErrClosed) {
			t.Errorf("a new session: %v", err)
		}
		if _, err := steps[0].step.session.StartDecode(t.Context(), 1); !errors.Is(err, ErrClosed) {
			t.Errorf("a new step: %v", err)
		}
	}
	noMoreGoroutines(t, before)
}

// noMoreGoroutines waits until there are as few goroutines as before.
func noMoreGoroutines(t *testing.T, before int) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); goruntime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			stack := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, %d before:\n%s", goruntime.NumGoroutine(), before, stack[:goruntime.Stack(stack, true)])
		}
	}
}

// TestForgottenStepsLeaveNoGoroutine: a step without a Wait ends by itself.
func TestForgottenStepsLeaveNoGoroutine(t *testing.T) {
	m, _ := openToy(t, 1)
	before := goruntime.NumGoroutine()
	for range 10 {
		s := mustSession(t, m)
		for id := range int32(5) {
			if _, err := s.StartDecode(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
	}
	noMoreGoroutines(t, before)
}

// TestManyGoroutinesShareAStep waits for one step from several goroutines, while others are started.
func TestManyGoroutinesShareAStep(t *testing.T) {
	_, s := openToy(t, 2)
	want := toyWant([]int32{1})
	st, err := s.StartDecode(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			got, err := st.Wait()
			if err != nil || !slices.Equal(got, want) {
				errs[i] = fmt.Errorf("%v, %v", got, err)
			}
		})
		if _, err := s.StartDecode(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	if s.Len() != 9 {
		t.Errorf("%d positions", s.Len())
	}
}
