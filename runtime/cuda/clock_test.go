package cuda

import (
	"slices"
	"testing"
	"time"

	"github.com/ggmlc/ggmlc/runtime"
)

// at returns times, in microseconds since some beginning.
func at(micros ...int) (list []time.Time) {
	for _, n := range micros {
		list = append(list, time.UnixMicro(int64(n)))
	}
	return list
}

// TestKernelsBeginAfterTheirBarrier has groups of one, two and one kernels.
func TestKernelsBeginAfterTheirBarrier(t *testing.T) {
	x := &times{groups: []group{{"a"}, {"b", "c"}, {"d"}}}
	got := x.kernels(at(0, 10, 30, 20, 40), &runtime.Command{Nodes: []string{"%a", "%b"}})
	time := func(n int) time.Time { return at(n)[0] }
	want := []runtime.Timed{
		{Kernel: "a", Node: "%a", Begin: time(0), End: time(10)}, {Kernel: "b", Node: "%b", Begin: time(10), End: time(30)},
		{Kernel: "c", Begin: time(10), End: time(20)}, {Kernel: "d", Begin: time(30), End: time(40)},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v\ninstead of\n%v", got, want)
	}
}
