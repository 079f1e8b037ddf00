package abreast_test

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/passes/abreast"
)

// withProcs runs a test for several numbers of processors.
func withProcs(t *testing.T, test func(t *testing.T, procs int)) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, procs := range []int{1, 2, 8} {
		runtime.GOMAXPROCS(procs)
		test(t, procs)
	}
}

// TestEach counts calls, each of which finds the tools of its worker.
func TestEach(t *testing.T) {
	withProcs(t, func(t *testing.T, procs int) {
		for n := range 10 {
			called := make([]int, n)
			abreast.Each(n, func() *int { return new(int) }, func(calls *int, i int) {
				*calls++
				called[i] = *calls
			})
			if slices.Contains(called, 0) {
				t.Errorf("%d processors: calls %v of %d", procs, called, n)
			}
		}
	})
}

// TestEachPanics wants the panic that comes first when one call comes after the other, and the stack of
// that, though it was within another Each.
func TestEachPanics(t *testing.T) {
	withProcs(t, func(t *testing.T, procs int) {
		defer func() {
			p, ok := recover().(*abreast.Panic)
			if !ok || p.Value != 3 || !strings.Contains(p.Stack, "abreast_test.fall(") {
				t.Errorf("%d processors: the panic is %v, want 3 in fall", procs, p)
			}
		}()
		abreast.Each(20, func() int { return 0 }, func(_, i int) {
			if i%4 == 3 {
				abreast.Do(func() {}, func() { fall(i) })
			}
		})
	})
}

func fall(i int) { panic(i) }

// TestDoPanics lets either of two jobs, or both, panic: the caller has the first one's, when what
// began is over.
func TestDoPanics(t *testing.T) {
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
			withProcs(t, func(t *testing.T, procs int) {
				var began, over [2]bool
				job := func(i int, with any) func() {
					return func() {
						began[i] = true
						defer func() { over[i] = true }()
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
					var got any
					if p, ok := recover().(*abreast.Panic); ok {
						got = p.Value
					}
					if got != want {
						t.Errorf("%d processors: panicked with %v, want %v", procs, got, want)
					}
					if over != began {
						t.Errorf("%d processors: began %v, over %v", procs, began, over)
					}
				}()
				abreast.Do(job(0, tt.first), job(1, tt.second))
			})
		})
	}
}

// TestDo does every job once.
func TestDo(t *testing.T) {
	withProcs(t, func(t *testing.T, procs int) {
		var done [10]int
		var jobs []func()
		for i := range done {
			jobs = append(jobs, func() { done[i]++ })
		}
		abreast.Do(jobs...)
		for i, n := range done {
			if n != 1 {
				t.Errorf("%d processors: job %d was done %d times", procs, i, n)
			}
		}
	})
}
