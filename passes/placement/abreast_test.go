package placement

import (
	"runtime"
	"slices"
	"testing"
)

// TestAbreast counts calls, whatever the number of processors.
func TestAbreast(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, procs := range []int{1, 2, 8} {
		runtime.GOMAXPROCS(procs)
		for n := range 10 {
			called := make([]int, n)
			abreast(n, func() *int { return new(int) }, func(calls *int, i int) {
				*calls++
				called[i] = *calls
			})
			if slices.Contains(called, 0) {
				t.Errorf("%d processors: calls %v of %d", procs, called, n)
			}
		}
	}
}

// TestAbreastPanics wants the panic that comes first when one call comes after the other, and
// all calls that began to have ended.
func TestAbreastPanics(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, procs := range []int{1, 2, 8} {
		runtime.GOMAXPROCS(procs)
		func() {
			defer func() {
				if x := recover(); x != 3 {
					t.Errorf("%d processors: the panic is %v, want 3", procs, x)
				}
			}()
			abreast(20, func() int { return 0 }, func(_, i int) {
				if i%4 == 3 {
					panic(i)
				}
			})
		}()
	}
}
