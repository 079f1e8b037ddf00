package runtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Offsets in the IO arena of a toy with several sequences.
const (
	manyTokens  = 0x0
	manyPos     = 0x40
	manySlot    = 0x80
	manyLengths = 0xc0
	manyLogits  = 0x100
)

// toySessions is the toy with a state for several sequences. Its logits are those of toyWant for each sequence. steps
// counts the tokens of each joint step.
func toySessions(sequences int, steps *stepCounts) *Program {
	p := toyProgram()
	sized := []Dim{{Sym: 0, Scale: 1}}
	inputs := func(n []Dim) []Tensor {
		return []Tensor{
			{Name: "tokens", Type: dtype.I32, Dims: n, Offset: manyTokens, Below: []Dim{{Const: toyVocab}}},
			{Name: "pos", Type: dtype.I32, Dims: n, Offset: manyPos, Below: []Dim{{Const: toyContext}}},
			{Name: "slot", Type: dtype.I32, Dims: n, Offset: manySlot, Below: []Dim{{Const: sequences}}},
			{Name: "lengths", Type: dtype.I32, Dims: []Dim{{Const: sequences}}, Offset: manyLengths},
		}
	}
	last := []Tensor{{Name: "logits", Type: dtype.F32, Dims: []Dim{{Const: 1}, {Const: toyVocab}}, Offset: manyLogits}}
	p.Symbols = []Symbol{{"tokens", 1, toyBatch}, {"sequences", 1, sequences}}
	joint := []Dim{{Sym: 1, Scale: 1}}
	rows := []Tensor{{Name: "logits", Type: dtype.F32, Dims: []Dim{joint[0], {Const: toyVocab}}, Offset: manyLogits}}
	one := []Dim{{Const: 1}}
	run := func(sym int) func(*Worker, *Args) {
		return func(w *Worker, a *Args) { manyStep(w, a, sym, sequences, steps) }
	}
	p.Funcs = []Func{
		{Name: "prefill", Inputs: inputs(sized), Outputs: last, Run: run(0)},
		{Name: "decode", Inputs: inputs(one), Outputs: last, Run: run(-1)},
		{Name: "joint", Inputs: inputs(joint), Outputs: rows, Run: run(1)},
	}
	entry := func(f int) Entry { return Entry{Func: f, Tokens: 0, Pos: 1, Slot: 2, Lengths: 3} }
	p.LM.Prefill, p.LM.Decode, p.LM.Sequences = entry(0), entry(1), sequences
	if e := entry(2); sequences > 1 {
		p.LM.Joint = &e
	}
	p.States = []StateInfo{{Bytes: int64(4 * toyContext * sequences), Heads: 1}}
	p.StateBytes, p.IOBytes = int64(4*toyContext*sequences), int64(manyLogits+4*toyVocab*max(sequences, 1))
	return p
}

// stepCounts counts the steps of decode and joint by their number of tokens, and the tokens of prompts.
type stepCounts struct {
	of     [toyBatch + 1]atomic.Int32
	prompt atomic.Int32
}

// add counts a step; sym is that of its number of tokens.
func (c *stepCounts) add(n, sym int) {
	switch {
	case c == nil:
	case sym == 0:
		c.prompt.Add(int32(n))
	default:
		c.of[n].Add(1)
	}
}

// manyStep writes the tokens into the states of their sequences, then computes the logits: of each row with the
// symbol of joint steps, else of the last one.
func manyStep(w *Worker, a *Args, sym, sequences int, steps *stepCounts) {
	n := 1
	if sym >= 0 {
		n = a.Dims[sym]
	}
	ints := func(at uintptr, n int) []int32 { return unsafe.Slice((*int32)(unsafe.Add(a.IO, at)), n) }
	tokens, pos, slot, lengths := ints(manyTokens, n), ints(manyPos, n), ints(manySlot, n), ints(manyLengths, sequences)
	state := unsafe.Slice((*int32)(a.State), toyContext*sequences)
	if w.Part == 0 {
		for i := range tokens {
			state[int(slot[i])*toyContext+int(pos[i])] = tokens[i]
		}
		steps.add(n, sym)
	}
	w.Barrier()
	if w.Part != 0 || w.Stop() {
		return
	}
	first := 0
	if sym != 1 {
		first = n - 1
	}
	for i := first; i < n; i++ {
		at := int(slot[i]) * toyContext
		logits := unsafe.Slice((*float32)(unsafe.Add(a.IO, manyLogits+4*toyVocab*(i-first))), toyVocab)
		copy(logits, toyWant(state[at:at+int(lengths[slot[i]])]))
	}
}

