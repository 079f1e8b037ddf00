package fake_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/fake"
)

// wrong runs prompts of many chunks on a new model. It returns how many gave another token than the definition.
func wrong(t *testing.T, o toy, prompts int) int {
	t.Helper()
	m := o.open(t, runtime.Options{Threads: 1})
	bad := 0
	for i := range prompts {
		prompt := toyPrompt(40 + i)
		logits, err := newSession(t, m).Prefill(t.Context(), prompt)
		if err != nil {
			t.Fatal(err)
		}
		if best(logits) != toyNext(prompt, toyBatch) {
			bad++
		}
	}
	return bad
}

func TestStepsGiveTheDefinedTokens(t *testing.T) {
	for pipeline := range 5 {
		for seed := range uint64(4) {
			o := toy{pipeline: pipeline, options: fake.Options{Seed: seed}}
			if bad := wrong(t, o, 4); bad > 0 {
				t.Errorf("pipeline %d, seed %d: %d of 4 prompts go wrong", pipeline, seed, bad)
			}
		}
	}
}

// TestMissingWaitIsFound leaves out one wait. The devices have to show that, within many prompts.
func TestMissingWaitIsFound(t *testing.T) {
	if raceDetector {
		t.Skip("skip: the race detector finds what this test looks for")
	}
	for _, c := range []struct {
		name string
		drop int
		only int // steps in flight from which on the wait is needed
	}{
		{"the second device waits for the sum", summed, 1},
		{"the sum waits until the second device has read the one before", hashed, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := 0
			for seed := uint64(0); bad == 0 && seed < 50; seed++ {
				bad += wrong(t, toy{pipeline: c.only, drop: c.drop, options: fake.Options{Seed: seed}}, 2)
			}
			if bad == 0 {
				t.Error("without it nothing ever goes wrong")
			}
		})
	}
	if bad := wrong(t, toy{pipeline: 1, drop: hashed}, 4); bad > 0 {
		t.Errorf("with one step at a time a wait for the step before changes %d results", bad)
	}
}

func TestDecodeAllocatesNothing(t *testing.T) {
	o := toy{pipeline: 2}
	s := newSession(t, o.open(t, runtime.Options{Threads: 1}))
	if _, err := s.Prefill(t.Context(), toyPrompt(8)); err != nil {
		t.Fatal(err)
	}
	allocs := testing.AllocsPerRun(50, func() {
		if _, err := s.Decode(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
	})
	if allocs >= 1 {
		t.Errorf("%v allocations a token", allocs)
	}
}

// TestSessionsDoNotShareMemory runs several sessions at once.
func TestSessionsDoNotShareMemory(t *testing.T) {
	m := (&toy{pipeline: 2}).open(t, runtime.Options{})
	var wg sync.WaitGroup
	for i := range 4 {
		s := newSession(t, m)
		wg.Go(func() {
			prompt := toyPrompt(30 + i)
			logits, err := s.Prefill(t.Context(), prompt)
			if err != nil || best(logits) != toyNext(prompt, toyBatch) {
				t.Errorf("session %d: %d, want %d, error %v", i, best(logits), toyNext(prompt, toyBatch), err)
			}
		})
	}
	wg.Wait()
}

// TestUnwrittenMemoryIsNaN has a kernel that does not write its result.
func TestUnwrittenMemoryIsNaN(t *testing.T) {
	lazy := func(e *fake.Env, _ int) {} // writes no logits
	s := newSession(t, (&toy{hash: lazy}).open(t, runtime.Options{Threads: 1}))
	for range 2 {
		logits, err := s.Prefill(t.Context(), toyPrompt(4))
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range logits {
			if !math.IsNaN(float64(l)) {
				t.Fatalf("logit %d is %v, though nothing wrote it", i, l)
			}
		}
	}
}

// TestFailedCommandFailsAllLaterSteps also checks that nothing blocks.
func TestFailedCommandFailsAllLaterSteps(t *testing.T) {
	if raceDetector {
		t.Skip("skip: the race detector checks pointers by itself, and gives up at a wrong one")
	}
	for _, c := range []struct {
		name string
		hash fake.Kernel
		want string
	}{
		{"panic", func(*fake.Env, int) { panic("the kernel broke") }, "the kernel broke"},
		{"memory of another device", func(e *fake.Env, _ int) { *word(e.Mem[memSum], 4) = 1 }, "nil pointer"},
		{"memory of the host", func(e *fake.Env, _ int) { *word(e.Mem[memHost], 4) = 1 }, "nil pointer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := (&toy{pipeline: 3, hash: c.hash}).open(t, runtime.Options{Threads: 1})
			s := newSession(t, m)
			for range 2 {
				_, err := s.Prefill(t.Context(), toyPrompt(40))
				var fault *runtime.FaultError
				if !errors.As(err, &fault) || !errors.Is(err, runtime.ErrFault) {
					t.Fatalf("error %v, want a fault", err)
				}
				if fault.Device != "second" || fault.Command != "@step split 1" || !strings.Contains(fmt.Sprint(fault.Value), c.want) {
					t.Errorf("%+v, want split 1 on second: %s", fault, c.want)
				}
			}
			if s.Len() != 0 {
				t.Errorf("%d positions after a failure", s.Len())
			}
		})
	}
}

