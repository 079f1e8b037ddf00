package runtime

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// The toy with a ring keeps the last positions of each sequence. Its logits are a function of the window.
const (
	toyRows   = 16
	toyWindow = 5
)

// toyRing is toySessions with a ring. before is called at the beginning of each step.
func toyRing(sequences int, steps *stepCounts, before func()) *Program {
	p := toySessions(sequences, steps)
	for i := range p.Funcs {
		sym := []int{0, -1, 1}[i]
		p.Funcs[i].Run = func(w *Worker, a *Args) {
			if w.Part == 0 {
				before()
				ringStep(a, sym, sequences, steps)
			}
			w.Barrier()
		}
	}
	p.LM.Ring = &Ring{Rows: toyRows, Window: toyWindow}
	p.States = []StateInfo{{Bytes: int64(4 * toyRows * sequences), Heads: 1, Rows: toyRows}}
	p.StateBytes = int64(4 * toyRows * sequences)
	return p
}

// ringStep writes the tokens into the rings, then computes the logits of each row, or of the last one.
func ringStep(a *Args, sym, sequences int, steps *stepCounts) {
	n := 1
	if sym >= 0 {
		n = a.Dims[sym]
	}
	steps.add(n, sym)
	ints := func(at uintptr) []int32 { return unsafe.Slice((*int32)(unsafe.Add(a.IO, at)), n) }
	tokens, pos, slot := ints(manyTokens), ints(manyPos), ints(manySlot)
	state := unsafe.Slice((*int32)(a.State), toyRows*sequences)
	logits := unsafe.Slice((*float32)(unsafe.Add(a.IO, manyLogits)), toyVocab*sequences)
	row := func(i, p int) *int32 { return &state[int(slot[i])*toyRows+p%toyRows] }
	for i, id := range tokens {
		*row(i, int(pos[i])) = id
	}
	for i := range tokens {
		out := logits
		if sym == 1 {
			out = logits[i*toyVocab:]
		}
		windowLogits(out[:toyVocab], int(pos[i]), func(p int) int32 { return *row(i, p) })
	}
}

// windowLogits are those after position pos.
func windowLogits(out []float32, pos int, token func(p int) int32) {
	for v := range out {
		out[v] = 0
		for p := max(0, pos+1-toyWindow); p <= pos; p++ {
			out[v] += float32((int(token(p)+3)*(v+1) + p) % 97)
		}
	}
}

// ringWant returns the logits by the definition of the model.
func ringWant(tokens []int32) []float32 {
	out := make([]float32, toyVocab)
	windowLogits(out, len(tokens)-1, func(p int) int32 { return tokens[p] })
	return out
}

func openRing(t *testing.T, steps *stepCounts) *Session {
	_, s := openProgram(t, toyRing(1, steps, func() {}), Options{Threads: 2})
	return s
}

// ringPrompt runs a prompt and returns how many tokens of it were run.
func ringPrompt(t *testing.T, s *Session, steps *stepCounts, ids []int32) int {
	t.Helper()
	before := steps.prompt.Load()
	got, err := s.Prompt(t.Context(), ids)
	if err != nil || !slices.Equal(got, ringWant(ids)) || s.Len() != len(ids) {
		t.Errorf("prompt of %d: length %d, error %v, logits %v, want %v", len(ids), s.Len(), err, got, ringWant(ids))
	}
	return int(steps.prompt.Load() - before)
}

// TestRingGoesBack: a sequence of 40 has the positions from 24 on, and those of a window before position 28.
func TestRingGoesBack(t *testing.T) {
	var steps stepCounts
	s := openRing(t, &steps)
	ringPrompt(t, s, &steps, prompt(40))
	for _, n := range []int{27, 5, 1} {
		if err := s.Truncate(n); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), "the state has only those from 24 on") || s.Len() != 40 {
			t.Errorf("back to %d: error %v, length %d", n, err, s.Len())
		}
	}
	if err := s.Truncate(28); err != nil {
		t.Fatal(err)
	}
	got, err := s.Prefill(t.Context(), []int32{9, 8})
	if want := ringWant(append(prompt(28), 9, 8)); err != nil || !slices.Equal(got, want) {
		t.Errorf("from 28 on: %v, %v, want %v", got, err, want)
	}
	if err := s.Truncate(27); err == nil { // positions before 24 do not come back
		t.Error("back to 27 after a change")
	}
	if err := s.Truncate(0); err != nil {
		t.Error(err)
	}
	ringPrompt(t, s, &steps, prompt(12))
	if err := s.Truncate(1); err != nil { // nothing was overwritten since the beginning
		t.Error(err)
	}
}

