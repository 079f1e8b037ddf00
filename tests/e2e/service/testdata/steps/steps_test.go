// Package steps uses generated packages: steps that are started and waited for, states by name, forks and weights from elsewhere.
package steps

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"example.com/steps/parity"
	"example.com/steps/random"
	"example.com/steps/sim"
	"example.com/steps/split"
	"example.com/steps/story"
	"github.com/ggmlc/ggmlc/runtime"
)

// Two calls are started before the first result is needed.
func Example() {
	model, err := parity.Open(parity.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer model.Close()
	session, _ := model.NewSession()
	first, err1 := session.StartParity(context.Background(), parity.ParityInputs{X: []float32{1, 0, 1, 1}})
	second, err2 := session.StartParity(context.Background(), parity.ParityInputs{X: []float32{1, 0, 0, 1}})
	if err := errors.Join(err1, err2); err != nil {
		fmt.Println(err)
		return
	}
	one, err1 := first.Wait()
	two, err2 := second.Wait()
	fmt.Println(one.Y, two.Y, errors.Join(err1, err2))
	// Output: [1] [0] <nil>
}

// A session is forked: both continue the same beginning. The states of the fork are its own.
func Example_fork() {
	model, err := story.Open(story.Options{Threads: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer model.Close()
	ctx := context.Background()
	session, _ := model.NewSession()
	if _, err := session.Prefill(ctx, []int32{1, 2, 3}); err != nil {
		fmt.Println(err)
		return
	}
	fork, err := session.Fork(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	step, err := fork.StartDecode(ctx, 4)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = step.Wait()
	fmt.Println(session.Len(), fork.Len(), err)
	keys, err := fork.ReadState("blk.0.keys")
	fmt.Println(keys.Type, keys.Shape, len(keys.Data), err)
	// Output:
	// 3 4 <nil>
	// f16 [1 2 64 32] 8192 <nil>
}

// machine is a generated package as these tests use it.
type machine struct {
	name string
	open func() (interface{ Close() error }, func() *runtime.Session)
}

// opener opens a package's model.
func opener[M interface{ Close() error }, S interface{ Runtime() *runtime.Session }](m M, err error, newSession func(M) (S, error)) (interface{ Close() error }, func() *runtime.Session) {
	if err != nil {
		panic(err)
	}
	return m, func() *runtime.Session {
		s, err := newSession(m)
		if err != nil {
			panic(err)
		}
		return s.Runtime()
	}
}

var machines = []machine{
	{"the processor", func() (interface{ Close() error }, func() *runtime.Session) {
		m, err := story.Open(story.Options{})
		return opener(m, err, (*story.Model).NewSession)
	}},
	{"two devices", func() (interface{ Close() error }, func() *runtime.Session) {
		m, err := split.Open(split.Options{})
		return opener(m, err, (*split.Model).NewSession)
	}},
	{"two devices, a random model", func() (interface{ Close() error }, func() *runtime.Session) {
		m, err := random.Open(random.Options{})
		return opener(m, err, (*random.Model).NewSession)
	}},
	{"a simulated GPU", func() (interface{ Close() error }, func() *runtime.Session) {
		m, err := sim.Open(sim.Options{})
		return opener(m, err, (*sim.Model).NewSession)
	}},
}

// prompts returns random calls: prompts of several lengths, of which those of one token are decoded.
func prompts(r *rand.Rand, vocab int) (calls [][]int32) {
	for left := 24; left > 0; {
		ids := make([]int32, min(left, 1+r.IntN(6)))
		for i := range ids {
			ids[i] = int32(r.IntN(vocab))
		}
		left -= len(ids)
		calls = append(calls, ids)
	}
	return calls
}

// run runs calls one by one.
func run(t *testing.T, s *runtime.Session, calls [][]int32) (logits [][]float32) {
	t.Helper()
	for _, ids := range calls {
		call := s.Prefill
		if len(ids) == 1 {
			call = func(ctx context.Context, ids []int32) ([]float32, error) { return s.Decode(ctx, ids[0]) }
		}
		got, err := call(t.Context(), ids)
		if err != nil {
			t.Fatal(err)
		}
		logits = append(logits, slices.Clone(got))
	}
	return logits
}

// start starts calls.
func start(t *testing.T, s *runtime.Session, calls [][]int32) (steps []*runtime.LogitsStep) {
	for _, ids := range calls {
		call := s.StartPrefill
		if len(ids) == 1 {
			call = func(ctx context.Context, ids []int32) (*runtime.LogitsStep, error) { return s.StartDecode(ctx, ids[0]) }
		}
		st, err := call(t.Context(), ids)
		if err != nil {
			t.Error(err)
			return steps
		}
		steps = append(steps, st)
	}
	return steps
}

// TestStepsHaveTheSameBits runs the same calls one by one and started ahead, in several sessions at once.
func TestStepsHaveTheSameBits(t *testing.T) {
	for _, m := range machines {
		model, session := m.open()
		var wg sync.WaitGroup
		for seed := range uint64(3) {
			r := rand.New(rand.NewPCG(seed, 7))
			calls := prompts(r, session().Model().Program().LM.Vocab)
			want := run(t, session(), calls)
			s := session()
			wg.Go(func() {
				steps := start(t, s, calls)
				for _, i := range r.Perm(len(steps)) {
					if got, err := steps[i].Wait(); err != nil || !slices.Equal(got, want[i]) {
						t.Errorf("%s: call %d of %d has other logits (%v)", m.name, i, len(calls), err)
					}
				}
			})
		}
		wg.Wait()
		if err := model.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestStatesMoveBetweenSessions continues a sequence in a fork, in a session that has loaded it, and in one whose states were
// written by name. All have the same logits, bit for bit.
func TestStatesMoveBetweenSessions(t *testing.T) {
	for _, m := range machines {
		model, session := m.open()
		s := session()
		p := s.Model().Program()
		run(t, s, prompts(rand.New(rand.NewPCG(1, 2)), p.LM.Vocab))
		n := s.Len()
		var data bytes.Buffer
		if err := s.Save(&data); err != nil {
			t.Fatalf("%s: %v", m.name, err)
		}
		fork, err := s.Fork(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", m.name, err)
		}
		loaded, written := session(), session()
		if err := loaded.Load(&data); err != nil {
			t.Fatalf("%s: %v", m.name, err)
		}
		run(t, written, [][]int32{make([]int32, n)}) // as long, of other tokens
		for i := range p.States {
			a, err := s.ReadState(p.States[i].Name)
			if err == nil {
				err = written.WriteState(p.States[i].Name, a)
			}
			if err != nil {
				t.Fatalf("%s: %v", m.name, err)
			}
		}
		next := [][]int32{{3}, {4, 5, 6}, {7}}
		want := run(t, s, next)
		for what, other := range map[string]*runtime.Session{"fork": fork, "load": loaded, "write": written} {
			for i, got := range run(t, other, next) {
				if !slices.Equal(got, want[i]) {
					t.Errorf("%s: %s: call %d has other logits", m.name, what, i)
				}
			}
		}
		if err := model.Close(); err != nil {
			t.Error(err)
		}
	}
}
