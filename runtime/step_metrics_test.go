package runtime

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// TestStartedStepsCountAsCalls runs the same work by calls and by started steps. The figures are the same; a step that
// is refused or skipped has none.
func TestStartedStepsCountAsCalls(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	type work struct {
		name  string
		call  func(*Session) error
		start func(*Session) error
	}
	prefill := func(ctx context.Context, n int) work {
		return work{"prefill", func(s *Session) error { _, err := s.Prefill(ctx, prompt(n)); return err },
			func(s *Session) error { return waited(s.StartPrefill(ctx, prompt(n))) }}
	}
	decode := func(ctx context.Context) work {
		return work{"decode", func(s *Session) error { _, err := s.Decode(ctx, 3); return err },
			func(s *Session) error { return waited(s.StartDecode(ctx, 3)) }}
	}
	add := func(row int32) work {
		in, out := []any{[]float32{1, 2, 3, 4}, []int32{row, 1}}, []any{new([]float32)}
		return work{"add", func(s *Session) error { return s.Call(t.Context(), 0, in, out) },
			func(s *Session) error {
				st, err := s.Start(t.Context(), 0, in, out)
				if err == nil {
					err = st.Wait()
				}
				return err
			}}
	}
	for _, tt := range []struct {
		name    string
		program func() *Program
		works   []work
		counted int
	}{
		{"tokens", toyProgram, []work{prefill(t.Context(), 10), decode(t.Context()), decode(cancelled), prefill(t.Context(), toyContext), prefill(t.Context(), 1)}, 4},
		{"function", grid, []work{add(0), add(7), add(2)}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var figures [2][]StepMetrics
			for i := range figures {
				m := &counts{}
				_, s := openProgram(t, tt.program(), Options{Metrics: m, Threads: 1})
				for _, w := range tt.works {
					run := w.call
					if i == 1 {
						run = w.start
					}
					if err := run(s); err != nil {
						t.Logf("%s: %v", w.name, err)
					}
				}
				figures[i] = m.steps
			}
			if len(figures[0]) != tt.counted {
				t.Errorf("%d calls are counted, want %d: %+v", len(figures[0]), tt.counted, figures[0])
			}
			if !slices.EqualFunc(figures[0], figures[1], func(a, b StepMetrics) bool {
				return a.Func == b.Func && a.Tokens == b.Tokens && a.Sessions == b.Sessions && errors.Is(a.Err, ErrCancelled) == errors.Is(b.Err, ErrCancelled) &&
					(a.Err == nil) == (b.Err == nil) && a.Time > 0 && b.Time > 0
			}) {
				t.Errorf("calls:\n%+v\nstarted steps:\n%+v", figures[0], figures[1])
			}
		})
	}
}

// waited waits for a step that is started.
func waited(st *LogitsStep, err error) error {
	if err == nil {
		_, err = st.Wait()
	}
	return err
}
