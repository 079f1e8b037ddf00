package drivertest

import (
	"math"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/runtime"
)

func (s *Suite) scale(t *testing.T) {
	const n = 1000
	b := s.Open(t, Setting{Device: []int64{4 * n, 4 * n}})
	b.Load(0, Ramp(n))
	b.Run(Command(s.Scaling(Arg{Memory: 1}, Arg{}, n, 3), s.Scaling(Arg{Memory: 1}, Arg{Memory: 1}, n, 0.5)))
	for i, y := range b.Read(1, n) {
		if want := 1.5 * float32(i+1); y != want {
			t.Fatalf("y[%d] = %v, want %v", i, y, want)
		}
	}
}

// sizesAreThoseOfTheStep replays a command with other sizes.
func (s *Suite) sizesAreThoseOfTheStep(t *testing.T) {
	const n = 300
	b := s.Open(t, Setting{Device: []int64{4 * n, 4 * n}})
	b.Load(0, Ramp(n))
	c := Command(s.adding(Arg{Memory: 1}, Arg{Memory: 0}, Arg{Memory: 1}, n))
	want := make([]float32, n)
	b.Clear(1)
	for step, size := range []int{5, 300, 1, 64, 65, 0, 299} {
		b.Step(0, uint64(step+1), size)
		b.Run(c)
		b.Finish(0)
		for i := range size {
			want[i] += float32(i + 1)
		}
		if got := b.Read(1, n); !slices.Equal(got, want) {
			t.Fatalf("step %d, size %d: got %v, want %v", step+1, size, got, want)
		}
	}
}

// kernelsShareMemory has a kernel with shared memory and barriers.
func (s *Suite) kernelsShareMemory(t *testing.T) {
	const groups = 5
	b := s.Open(t, Setting{Device: []int64{4 * 64 * groups, 4 * groups}})
	b.Load(0, Ramp(64*groups))
	b.Run(Command(Dispatch{Kernel: s.Sum, Groups: groups, Args: []Arg{{Memory: 0}, {Memory: 1}}}))
	for g, s := range b.Read(1, groups) {
		if want := float32(64*(64*g) + 64*65/2); s != want {
			t.Errorf("group %d: %v, want %v", g, s, want)
		}
	}
}

// argumentsAreSeparate has a kernel with many arguments in many dispatches of one command.
func (s *Suite) argumentsAreSeparate(t *testing.T) {
	n := s.Dispatches
	b := s.Open(t, Setting{Device: []int64{int64(n) * 256}})
	var list []Dispatch
	for i := range n {
		d := Dispatch{Kernel: s.Many, Groups: 1, Args: []Arg{{Memory: 0, Offset: 256 * i}}}
		for j := 1; j <= 16; j++ {
			d.Args = append(d.Args, Arg{Memory: Number, Offset: 1000*j + i})
		}
		list = append(list, d)
	}
	b.Run(Command(list...))
	for i, x := range b.Read(0, n*64) {
		if got, want := math.Float32bits(x), uint32(17000+2*(i/64)); got != want {
			t.Fatalf("y[%d] = %d, want %d", i, got, want)
		}
	}
}

// dispatchesSeeEarlierOnes has commands of many dispatches that each double the same vector.
func (s *Suite) dispatchesSeeEarlierOnes(t *testing.T) {
	n := 10 * s.Dispatches
	b := s.Open(t, Setting{Device: []int64{int64(4 * n)}})
	b.Load(0, Ramp(n))
	double := s.Scaling(Arg{}, Arg{}, n, 2)
	for range 3 {
		b.Run(Command(double, double, double, double, double))
	}
	for i, x := range b.Read(0, n) {
		if want := float32(i+1) * (1 << 15); x != want {
			t.Fatalf("x[%d] = %v, want %v", i, x, want)
		}
	}
}

// iterationsAndSlotsMoveAddresses runs one command in several iterations and for several blocks, in two steps.
func (s *Suite) iterationsAndSlotsMoveAddresses(t *testing.T) {
	const n, slots, iterations = 8, 3, 4
	b := s.Open(t, Setting{Slots: slots, Device: []int64{4 * n * slots, 4 * n * slots * iterations}})
	x := Ramp(n * slots)
	b.Load(0, x)
	table := make([]int, iterations)
	for l := range table {
		table[l] = 4 * n * slots * (iterations - 1 - l)
	}
	c := Command(s.Scaling(Arg{Memory: 1, Table: table, Slot: 4 * n}, Arg{Memory: 0, Slot: 4 * n}, n, 10))
	for range 2 {
		for slot := range slots {
			for l := range iterations {
				b.Device.Run(0, c, b.Blocks[slot], l)
			}
		}
		b.Finish(0)
	}
	got := b.Read(1, n*slots*iterations)
	for i, y := range got {
		if want := 10 * x[i%(n*slots)]; y != want {
			t.Fatalf("y[%d] = %v, want %v", i, y, want)
		}
	}
}

// stepsInFlight has several steps in flight, each of which copies its input from the host, adds it to a state, and
// copies the state back to the host.
func (s *Suite) stepsInFlight(t *testing.T) {
	const n, slots = 64, 3
	steps := uint64(s.Steps)
	state := 4 * n * slots
	hosts := make([]int64, 2*slots)
	for i := range hosts {
		hosts[i] = 4 * n
	}
	b := s.Open(t, Setting{Slots: slots, Device: []int64{4*n*slots + 4*n}, Host: hosts})
	b.Clear(0)
	c := Command(s.adding(Arg{Offset: state}, Arg{Slot: 4 * n}, Arg{Offset: state}, n))
	var end runtime.Event
	want := make([]float32, n)
	wants := make([][]float32, slots)
	in, out := runtime.Label{What: "in"}, runtime.Label{What: "out"}
	for step := uint64(1); step <= steps+slots; step++ {
		slot := int(step % slots)
		if step > slots {
			end.Await(step - slots)
			if got := b.Host(2 + 2*slot); !slices.Equal(got, wants[slot]) {
				t.Fatalf("step %d: got %v, want %v", step-slots, got, wants[slot])
			}
		}
		if step > steps {
			continue
		}
		b.Step(slot, step, n)
		for i := range n {
			x := float32(step%7 + uint64(i))
			b.Host(1 + 2*slot)[i] = x
			want[i] += x
		}
		wants[slot] = slices.Clone(want)
		b.Device.Copy(0, Dense(&in, 0, 4*n*slot, 1+2*slot, 0, 4*n), b.Blocks[slot])
		b.Device.Run(0, c, b.Blocks[slot], 0)
		b.Device.Copy(0, Dense(&out, 2+2*slot, 0, 0, state, 4*n), b.Blocks[slot])
		b.Device.Record(0, &end, step)
	}
	if err := b.Fault(); err != nil {
		t.Fatal(err)
	}
}
