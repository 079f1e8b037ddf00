package vulkan

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/ggmlc/ggmlc/runtime/gpu"
)

// TestClockWrapsAround converts ticks of a counter of 36 bits around the ones at which it was set.
func TestClockWrapsAround(t *testing.T) {
	c := clock{period: 2, mask: 1<<36 - 1}
	at := time.Unix(1000, 0)
	c.set(1<<40|100, at)
	for _, tt := range []struct {
		ticks uint64
		want  time.Duration
	}{{100, 0}, {101, 2}, {50, -100}, {1 << 36, -200}, {1<<36 - 1, -202}, {1<<36 + 100 + 7, 14}} {
		if got := c.time(tt.ticks).Sub(at); got != tt.want {
			t.Errorf("tick %d is at %v, not at %v", tt.ticks, got, tt.want)
		}
	}
	c.shift(3)
	if got := c.time(100).Sub(at); got != 3 {
		t.Errorf("after a shift by 3 ns: %v", got)
	}
	full := clock{period: 1, mask: math.MaxUint64}
	full.set(5, at)
	if got := full.time(math.MaxUint64).Sub(at); got != -6 {
		t.Errorf("before the first tick: %v", got)
	}
}

// TestKernelsBeginAtTheirBarrier notes dispatches of which the second and third run at the same time, and so do the
// last two.
func TestKernelsBeginAtTheirBarrier(t *testing.T) {
	times := &times{count: 1}
	for i, barrier := range []bool{false, true, false, true, false} {
		times.count++
		times.note(&gpu.Dispatch{Kernel: &gpu.Kernel{Name: string(rune('a' + i))}, Barrier: barrier})
	}
	want := []stamped{{"a", 0, 1}, {"b", 1, 2}, {"c", 1, 3}, {"d", 3, 4}, {"e", 3, 5}}
	if !slices.Equal(times.kernels, want) {
		t.Errorf("%v instead of %v", times.kernels, want)
	}
}
