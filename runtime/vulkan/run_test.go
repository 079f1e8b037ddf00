package vulkan_test

import (
	"testing"

	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/tests/drivertest"
)

// TestLaterStepsAllocateNothing replays a step of transfers and commands on two queues.
func TestLaterStepsAllocateNothing(t *testing.T) {
	if raceDetector {
		t.Skip("skip: under the race detector sync.Pool, which calls of C use, drops objects at random")
	}
	const n = 256
	b := open(t, setting{quiet: true, queues: 2, device: []int64{4 * n, 4 * n}, host: []int64{4 * n, 4 * n}})
	c := drivertest.Command(kernels.Scaling(drivertest.Arg{Memory: 1}, drivertest.Arg{Memory: 0}, n, 2))
	in, out := runtime.Label{What: "in"}, runtime.Label{What: "out"}
	var halfway, end runtime.Event
	step := uint64(0)
	one := func() {
		step++
		b.Step(0, step, n)
		b.Device.Copy(0, drivertest.Dense(&in, 0, 0, 2, 0, 4*n), b.Blocks[0])
		b.Device.Run(0, c, b.Blocks[0], 0)
		b.Device.Record(0, &halfway, step)
		b.Device.Wait(1, &halfway, step)
		b.Device.Copy(1, drivertest.Dense(&out, 3, 0, 1, 0, 4*n), b.Blocks[0])
		b.Device.Record(1, &end, step)
		end.Await(step)
	}
	for range 10 {
		one()
	}
	if allocs := testing.AllocsPerRun(100, one); allocs >= 1 {
		t.Errorf("%v allocations a step", allocs)
	}
}
