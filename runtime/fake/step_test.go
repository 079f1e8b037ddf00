package fake_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/fake"
)

// TestStartedStepsGiveTheDefinedTokens starts random calls of several sessions, with 0 to 4 steps in flight, and waits
// for them in random order.
func TestStartedStepsGiveTheDefinedTokens(t *testing.T) {
	for pipeline := range 5 {
		m := (&toy{pipeline: pipeline, options: fake.Options{Seed: uint64(pipeline)}}).open(t, runtime.Options{Threads: 1})
		var wg sync.WaitGroup
		for seed := range uint64(3) {
			s := newSession(t, m)
			wg.Go(func() { startRandomly(t, s, rand.New(rand.NewPCG(seed, uint64(pipeline)))) })
		}
		wg.Wait()
	}
}

func startRandomly(t *testing.T, s *runtime.Session, r *rand.Rand) {
	var sum, h int32
	var steps []*runtime.LogitsStep
	var want []int32
	for range 20 {
		ids := make([]int32, 1+r.IntN(2*toyBatch+1))
		for i := range ids {
			ids[i] = int32(r.IntN(toyVocab))
		}
		var st *runtime.LogitsStep
		var err error
		if r.IntN(4) == 0 {
			ids = ids[:1]
			st, err = s.StartDecode(t.Context(), ids[0])
		} else {
			st, err = s.StartPrefill(t.Context(), ids)
		}
		if err != nil {
			t.Error(err)
			return
		}
		for i, id := range ids {
			if sum += id; i%toyBatch == toyBatch-1 || i == len(ids)-1 {
				h = nextHash(h, sum)
			}
		}
		steps, want = append(steps, st), append(want, h)
		if r.IntN(5) == 0 {
			at := r.IntN(len(steps))
			if logits, err := steps[at].Wait(); err != nil || best(logits) != want[at] {
				t.Errorf("step %d: %d, want %d, error %v", at, best(logits), want[at], err)
			}
		}
	}
	for _, i := range r.Perm(len(steps)) {
		if logits, err := steps[i].Wait(); err != nil || best(logits) != want[i] {
			t.Errorf("step %d: %d, want %d, error %v", i, best(logits), want[i], err)
		}
	}
}

// overlapping returns a toy whose second device waits, up to a limit, for the first one to work on a later step, and
// the number of steps for which it did.
func overlapping(pipeline int) (*toy, *atomic.Int32) {
	var sums, hashes, overlaps atomic.Int32
	o := &toy{pipeline: pipeline, options: fake.Options{Delay: -1}}
	o.sum = func(e *fake.Env, i int) {
		addTokens(e, i)
		sums.Add(1)
	}
	o.hash = func(e *fake.Env, i int) {
		n := hashes.Add(1)
		for begin := time.Now(); sums.Load() <= n && time.Since(begin) < 200*time.Millisecond; time.Sleep(time.Millisecond) {
		}
		if sums.Load() > n {
			overlaps.Add(1)
		}
		o.hashSum(e, i)
	}
	return o, &overlaps
}

// startAll starts a step of one token on each session.
func startAll(t *testing.T, sessions []*runtime.Session) (steps []*runtime.LogitsStep) {
	t.Helper()
	for _, s := range sessions {
		st, err := s.StartPrefill(t.Context(), []int32{1})
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, st)
	}
	return steps
}