// openSessions opens a toy with room for so many sequences.
func openSessions(t testing.TB, sequences int, steps *stepCounts) *Sessions {
	t.Helper()
	m, _ := openProgram(t, toySessions(sequences, steps), Options{Threads: 2, Poison: true, Steady: true})
	g, err := m.NewSessions()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// seatOf returns a new session that the test closes.
func seatOf(t testing.TB, g *Sessions) *Session {
	t.Helper()
	s, err := g.NewSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestSessionsComputeWhatOneDoes runs random schedules: sessions that begin, append prompts and tokens, forget
// positions, give up and end, each in a goroutine. Each result has to be that of its sequence alone.
func TestSessionsComputeWhatOneDoes(t *testing.T) {
	procs(t, 4)
	for seed := range uint64(8) {
		limit := 1 + int(seed%5)
		g := openSessions(t, limit, nil)
		var wg sync.WaitGroup
		for user := range 2 * limit {
			wg.Go(func() {
				if err := randomUser(t.Context(), g, rand.New(rand.NewPCG(seed, uint64(user)))); err != nil {
					t.Errorf("seed %d, user %d: %v", seed, user, err)
				}
			})
		}
		wg.Wait()
	}
}

// randomUser has some sessions of random calls, one after the other.
func randomUser(ctx context.Context, g *Sessions, r *rand.Rand) error {
	for range 3 {
		s, err := g.NewSession(ctx)
		if err != nil {
			return err
		}
		var sequence []int32
		for range 5 + r.IntN(60) {
			if sequence, err = randomCall(ctx, s, sequence, r); err != nil {
				return err
			}
		}
		if err := s.Close(); err != nil {
			return err
		}
	}
	return nil
}

// randomCall makes one call and returns the sequence after it.
func randomCall(ctx context.Context, s *Session, sequence []int32, r *rand.Rand) ([]int32, error) {
	ids := prompt(1)
	switch r.IntN(20) {
	case 0:
		s.Reset()
		return nil, nil
	case 1:
		n := r.IntN(len(sequence) + 1)
		return sequence[:n], s.Truncate(n)
	case 2:
		over, cancel := context.WithTimeout(ctx, time.Duration(r.IntN(50))*time.Microsecond)
		defer cancel()
		ctx = over
	case 3, 4:
		ids = make([]int32, 1+r.IntN(3*toyBatch))
	case 5, 6:
		return randomPrompt(ctx, s, r)
	case 7:
		return sequence, saveAndLoad(s)
	}
	for i := range ids {
		ids[i] = r.Int32N(toyVocab)
	}
	got, err := appendTo(ctx, s, ids)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return sequence, lengthIs(s, len(sequence))
	case errors.Is(err, ErrContextFull):
		s.Reset()
		return nil, nil
	case err != nil:
		return nil, err
	}
	sequence = append(slices.Clip(sequence), ids...)
	if want := toyWant(sequence); !slices.Equal(got, want) {
		return nil, fmt.Errorf("after %v: %v, want %v", sequence, got, want)
	}
	return sequence, lengthIs(s, len(sequence))
}

// randomPrompt begins a sequence anew that has much in common with those of others.
func randomPrompt(ctx context.Context, s *Session, r *rand.Rand) ([]int32, error) {
	ids := prompt(2 + r.IntN(toyContext-2))
	for range r.IntN(3) {
		ids[r.IntN(len(ids))] = r.Int32N(toyVocab)
	}
	got, err := s.Prompt(ctx, ids)
	if err == nil && !slices.Equal(got, toyWant(ids)) {
		return nil, fmt.Errorf("prompt %v: %v, want %v", ids, got, toyWant(ids))
	}
	return ids, err
}

// saveAndLoad saves the sequence, makes the session forget it, and loads it.
func saveAndLoad(s *Session) error {
	var b bytes.Buffer
	if err := s.Save(&b); err != nil {
		return err
	}
	s.Reset()
	return s.Load(&b)
}

// appendTo appends tokens with Decode if it can.
func appendTo(ctx context.Context, s *Session, ids []int32) ([]float32, error) {
	if len(ids) == 1 {
		return s.Decode(ctx, ids[0])
	}
	return s.Prefill(ctx, ids)
}

func lengthIs(s *Session, n int) error {
	if s.Len() != n {
		return fmt.Errorf("length %d, want %d", s.Len(), n)
	}
	return nil
}

// TestDecodesAreJoined: sessions that decode at the same time share all steps. The first step begins once all of them
// wait, and steps wait for as long as it takes: on a busy machine, a session that is ready may have no processor for
// longer than others wait for it otherwise.
func TestDecodesAreJoined(t *testing.T) {
	procs(t, 4)
	const sequences, tokens = 4, 60
	var steps stepCounts
	g := openSessions(t, sequences, &steps)
	g.joint.patience = time.Minute
	if err := g.turn.enter(t.Context(), newTicket()); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range sequences {
		s := seatOf(t, g)
		wg.Go(func() {
			defer s.leave()
			for n := range tokens {
				if _, err := s.Decode(t.Context(), int32(i+n)%toyVocab); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for g.joint.count() < sequences {
		time.Sleep(time.Millisecond)
	}
	g.turn.leave()
	wg.Wait()
	if full := steps.of[sequences].Load(); full != tokens {
		t.Errorf("%d of %d steps had all %d sessions: %v", full, tokens, sequences, &steps.of)
	}
}

// count returns how many sessions wait for the next step.
func (j *joint) count() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.waiting)
}

// TestSessionsThatBeginAreJoined: where steps use all processors, sessions that begin to decode share the first steps,
// and none runs many steps alone before the others have a processor. That holds again after all of them have paused.
func TestSessionsThatBeginAreJoined(t *testing.T) {
	procs(t, 1)
	const sequences, tokens = 4, 8
	var steps stepCounts
	g := openSessions(t, sequences, &steps)
	sessions := make([]*Session, sequences)
	for i := range sessions {
		sessions[i] = seatOf(t, g)
	}
	for turn := range 3 {
		var wg sync.WaitGroup
		for i, s := range sessions {
			wg.Go(func() {
				for n := range tokens {
					if _, err := s.Decode(t.Context(), int32(i+n)%toyVocab); err != nil {
						t.Error(err)
					}
				}
				s.leave()
			})
		}
		wg.Wait()
		if full := steps.of[sequences].Swap(0); full < tokens-1 {
			t.Errorf("turn %d: %d of %d steps had all %d sessions: %v", turn, full, tokens, sequences, &steps.of)
		}
	}
}

// TestJointDecodeAllocatesNothing covers the steps of several sessions, which run in goroutines that exist before.
func TestJointDecodeAllocatesNothing(t *testing.T) {
	procs(t, 4)
	g := openSessions(t, 2, nil)
	a, b := seatOf(t, g), seatOf(t, g)
	begin, end := make(chan bool), make(chan error)
	go func() {
		for range begin {
			if b.Len() == toyContext {
				b.Reset()
			}
			_, err := b.Decode(context.Background(), 2)
			end <- err
		}
	}()
	defer close(begin)
	// toyWant allocates, so that the model of this test does not.
	for i := range a.model.program.Funcs {
		a.model.program.Funcs[i].Run = func(w *Worker, _ *Args) { w.Barrier() }
	}
	step := func() {
		if a.Len() == toyContext {
			a.Reset()
		}
		begin <- true
		_, err := a.Decode(context.Background(), 1)
		if err := errors.Join(err, <-end); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(200, step); n != 0 {
		t.Errorf("%v allocations a step", n)
	}
}

// TestNewSessionWaitsForAPlace: the limit holds, callers wait in order, and those whose context ends leave no trace.
func TestNewSessionWaitsForAPlace(t *testing.T) {
	g := openSessions(t, 2, nil)
	a, b := seatOf(t, g), seatOf(t, g)
	over, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := g.NewSession(over); !errors.Is(err, ErrCancelled) {
		t.Fatalf("a third session: %v", err)
	}
	got := make(chan *Session)
	go func() {
		s, err := g.NewSession(t.Context())
		if err != nil {
			t.Error(err)
		}
		got <- s
	}()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	c := <-got
	if c.slot != a.slot || c.slot == b.slot {
		t.Errorf("places %d, %d and %d", a.slot, b.slot, c.slot)
	}
	if _, err := a.Decode(t.Context(), 1); !errors.Is(err, ErrInput) {
		t.Errorf("after Close: %v", err)
	}
	if err := a.Close(); err != nil { // again: it must not free the place of c
		t.Fatal(err)
	}
	if _, err := c.Decode(t.Context(), 1); err != nil {
		t.Error(err)
	}
}

// TestCloseEndsWaitsForAPlace: a caller that waits for a place learns that the model was closed.
func TestCloseEndsWaitsForAPlace(t *testing.T) {
	g := openSessions(t, 1, nil)
	seatOf(t, g)
	got := make(chan error)
	go func() {
		_, err := g.NewSession(t.Context())
		got <- err
	}()
	time.Sleep(time.Millisecond)
	if err := g.Model().Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; !errors.Is(err, ErrClosed) {
		t.Errorf("error %v, want that the model was closed", err)
	}
}

// TestSlowSessionsDoNotHoldOthersUp: a session that pauses for long is not waited for.
func TestSlowSessionsDoNotHoldOthersUp(t *testing.T) {
	g := openSessions(t, 2, nil)
	a, b := seatOf(t, g), seatOf(t, g)
	var wg sync.WaitGroup
	wg.Go(func() { b.Decode(t.Context(), 1) })
	a.Decode(t.Context(), 1)
	wg.Wait()
	for range 2 { // the first of them waits for b
		if _, err := a.Decode(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
	}
	if j := &g.joint; j.awaited != 1 || a.seat.round != j.round || b.seat.round == j.round {
		t.Errorf("%d sessions are awaited, b: %v", j.awaited, b.seat.round == j.round)
	}
}

// TestSessionsRefuseWhatIsNotTheirs: raw calls of functions would disturb other sessions.
func TestSessionsRefuseWhatIsNotTheirs(t *testing.T) {
	g := openSessions(t, 2, nil)
	s := seatOf(t, g)
	if err := s.Run(t.Context(), 1); !errors.Is(err, ErrInput) {
		t.Errorf("Run: %v", err)
	}
	if err := s.Call(t.Context(), 1, nil, nil); !errors.Is(err, ErrInput) {
		t.Errorf("Call: %v", err)
	}
	g.Model().Close()
	if _, err := s.Decode(t.Context(), 1); !errors.Is(err, ErrClosed) {
		t.Errorf("Decode of a closed model: %v", err)
	}
	if _, err := g.NewSession(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("NewSession of a closed model: %v", err)
	}
}
