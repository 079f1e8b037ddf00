package drivertest

import (
	"testing"

	"github.com/ggmlc/ggmlc/runtime"
)

// Suite has the tests of a kind of devices.
type Suite struct {
	*Kernels

	// Open opens a device, or skips the test. It reports every misuse that the driver finds.
	Open func(t testing.TB, s Setting) *Bench

	// OpenTwo opens two devices of one driver.
	OpenTwo func(t testing.TB, s Setting) [2]*Bench

	// Loader returns the loader of a program, or skips the test. What the driver finds wrong by the end of the test is
	// reported.
	Loader func(t testing.TB) runtime.Loader

	// Accesses are how the processor and the device may reach each other's memory.
	Accesses []Access

	// Dispatches is the number of dispatches of the longest command, and Steps that of the longest run.
	Dispatches, Steps int
}

// Access is how the processor and the device reach each other's memory.
type Access string

// The ways of access.
const (
	Staged   Access = "staged"
	Unmapped Access = "unmapped" // the memory of the device is not mapped
	Shared   Access = "shared"   // the device addresses the memory of the host
)

// Run runs all tests.
func (s *Suite) Run(t *testing.T) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"scale", s.scale},
		{"sizes are those of the step", s.sizesAreThoseOfTheStep},
		{"kernels share memory", s.kernelsShareMemory},
		{"arguments of dispatches are separate", s.argumentsAreSeparate},
		{"dispatches see earlier ones", s.dispatchesSeeEarlierOnes},
		{"iterations and slots move addresses", s.iterationsAndSlotsMoveAddresses},
		{"steps in flight", s.stepsInFlight},
		{"random orders on several queues", s.randomOrdersOnSeveralQueues},
		{"waits for the host", s.waitsForTheHost},
		{"two devices", s.twoDevices},
		{"transfers of all forms", s.transfersOfAllForms},
		{"picks", s.picks},
		{"wrong transfers fail", s.wrongTransfersFail},
		{"uploads are cut into parts", s.uploadsAreCutIntoParts},
		{"a program runs", s.programRuns},
	} {
		t.Run(test.name, test.run)
	}
}

// Benchmark measures a step of one command, with a copy to the device and one from it.
func (s *Suite) Benchmark(b *testing.B) {
	const n = 256
	on := s.Open(b, Setting{Quick: true, Device: []int64{4 * n, 4 * n}, Host: []int64{4 * n, 4 * n}})
	c := Command(s.Scaling(Arg{Memory: 1}, Arg{Memory: 0}, n, 2))
	in, out := runtime.Label{What: "in"}, runtime.Label{What: "out"}
	var end runtime.Event
	step := uint64(0)
	for b.Loop() {
		step++
		on.Step(0, step, n)
		on.Copy(Dense(&in, 0, 0, 2, 0, 4*n))
		on.Run(c)
		on.Copy(Dense(&out, 3, 0, 1, 0, 4*n))
		on.Device.Record(0, &end, step)
		end.Await(step)
	}
}