func waitAll(t *testing.T, steps []*runtime.LogitsStep) {
	t.Helper()
	for _, st := range steps {
		if _, err := st.Wait(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCallsOverlap: with --pipeline 2 the first device works on a call while the second one works on the call before.
func TestCallsOverlap(t *testing.T) {
	for _, c := range []struct {
		pipeline int
		overlap  bool
	}{{1, false}, {2, true}, {3, true}} {
		o, overlaps := overlapping(c.pipeline)
		s := newSession(t, o.open(t, runtime.Options{Threads: 1}))
		const n = 4
		waitAll(t, startAll(t, slices.Repeat([]*runtime.Session{s}, n)))
		if got := overlaps.Load(); got > 0 != c.overlap || c.overlap && got < n-1 {
			t.Errorf("pipeline %d: %d of %d calls overlap with the next", c.pipeline, got, n)
		}
	}
}

// TestSessionsOverlap: the devices work on steps of two sessions at once, also where each has one step in flight at
// most.
func TestSessionsOverlap(t *testing.T) {
	o, overlaps := overlapping(1)
	m := o.open(t, runtime.Options{Threads: 1})
	waitAll(t, startAll(t, []*runtime.Session{newSession(t, m), newSession(t, m)}))
	if overlaps.Load() != 1 {
		t.Error("the second session's step waits for the first one's")
	}
}

// TestFailedStepsInFlight has a kernel that fails. All steps in flight report it, and nothing hangs.
func TestFailedStepsInFlight(t *testing.T) {
	for pipeline := 1; pipeline < 4; pipeline++ {
		var calls atomic.Int32
		o := toy{pipeline: pipeline}
		o.hash = func(e *fake.Env, i int) {
			if calls.Add(1) == 3 {
				panic("the device has burnt")
			}
			o.hashSum(e, i)
		}
		s := newSession(t, o.open(t, runtime.Options{Threads: 1}))
		steps := startAll(t, slices.Repeat([]*runtime.Session{s}, 8))
		for i := len(steps) - 1; i >= 0; i-- {
			_, err := steps[i].Wait()
			if i >= 2 && !errors.Is(err, runtime.ErrFault) || err != nil && !errors.Is(err, runtime.ErrFault) {
				t.Errorf("pipeline %d, step %d: %v", pipeline, i, err)
			}
		}
	}
}

// TestCancelledStepInFlight cancels a step while others are on the devices: those before it end, those after it are
// skipped, and the session continues after them.
func TestCancelledStepInFlight(t *testing.T) {
	for pipeline := 1; pipeline < 5; pipeline++ {
		o := toy{pipeline: pipeline, hold: 2 * time.Millisecond}
		s := newSession(t, o.open(t, runtime.Options{Threads: 1}))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		ids := toyPrompt(8)
		var steps []*runtime.LogitsStep
		for i, id := range ids {
			with := t.Context()
			if i == 5 {
				with = ctx
			}
			st, err := s.StartPrefill(with, []int32{id})
			if err != nil {
				t.Fatal(err)
			}
			steps = append(steps, st)
		}
		for i, st := range steps {
			logits, err := st.Wait()
			switch {
			case i < 5 && (err != nil || best(logits) != toyNext(ids[:i+1], 1)):
				t.Errorf("pipeline %d, step %d: %v", pipeline, i, err)
			case i >= 5 && (!errors.Is(err, context.Canceled) || errors.Is(err, runtime.ErrSkipped) != (i > 5)):
				t.Errorf("pipeline %d, step %d: %v", pipeline, i, err)
			}
		}
		logits, err := s.Decode(t.Context(), ids[5])
		if err != nil || s.Len() != 6 || best(logits) != toyNext(ids[:6], 1) {
			t.Errorf("pipeline %d: then %d, %v, %d positions", pipeline, best(logits), err, s.Len())
		}
	}
}

// TestCloseWithStepsOnDevices closes a model with steps in flight on devices.
func TestCloseWithStepsOnDevices(t *testing.T) {
	for pipeline := 1; pipeline < 4; pipeline++ {
		o := toy{pipeline: pipeline, hold: time.Millisecond}
		m, err := runtime.Open(o.program(), runtime.Options{Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		var steps []*runtime.LogitsStep
		for range 2 {
			s := newSession(t, m)
			for range 10 {
				st, err := s.StartPrefill(t.Context(), []int32{1})
				if err != nil {
					t.Fatal(err)
				}
				steps = append(steps, st)
			}
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		for i, st := range steps {
			logits, err := st.Wait()
			if err != nil && !errors.Is(err, runtime.ErrClosed) || err == nil && best(logits) < 0 {
				t.Errorf("pipeline %d, step %d: %v", pipeline, i, err)
			}
		}
	}
}

// figures is Metrics that keeps the steps.
type figures struct {
	mu    sync.Mutex
	steps []runtime.StepMetrics
}

func (f *figures) Step(s runtime.StepMetrics) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.steps = append(f.steps, s)
}

func (*figures) Generated(runtime.Summary) {}

// TestStepsInFlightAreCounted: a step is counted when it has ended on the devices, once, and one that fails with its
// error.
func TestStepsInFlightAreCounted(t *testing.T) {
	f := &figures{}
	m := (&toy{pipeline: 2}).open(t, runtime.Options{Threads: 1, Metrics: f})
	s := newSession(t, m)
	var steps []*runtime.LogitsStep
	for n := range 5 {
		st, err := s.StartPrefill(t.Context(), make([]int32, n+1))
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, st)
	}
	for range 2 {
		for _, st := range steps {
			if _, err := st.Wait(); err != nil {
				t.Fatal(err)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	st, err := s.StartDecode(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.Wait(); !errors.Is(err, runtime.ErrCancelled) {
		t.Errorf("error %v", err)
	}
	if len(f.steps) != 6 {
		t.Fatalf("%d steps are counted, not 6: %+v", len(f.steps), f.steps)
	}
	for n, x := range f.steps {
		if failed := n == 5; x.Sessions != 1 || x.Tokens != min(n, 5)%5+1 || x.Time <= 0 || errors.Is(x.Err, runtime.ErrCancelled) != failed || (x.Err != nil) != failed {
			t.Errorf("step %d is %+v", n, x)
		}
	}
}
