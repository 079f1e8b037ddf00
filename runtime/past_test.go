package runtime

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// promptRuns runs a prompt and returns how many tokens of it were run.
func promptRuns(t *testing.T, s *Session, steps *stepCounts, ids []int32) int {
	t.Helper()
	before := steps.prompt.Load()
	got, err := s.Prompt(t.Context(), ids)
	if err != nil || !slices.Equal(got, toyWant(ids)) || s.Len() != len(ids) {
		t.Errorf("prompt of %d: length %d, error %v, logits %v, want %v", len(ids), s.Len(), err, got, toyWant(ids))
	}
	return int(steps.prompt.Load() - before)
}

// TestPromptKeepsWhatItCan counts the tokens that prompts run in a session of its own.
func TestPromptKeepsWhatItCan(t *testing.T) {
	var steps stepCounts
	_, s := openProgram(t, toySessions(1, &steps), Options{Threads: 2, Poison: true})
	other := append(prompt(12), 31, 31, 31)
	for _, c := range []struct {
		name string
		do   func()
		ids  []int32
		runs int
	}{
		{"a new session", func() {}, prompt(20), 20},
		{"the same again", func() {}, prompt(20), 1},
		{"a longer one", func() {}, prompt(30), 10},
		{"a shorter one", func() {}, prompt(9), 1},
		{"the longer one, of which nothing was overwritten", func() {}, prompt(30), 1},
		{"another end", func() {}, other, 3},
		{"the old end, which was overwritten", func() {}, prompt(30), 18},
		{"after Reset", s.Reset, prompt(30), 1},
		{"after Truncate", func() { s.Truncate(3) }, prompt(31), 1},
		{"after a token", func() { s.Truncate(5); s.Decode(t.Context(), 0) }, prompt(31), 26},
		{"another beginning", func() {}, append([]int32{31}, prompt(10)...), 11},
		{"a raw call of a function", func() { s.Run(t.Context(), 1) }, prompt(4), 4},
	} {
		c.do()
		if got := promptRuns(t, s, &steps, c.ids); got != c.runs {
			t.Errorf("%s: %d tokens were run, want %d", c.name, got, c.runs)
		}
	}
}

// TestPromptRefusesBadInput: the sequence is as before.
func TestPromptRefusesBadInput(t *testing.T) {
	_, s := openProgram(t, toySessions(1, nil), Options{Threads: 1})
	if _, err := s.Prefill(t.Context(), prompt(60)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		ids []int32
		is  error
	}{{nil, ErrInput}, {[]int32{toyVocab}, ErrInput}, {prompt(toyContext + 1), ErrContextFull}} {
		if _, err := s.Prompt(t.Context(), c.ids); !errors.Is(err, c.is) || s.Len() != 60 {
			t.Errorf("%d tokens: error %v, length %d", len(c.ids), err, s.Len())
		}
	}
	if _, err := s.Prompt(t.Context(), prompt(toyContext)); err != nil {
		t.Errorf("a prompt of the whole context: %v", err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Prompt(over, append(prompt(10), 31)); !errors.Is(err, ErrCancelled) || s.Len() != 10 {
		t.Errorf("cancelled: %v, length %d", err, s.Len())
	}
}

// TestPromptSharesWithOthers counts the tokens that prompts run when other sessions have had the same tokens.
func TestPromptSharesWithOthers(t *testing.T) {
	var steps stepCounts
	g := openSessions(t, 3, &steps)
	a, b := seatOf(t, g), seatOf(t, g)
	if n := promptRuns(t, a, &steps, prompt(40)); n != 40 {
		t.Errorf("the first prompt: %d tokens", n)
	}
	if n := promptRuns(t, b, &steps, append(prompt(30), 31, 31)); n != 2 {
		t.Errorf("30 tokens of another session: %d were run", n)
	}
	if b.slot == a.slot {
		t.Error("two sessions have one place")
	}
	a.Close()
	c := seatOf(t, g)
	if c.slot == a.slot {
		t.Error("a new session took the place that was used last")
	}
	if n := promptRuns(t, c, &steps, prompt(45)); n != 5 || c.slot != a.slot {
		t.Errorf("40 tokens of a closed session: %d were run, in place %d", n, c.slot)
	}
	got, err := b.Decode(t.Context(), 3)
	if want := toyWant(append(prompt(30), 31, 31, 3)); err != nil || !slices.Equal(got, want) {
		t.Errorf("the other session afterwards: %v, %v", got, err)
	}
}

// TestCancelledPromptKeepsWhatItCan: the sequence is what the prompt has in common with it, also where the wait for other
// sessions is cancelled.
func TestCancelledPromptKeepsWhatItCan(t *testing.T) {
	var steps stepCounts
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, alone := openProgram(t, toySessions(1, &steps), Options{})
	for name, s := range map[string]*Session{"alone": alone, "shared": seatOf(t, openSessions(t, 3, &steps))} {
		promptRuns(t, s, &steps, prompt(20))
		if _, err := s.Prompt(over, append(prompt(7), 31, 31)); !errors.Is(err, ErrCancelled) || s.Len() != 7 {
			t.Errorf("%s: %v, length %d", name, err, s.Len())
		}
		logits, err := s.Prefill(t.Context(), []int32{5})
		if want := toyWant(append(prompt(7), 5)); err != nil || !slices.Equal(logits, want) {
			t.Errorf("%s: %v, %v, want %v", name, logits, err, want)
		}
	}
}

// TestGenerateWhole: a prompt that is the whole sequence generates what a new session does.
func TestGenerateWhole(t *testing.T) {
	var steps stepCounts
	_, s := openProgram(t, toySessions(1, &steps), Options{Threads: 1})
	generate := func(ids []int32) (out []int32) {
		for token, err := range s.GenerateTokens(t.Context(), ids, GenerateOptions{MaxTokens: 5, Whole: true}) {
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, token.ID)
		}
		return out
	}
	first := generate(prompt(10))
	next := append(append(prompt(10), first...), 4)
	before := steps.prompt.Load()
	got := generate(next)
	if n := steps.prompt.Load() - before; n != 2 { // the last generated token was not run
		t.Errorf("the second prompt ran %d tokens", n)
	}
	_, s = openProgram(t, toySessions(1, nil), Options{Threads: 1})
	if want := generate(next); !slices.Equal(got, want) {
		t.Errorf("%v, a new session generates %v", got, want)
	}
}
