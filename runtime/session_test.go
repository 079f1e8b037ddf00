package runtime

import (
	"context"
	"errors"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
)

// procs raises GOMAXPROCS for a test.
func procs(t testing.TB, n int) {
	old := goruntime.GOMAXPROCS(n)
	t.Cleanup(func() { goruntime.GOMAXPROCS(old) })
}

func prompt(n int) []int32 {
	p := make([]int32, n)
	for i := range p {
		p[i] = int32(i * 5 % toyVocab)
	}
	return p
}

func TestLogitsForEveryThreadCount(t *testing.T) {
	procs(t, 7)
	ctx := context.Background()
	for _, threads := range []int{1, 2, 3, 7} {
		_, s := openToy(t, threads)
		all := prompt(3*toyBatch + 1) // three full chunks and one token
		got, err := s.Prefill(ctx, all)
		if err != nil || !slices.Equal(got, toyWant(all)) {
			t.Fatalf("%d threads: prefill %v, %v; want %v", threads, got, err, toyWant(all))
		}
		for id := range int32(5) {
			all = append(all, id)
			got, err := s.Decode(ctx, id)
			if err != nil || !slices.Equal(got, toyWant(all)) {
				t.Fatalf("%d threads: decode %d: %v, %v; want %v", threads, id, got, err, toyWant(all))
			}
		}
		if s.Len() != len(all) {
			t.Errorf("Len %d, want %d", s.Len(), len(all))
		}
	}
}

func TestDecodeAllocatesNothing(t *testing.T) {
	procs(t, 3)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, threads := range []int{1, 3} {
		_, s := openToy(t, threads)
		step := func() {
			if s.Len() == toyContext {
				s.Reset()
			}
			if _, err := s.Decode(ctx, 1); err != nil {
				t.Fatal(err)
			}
		}
		if n := testing.AllocsPerRun(200, step); n != 0 {
			t.Errorf("%d threads: %v allocations a token", threads, n)
		}
	}
}

func TestSessionRefusesBadInput(t *testing.T) {
	ctx := context.Background()
	over, cancel := context.WithCancel(ctx)
	cancel()
	_, s := openToy(t, 1)
	if _, err := s.Prefill(ctx, prompt(60)); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name string
		call func() error
		is   error
		text string
	}{
		{"too long", func() error { _, err := s.Prefill(ctx, prompt(5)); return err }, ErrContextFull, "60 positions are taken and 5 more"},
		{"no tokens", func() error { _, err := s.Prefill(ctx, nil); return err }, ErrInput, "at least one"},
		{"id too large", func() error { _, err := s.Decode(ctx, toyVocab); return err }, ErrInput, "0 to 31"},
		{"id negative", func() error { _, err := s.Decode(ctx, -1); return err }, ErrInput, "0 to 31"},
		{"cancelled", func() error { _, err := s.Decode(over, 1); return err }, ErrCancelled, "cancel"},
		{"cancelled, as context", func() error { _, err := s.Decode(over, 1); return err }, context.Canceled, ""},
		{"size", func() error { return s.SetDim(0, toyBatch+1) }, ErrInput, "tokens = 9"},
		{"truncate", func() error { return s.Truncate(61) }, ErrInput, "61 of 60"},
	}
	for _, c := range cases {
		err := c.call()
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %v with %q", c.name, err, c.is, c.text)
		}
		if s.Len() != 60 {
			t.Errorf("%s: Len is %d after the error", c.name, s.Len())
		}
	}
	var full *ContextError
	if _, err := s.Prefill(ctx, prompt(5)); !errors.As(err, &full) || *full != (ContextError{60, 5, toyContext}) {
		t.Errorf("%+v", full)
	}
}

func TestTruncateAndResetForgetPositions(t *testing.T) {
	ctx := context.Background()
	_, s := openToy(t, 1)
	s.Prefill(ctx, prompt(10))
	if err := s.Truncate(4); err != nil {
		t.Fatal(err)
	}
	got, err := s.Decode(ctx, 9)
	if want := toyWant(append(prompt(4), 9)); err != nil || !slices.Equal(got, want) {
		t.Errorf("after Truncate: %v, %v", got, err)
	}
	s.Reset()
	got, err = s.Prefill(ctx, prompt(2))
	if want := toyWant(prompt(2)); err != nil || !slices.Equal(got, want) {
		t.Errorf("after Reset: %v, %v", got, err)
	}
}

func TestClosedModelReturnsErrClosed(t *testing.T) {
	m, s := openToy(t, 2)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Decode(context.Background(), 1); !errors.Is(err, ErrClosed) {
		t.Errorf("Decode: %v", err)
	}
	if _, err := m.NewSession(); !errors.Is(err, ErrClosed) {
		t.Errorf("NewSession: %v", err)
	}
	if err := m.Close(); !errors.Is(err, ErrClosed) {
		t.Errorf("second Close: %v", err)
	}
}
