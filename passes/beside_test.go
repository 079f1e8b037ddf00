package passes

import (
	"sync/atomic"
	"testing"
)

// TestBesideHandsOnPanics lets either half, or both, panic: the caller has it, when both are over.
func TestBesideHandsOnPanics(t *testing.T) {
	for _, tt := range []struct {
		name          string
		first, second any // what they panic with; nil for nothing
	}{
		{"none", nil, nil},
		{"first", "a", nil},
		{"second", nil, "b"},
		{"both", "a", "b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			over := make([]bool, 2)
			half := func(i int, with any) func() {
				return func() {
					over[i] = true
					if with != nil {
						panic(with)
					}
				}
			}
			defer func() {
				want := tt.first
				if want == nil {
					want = tt.second
				}
				if got := recover(); got != want {
					t.Errorf("panicked with %v, want %v", got, want)
				}
				if !over[0] || !over[1] {
					t.Errorf("over: %v", over)
				}
			}()
			beside(half(0, tt.first), half(1, tt.second))
		})
	}
}

// TestShare does every job once, and hands on the panic of one; the others are done nevertheless.
func TestShare(t *testing.T) {
	for _, bad := range []int{-1, 0, 1, 9} {
		var done [10]atomic.Int32
		var jobs []func()
		for i := range done {
			jobs = append(jobs, func() {
				done[i].Add(1)
				if i == bad {
					panic(i)
				}
			})
		}
		func() {
			defer func() {
				if got := recover(); bad >= 0 && got != bad || bad < 0 && got != nil {
					t.Errorf("job %d is bad: panicked with %v", bad, got)
				}
			}()
			share(jobs)
		}()
		for i := range done {
			if n := done[i].Load(); n != 1 {
				t.Errorf("job %d is bad: job %d was done %d times", bad, i, n)
			}
		}
	}
}