// TestPromptKeepsWhatRingsHave counts the tokens that prompts run.
func TestPromptKeepsWhatRingsHave(t *testing.T) {
	var steps stepCounts
	s := openRing(t, &steps)
	for _, c := range []struct {
		name string
		ids  []int32
		runs int
	}{
		{"a new session", prompt(40), 40},
		{"the same again", prompt(40), 1},
		{"a longer one", prompt(45), 5},
		{"the last one within reach", append(prompt(33), 31, 31), 2},
		{"one that goes back too far", append(prompt(20), 31), 21},
		{"what was overwritten meanwhile", prompt(45), 25},
		{"a beginning", prompt(3), 3},
		{"the same beginning, without Prompt", prompt(16), 13},
		{"positions that were lost before", prompt(45), 29},
	} {
		if got := ringPrompt(t, s, &steps, c.ids); got != c.runs {
			t.Errorf("%s: %d tokens were run, want %d", c.name, got, c.runs)
		}
	}
}

// TestRingAfterFailedPrompt: steps before the one that was cancelled have overwritten what the sequence needs. Calls
// that would continue it are refused, and Prompt begins again.
func TestRingAfterFailedPrompt(t *testing.T) {
	var steps stepCounts
	ctx, cancel := context.WithCancel(t.Context())
	left := 6
	_, s := openProgram(t, toyRing(1, &steps, func() {
		if left--; left == 0 {
			cancel()
		}
	}), Options{Threads: 1})
	ringPrompt(t, s, &steps, prompt(10))
	if _, err := s.Prefill(ctx, prompt(50)); !errors.Is(err, ErrCancelled) {
		t.Fatalf("error %v", err)
	}
	if _, err := s.Decode(t.Context(), 3); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), "begin again with Reset or Prompt") {
		t.Errorf("a token afterwards: error %v", err)
	}
	if err := s.Save(io.Discard); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), "begin again with Reset or Prompt") {
		t.Errorf("saving what cannot continue: error %v", err)
	}
	if n := ringPrompt(t, s, &steps, prompt(11)); n != 11 {
		t.Errorf("%d tokens were run", n)
	}
}

// TestSavedRingsContinue saves sequences that have gone back as far as they can.
func TestSavedRingsContinue(t *testing.T) {
	for _, back := range []struct{ from, to, less int }{{12, 12, 2}, {16, 3, 1}, {17, 5, 4}, {40, 28, 27}, {40, 40, 27}} {
		var steps stepCounts
		s := openRing(t, &steps)
		ringPrompt(t, s, &steps, prompt(back.from))
		if err := s.Truncate(back.to); err != nil {
			t.Fatal(err)
		}
		data := save(t, s)
		other := openRing(t, &steps)
		if err := other.Load(bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
		got, err := other.Decode(t.Context(), 7)
		if want := ringWant(append(prompt(back.to), 7)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%+v: %v, %v, want %v", back, got, err, want)
		}
		if err := other.Truncate(back.less); (err == nil) != (s.Truncate(back.less) == nil) {
			t.Errorf("%+v: after Load error %v, before another one", back, err)
		}
		data[savedLow] ^= 0xff
		if err := other.Load(bytes.NewReader(data)); !errors.Is(err, ErrSaved) {
			t.Errorf("%+v: with another first position: %v", back, err)
		}
	}
}

// savedLow is where a saved sequence has its first position.
const savedLow = 128

// TestRingsAreShared: a prompt takes the beginning of another session with the ring of that one, and only if it can
// continue there.
func TestRingsAreShared(t *testing.T) {
	var steps stepCounts
	m, err := Open(toyRing(3, &steps, func() {}), Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	g, err := m.NewSessions()
	if err != nil {
		t.Fatal(err)
	}
	a, b := seatOf(t, g), seatOf(t, g)
	ringPrompt(t, a, &steps, prompt(40))
	ringPrompt(t, b, &steps, prompt(2))
	if n := ringPrompt(t, b, &steps, append(prompt(30), 31, 31)); n != 2 {
		t.Errorf("30 tokens of another session: %d were run", n)
	}
	if n := ringPrompt(t, b, &steps, append(prompt(29), 30)); n != 1 {
		t.Errorf("back to 29: %d were run", n)
	}
	c := seatOf(t, g)
	if n := ringPrompt(t, c, &steps, append(prompt(20), 31, 31)); n != 22 {
		t.Errorf("20 tokens of sessions that have only later ones: %d were run", n)
	}
	got, err := b.Decode(t.Context(), 3)
	if want := ringWant(append(prompt(29), 30, 3)); err != nil || !slices.Equal(got, want) {
		t.Errorf("the other session afterwards: %v, %v", got, err)
	}
}