// TestTransferOutsideOfMemoryFails copies from beyond the end of a memory.
func TestTransferOutsideOfMemoryFails(t *testing.T) {
	o := toy{}
	p := o.program()
	for i := range p.Funcs {
		p.Funcs[i].Run = func(w *runtime.Worker, a *runtime.Args) {
			a.Queues.Copy(0, &tokensLabel, 0, memIn, 0, memHost, ioBytes-4, 8)
		}
	}
	m, err := runtime.Open(p, runtime.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	_, err = newSession(t, m).Prefill(t.Context(), toyPrompt(1))
	var fault *runtime.FaultError
	if !errors.As(err, &fault) || fault.Command != "@step split 0: tokens" {
		t.Errorf("error %v, want a fault of the transfer", err)
	}
}

// TestCloseWaitsForStepsInFlight also checks that later steps return ErrClosed.
func TestCloseWaitsForStepsInFlight(t *testing.T) {
	m := (&toy{pipeline: 2, hold: time.Millisecond}).open(t, runtime.Options{Threads: 1})
	s := newSession(t, m)
	done := make(chan error)
	go func() {
		_, err := s.Prefill(context.Background(), toyPrompt(200))
		done <- err
	}()
	time.Sleep(5 * time.Millisecond)
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil && !errors.Is(err, runtime.ErrClosed) {
		t.Errorf("error %v, want ErrClosed", err)
	}
	if _, err := s.Prefill(t.Context(), toyPrompt(1)); !errors.Is(err, runtime.ErrClosed) {
		t.Errorf("after Close: error %v, want ErrClosed", err)
	}
}

func TestCancelledPrefillCanBeRepeated(t *testing.T) {
	m := (&toy{pipeline: 2, hold: time.Millisecond}).open(t, runtime.Options{Threads: 1})
	s := newSession(t, m)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	if _, err := s.Prefill(ctx, toyPrompt(200)); !errors.Is(err, runtime.ErrCancelled) {
		t.Fatalf("error %v, want ErrCancelled", err)
	}
	if s.Len() != 0 {
		t.Errorf("%d positions after a cancelled prompt", s.Len())
	}
	if _, err := s.Prefill(t.Context(), toyPrompt(8)); err != nil {
		t.Errorf("the next prompt: %v", err)
	}
}

// traceEvent is a line of a timeline.
type traceEvent struct {
	Phase   string `json:"ph"`
	Name    string
	TS, Dur float64
	TID     int
	Args    struct {
		Step, Split int
		Name        string
	}
}

// TestTimelineShowsOverlappingSteps finds a command of a step that begins before the previous step has ended.
func TestTimelineShowsOverlappingSteps(t *testing.T) {
	for _, c := range []struct {
		pipeline int
		overlaps bool
	}{{1, false}, {2, true}} {
		var out bytes.Buffer
		o := toy{pipeline: c.pipeline, hold: 200 * time.Microsecond}
		m := o.open(t, runtime.Options{Threads: 1, Timeline: &out})
		if _, err := newSession(t, m).Prefill(t.Context(), toyPrompt(40)); err != nil {
			t.Fatal(err)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		var events []traceEvent
		if err := json.Unmarshal(out.Bytes(), &events); err != nil {
			t.Fatalf("%v\n%s", err, out.Bytes())
		}
		if events[0].Args.Name != "first" || events[1].Args.Name != "second" {
			t.Errorf("the queues are %q and %q", events[0].Args.Name, events[1].Args.Name)
		}
		const perStep, steps = 5, 10
		if n := len(events) - 2; n != perStep*steps {
			t.Errorf("pipeline %d: %d spans, want %d of each of %d steps", c.pipeline, n, perStep, steps)
		}
		if got := overlaps(events); got != c.overlaps {
			t.Errorf("pipeline %d: steps overlap: %t", c.pipeline, got)
		}
	}
}

// overlaps reports whether a span of a step begins before the previous step has ended.
func overlaps(events []traceEvent) bool {
	end := make(map[int]float64)
	for _, e := range events {
		end[e.Args.Step] = max(end[e.Args.Step], e.TS+e.Dur)
	}
	for _, e := range events {
		if e.Phase == "X" && e.Args.Step > 1 && e.TS < end[e.Args.Step-1] {
			return true
		}
	}
	return false
}

// TestCopyBoxCopiesAStridedBox copies columns of a matrix.
func TestCopyBoxCopiesAStridedBox(t *testing.T) {
	o := toy{}
	p := o.program()
	var label = runtime.Label{What: "box"}
	p.Funcs[0].Run = func(w *runtime.Worker, a *runtime.Args) {
		q := a.Queues
		for i := range 12 {
			*word(a.IO, ioLogits+4*i) = int32(i)
		}
		// Columns 1 and 2 of a matrix of 3 rows and 4 columns, column by column.
		q.CopyBox(0, &label, 0, memIn, toyTokens, memHost, ioLogits+4, 4, [4]int{1, 1, 2, 3}, [4]int{0, 0, 4, 16})
		q.Copy(0, &label, 0, memHost, ioLogits, memIn, toyTokens, 6*4)
	}
	m, err := runtime.Open(p, runtime.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	logits, err := newSession(t, m).Prefill(t.Context(), toyPrompt(4))
	if err != nil {
		t.Fatal(err)
	}
	got := unsafe.Slice((*int32)(unsafe.Pointer(&logits[0])), 6)
	if want := "[1 5 9 2 6 10]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// TestCopyPickedCopiesOnlyThePicked picks elements of three floats each, one of them twice.
func TestCopyPickedCopiesOnlyThePicked(t *testing.T) {
	o := toy{}
	p := o.program()
	var label = runtime.Label{What: "picks"}
	p.Funcs[0].Run = func(w *runtime.Worker, a *runtime.Args) {
		q := a.Queues
		for i := range 12 {
			*word(a.IO, ioLogits+4*i) = int32(i)
		}
		q.Copy(0, &label, 0, memIn, toyTokens, memHost, ioLogits+40, 4) // so that not all of it is poison
		q.CopyPicked(0, &label, 0, memIn, toyTokens, memHost, ioLogits, 12, 4, memHost, ioTokens, 3)
		q.Copy(0, &label, 0, memHost, ioLogits, memIn, toyTokens, 12*4)
	}
	m, err := runtime.Open(p, runtime.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	logits, err := newSession(t, m).Prefill(t.Context(), []int32{3, 1, 3})
	if err != nil {
		t.Fatal(err)
	}
	got := unsafe.Slice((*int32)(unsafe.Pointer(&logits[0])), 12)
	if want := "[10 -1 -1 3 4 5 -1 -1 -1 9 10 11]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestFlagsSetOptions(t *testing.T) {
	l := new(fake.Loader)
	l.SetNames([]string{"fake:0", "fake:1"})
	set := make(map[string]func(string) error)
	l.Flags(func(name, _, _ string, f func(string) error) { set[name] = f })
	for _, c := range []struct {
		flag, value string
		ok          bool
	}{
		{"fake-seed", "7", true}, {"fake-seed", "-1", false}, {"fake-seed", "x", false},
		{"fake-delay", "2ms", true}, {"fake-delay", "0s", true}, {"fake-delay", "3", false}, {"fake-delay", "-1ms", false},
		{"fake-fail", "fake:1=20", true}, {"fake-fail", "fake:1", false}, {"fake-fail", "fake:1=0", false}, {"fake-fail", "=20", false},
		{"fake-fail", "fake:2=20", false}, {"fake-fail", "cpu=20", false},
	} {
		before := l.Options
		if err := set[c.flag](c.value); (err == nil) != c.ok {
			t.Errorf("--%s %s: %v", c.flag, c.value, err)
		}
		if (l.Options != before) != c.ok {
			t.Errorf("--%s %s: %+v after %+v", c.flag, c.value, l.Options, before)
		}
	}
}
