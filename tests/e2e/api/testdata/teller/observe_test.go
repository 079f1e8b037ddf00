package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/runtime"

	"example.com/teller/seen"
	"example.com/teller/seendevice"
)

// session is what the tests need of a session of either package.
type session interface {
	Prefill(ctx context.Context, tokens []int32) ([]float32, error)
	Len() int
	Reset()
}

type observer = func(node string, step int, value runtime.Array) error

// watched opens a package that was generated with --observe for one value of each layer.
func watched(t *testing.T, pkg string, o observer) session {
	t.Helper()
	switch pkg {
	case "processor":
		m, err := seen.Open(seen.Options{Observe: o, Threads: 2})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		s, err := m.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		return s
	default:
		m, err := seendevice.Open(seendevice.Options{Observe: o})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		s, err := m.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// TestObserverEndsAStep: values come layer by layer, in each of the three steps of a prompt. An error ends the step at
// its value and the prompt with it, and the session can be used again.
func TestObserverEndsAStep(t *testing.T) {
	tokens := []int32{1, 44, 7, 300, 12, 5, 61, 9, 2} // three steps of at most 4
	for _, pkg := range []string{"processor", "device"} {
		want, err := watched(t, pkg, nil).Prefill(t.Context(), tokens)
		if err != nil {
			t.Fatal(err)
		}
		stop := errors.New("seen enough")
		var calls []string
		refuse := "never"
		s := watched(t, pkg, func(node string, step int, v runtime.Array) error {
			call := fmt.Sprintf("%s in step %d", node, step)
			if calls = append(calls, call); call == refuse {
				return stop
			}
			rows := min(4, len(tokens)-4*step)
			if node == "v136" { // of the last layer, which has the row of the last token alone
				rows = 1
			}
			if refuse == "never" && !slices.Equal(v.Shape, []int{rows, 352}) {
				t.Errorf("%s: %s has the shape %v", pkg, call, v.Shape)
			}
			return nil
		})
		got, err := s.Prefill(t.Context(), tokens)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: other logits than without an observer, error %v", pkg, err)
		}
		var all []string
		for step := range 3 {
			for _, v := range []string{"v37", "v70", "v103", "v136"} {
				all = append(all, fmt.Sprintf("%s in step %d", v, step))
			}
		}
		if !slices.Equal(calls, all) {
			t.Errorf("%s: calls %q, want %q", pkg, calls, all)
		}
		s.Reset()
		calls, refuse = nil, "v70 in step 4"
		if _, err := s.Prefill(t.Context(), tokens); !errors.Is(err, stop) || s.Len() != 0 {
			t.Errorf("%s: error %v, %d positions filled, want the observer's error and 0", pkg, err, s.Len())
		}
		if len(calls) != 4+2 || calls[5] != refuse {
			t.Errorf("%s: calls %q, want %q to be the last", pkg, calls, refuse)
		}
		if got, err := s.Prefill(t.Context(), tokens); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: after the error: other logits, error %v", pkg, err)
		}
	}
}
