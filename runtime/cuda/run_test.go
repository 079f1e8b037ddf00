//go:build linux

package cuda_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
	"github.com/ggmlc/ggmlc/kernels/gpu/ptx"
	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/gpu"
	"github.com/ggmlc/ggmlc/tests/cudasim"
)

// adding returns a dispatch of add over at most n elements; the size of symbol 1 is how many.
func adding(z, x, y arg, n int) dispatch {
	return dispatch{Kernel: add, Groups: (n + 63) / 64,
		Args: []arg{x, y, z, {Memory: size, Offset: 1}}}
}

// TestSizesAreThoseOfTheStep replays a command with other sizes.
func TestSizesAreThoseOfTheStep(t *testing.T) {
	const n = 300
	b := open(t, setting{device: []int64{4 * n, 4 * n}})
	b.load(0, ramp(n))
	c := command(adding(arg{Memory: 1}, arg{Memory: 0}, arg{Memory: 1}, n))
	want := make([]float32, n)
	if err := b.device.Clear(b.memory[1]); err != nil {
		t.Fatal(err)
	}
	for step, size := range []int{5, 300, 1, 64, 65, 0, 299} {
		b.step(0, uint64(step+1), size)
		b.device.Run(0, c, b.blocks[0], 0)
		b.finish(0)
		for i := range size {
			want[i] += float32(i + 1)
		}
		if got := b.read(1, n); !slices.Equal(got, want) {
			t.Fatalf("step %d, size %d: got %v, want %v", step+1, size, got, want)
		}
	}
}

// step begins a step of a block, with a size of symbol 1.
func (b *bench) step(block int, step uint64, size int) {
	b.blocks[block].Step, b.blocks[block].Dims[1] = step, size
}

// TestSum has a kernel with shared memory and barriers.
func TestSum(t *testing.T) {
	const groups = 5
	b := open(t, setting{device: []int64{4 * 64 * groups, 4 * groups}})
	b.load(0, ramp(64*groups))
	b.device.Run(0, command(dispatch{Kernel: sum, Groups: groups, Args: []arg{{Memory: 0}, {Memory: 1}}}), b.blocks[0], 0)
	for g, s := range b.read(1, groups) {
		if want := float32(64*(64*g) + 64*65/2); s != want {
			t.Errorf("group %d: %v, want %v", g, s, want)
		}
	}
}

// TestManyArgumentsAreApart has a kernel with many arguments in many dispatches of one command.
func TestManyArgumentsAreApart(t *testing.T) {
	const n = 100
	b := open(t, setting{device: []int64{n * 256}})
	var list []dispatch
	for i := range n {
		d := dispatch{Kernel: many, Groups: 1, Args: []arg{{Memory: 0, Offset: 256 * i}}}
		for j := 1; j <= 16; j++ {
			d.Args = append(d.Args, arg{Memory: number, Offset: 1000*j + i})
		}
		list = append(list, d)
	}
	b.device.Run(0, command(list...), b.blocks[0], 0)
	for i, x := range b.read(0, n*64) {
		if got, want := math.Float32bits(x), uint32(17000+2*(i/64)); got != want {
			t.Fatalf("y[%d] = %d, want %d", i, got, want)
		}
	}
}

// TestDispatchesSeeEarlierOnes has commands of many dispatches that each double the same vector.
func TestDispatchesSeeEarlierOnes(t *testing.T) {
	const n = 1000
	b := open(t, setting{device: []int64{4 * n}})
	b.load(0, ramp(n))
	double := scaling(arg{}, arg{}, n, 2)
	c := command(double, double, double, double, double)
	for range 3 {
		b.device.Run(0, c, b.blocks[0], 0)
	}
	for i, x := range b.read(0, n) {
		if want := float32(i+1) * (1 << 15); x != want {
			t.Fatalf("x[%d] = %v, want %v", i, x, want)
		}
	}
}

// TestIterationsAndSlotsMoveAddresses runs one command in several iterations and for several blocks.
func TestIterationsAndSlotsMoveAddresses(t *testing.T) {
	const n, slots, iterations = 8, 3, 4
	b := open(t, setting{slots: slots, device: []int64{4 * n * slots, 4 * n * slots * iterations}})
	x := ramp(n * slots)
	b.load(0, x)
	table := make([]int, iterations)
	for l := range table {
		table[l] = 4 * n * slots * (iterations - 1 - l)
	}
	c := command(scaling(arg{Memory: 1, Table: table, Slot: 4 * n}, arg{Memory: 0, Slot: 4 * n}, n, 10))
	for range 2 {
		for slot := range slots {
			for l := range iterations {
				b.device.Run(0, c, b.blocks[slot], l)
			}
		}
	}
	got := b.read(1, n*slots*iterations)
	for i, y := range got {
		if want := 10 * x[i%(n*slots)]; y != want {
			t.Fatalf("y[%d] = %v, want %v", i, y, want)
		}
	}
}

// TestStepsInFlight has several steps in flight, each of which copies its input from the host, adds it to a state, and
// copies the state back to the host.
func TestStepsInFlight(t *testing.T) {
	const n, slots, steps = 64, 3, 100
	state := 4 * n * slots
	hosts := make([]int64, 2*slots)
	for i := range hosts {
		hosts[i] = 4 * n
	}
	b := open(t, setting{slots: slots, device: []int64{4*n*slots + 4*n}, host: hosts})
	if err := b.device.Clear(b.memory[0]); err != nil {
		t.Fatal(err)
	}
	c := command(adding(arg{Offset: state}, arg{Slot: 4 * n}, arg{Offset: state}, n))
	var end runtime.Event
	want := make([]float32, n)
	wants := make([][]float32, slots)
	in, out := runtime.Label{What: "in"}, runtime.Label{What: "out"}
	for step := uint64(1); step <= steps+slots; step++ {
		slot := int(step % slots)
		if step > slots {
			end.Await(step - slots)
			if got := b.host(2 + 2*slot); !slices.Equal(got, wants[slot]) {
				t.Fatalf("step %d: got %v, want %v", step-slots, got, wants[slot])
			}
		}
		if step > steps {
			continue
		}
		b.step(slot, step, n)
		for i := range n {
			x := float32(step%7 + uint64(i))
			b.host(1 + 2*slot)[i] = x
			want[i] += x
		}
		wants[slot] = slices.Clone(want)
		b.device.Copy(0, dense(&in, 0, 4*n*slot, 1+2*slot, 0, 4*n), b.blocks[slot])
		b.device.Run(0, c, b.blocks[slot], 0)
		b.device.Copy(0, dense(&out, 2+2*slot, 0, 0, state, 4*n), b.blocks[slot])
		b.device.Record(0, &end, step)
	}
	if err := fault(b.supervisor); err != nil {
		t.Fatal(err)
	}
}

// plan is a random program on several queues of a device, with what it computes if it runs in order.
type plan struct {
	random *rand.Rand
	bench  *bench
	model  [][]float32 // of each memory
	queues int
	last   []use             // of each memory: who wrote it, and who has read it since
	events []*runtime.Event  // of each queue
	counts []uint64          // records of each queue
	labels [][]runtime.Label // of each queue, for the transfer into each memory
}

// use is a point of each queue.
type use struct{ reads, writes []uint64 }

const planFloats = 200

// TestRandomOrdersOnSeveralQueues runs random commands and transfers. Each waits for those it depends on, by events, and for
// no others.
func TestRandomOrdersOnSeveralQueues(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			const device, host, queues = 4, 3, 3
			s := setting{queues: queues}
			for range device {
				s.device = append(s.device, 4*planFloats)
			}
			for range host {
				s.host = append(s.host, 4*planFloats)
			}
			p := &plan{random: rand.New(rand.NewPCG(seed, 1)), bench: open(t, s), queues: queues}
			p.begin(device, host)
			for range 400 {
				p.act(device, host)
			}
			p.end(t, device, host)
		})
	}
}

func (p *plan) begin(device, host int) {
	for i := range device + host {
		x := ramp(planFloats)
		p.model = append(p.model, x)
		if i < device {
			p.bench.load(i, x)
		} else {
			copy(p.bench.host(i), x)
		}
		p.last = append(p.last, use{make([]uint64, p.queues), make([]uint64, p.queues)})
	}
	for range p.queues {
		p.events, p.counts = append(p.events, new(runtime.Event)), append(p.counts, 0)
		p.labels = append(p.labels, make([]runtime.Label, device+host))
	}
}

// act submits one command or transfer to a random queue, with its waits and a record.
func (p *plan) act(device, host int) {
	q := p.random.IntN(p.queues)
	b := p.bench
	dst, src := p.random.IntN(device+host), p.random.IntN(device)
	if dst < device && p.random.IntN(3) == 0 {
		src = device + p.random.IntN(host)
	}
	for src == dst {
		src = p.random.IntN(device)
	}
	for r := range p.queues {
		n := max(p.last[src].writes[r], p.last[dst].writes[r], p.last[dst].reads[r])
		if r != q && n > 0 {
			b.device.Wait(q, p.events[r], n)
		}
	}
	begin := p.random.IntN(planFloats)
	n := 1 + p.random.IntN(planFloats-begin)
	if dst < device && src < device && p.random.IntN(2) == 0 {
		b.device.Run(q, command(scaling(arg{Memory: dst, Offset: 4 * begin}, arg{Memory: src, Offset: 4 * begin}, n, 1.25)), b.blocks[0], 0)
		for i := begin; i < begin+n; i++ {
			p.model[dst][i] = 1.25 * p.model[src][i]
		}
	} else {
		b.device.Copy(q, dense(&p.labels[q][dst], dst, 4*begin, src, 4*begin, 4*n), b.blocks[0])
		copy(p.model[dst][begin:begin+n], p.model[src][begin:])
	}
	p.counts[q]++
	b.device.Record(q, p.events[q], p.counts[q])
	p.last[dst].writes[q], p.last[src].reads[q] = p.counts[q], p.counts[q]
}

func (p *plan) end(t *testing.T, device, host int) {
	for q := range p.queues {
		p.events[q].Await(p.counts[q])
	}
	if err := fault(p.bench.supervisor); err != nil {
		t.Fatal(err)
	}
	for i := range device + host {
		var got []float32
		if i < device {
			got = p.bench.read(i, planFloats)
		} else {
			got = p.bench.host(i)
		}
		if !slices.Equal(got, p.model[i]) {
			t.Errorf("memory %d: got %v, want %v", i, got, p.model[i])
		}
	}
}

// TestWaitsForTheHost has a queue that waits for an event of the host before it copies from there.
func TestWaitsForTheHost(t *testing.T) {
	b := open(t, setting{device: []int64{64}, host: []int64{64}})
	var e runtime.Event
	b.device.Wait(0, &e, 3)
	b.device.Copy(0, dense(&label, 0, 0, 1, 0, 64), b.blocks[0])
	time.Sleep(10 * time.Millisecond)
	copy(b.host(1), ramp(16))
	e.Signal(3)
	if got := b.read(0, 16); !slices.Equal(got, ramp(16)) {
		t.Errorf("got %v", got)
	}
}

// TestTwoDevices passes a vector back and forth between two devices, through the memory of the host. Each doubles it.
func TestTwoDevices(t *testing.T) {
	const n, rounds = 100, 10
	s := setting{device: []int64{4 * n}, host: []int64{4 * n}}
	s.config.Devices = []cudasim.Device{{Name: "one", Memory: 1 << 30, Capability: 90}, {Name: "two", Memory: 1 << 29, Capability: 80}}
	first := open(t, s)
	s.driver, s.loader.Device = first.driver, "two"
	both := []*bench{first, open(t, s)}
	shared := both[0].memory[1]
	block := *both[1].blocks[0]
	block.Memory = []runtime.Memory{both[1].memory[0], shared}
	both[1].blocks[0] = &block
	both[0].load(0, ramp(n))
	in, out := runtime.Label{What: "in"}, runtime.Label{What: "out"}
	double := command(scaling(arg{}, arg{}, n, 2))
	var there, back runtime.Event
	for i := range uint64(rounds) {
		for j, b := range both {
			mine, other := &there, &back
			if j == 1 {
				mine, other = other, mine
			}
			if i > 0 || j > 0 {
				b.device.Wait(0, other, i+uint64(j))
				b.device.Copy(0, dense(&in, 0, 0, 1, 0, 4*n), b.blocks[0])
			}
			b.device.Run(0, double, b.blocks[0], 0)
			b.device.Copy(0, dense(&out, 1, 0, 0, 0, 4*n), b.blocks[0])
			b.device.Record(0, mine, i+1)
		}
	}
	back.Await(rounds)
	for i, x := range both[0].host(1) {
		if want := float32(i+1) * (1 << (2 * rounds)); x != want {
			t.Fatalf("x[%d] = %v, want %v", i, x, want)
		}
	}
}

// BenchmarkStep measures a step of one command, with a copy to the device and one from it.
func BenchmarkStep(b *testing.B) {
	const n = 256
	d := open(b, setting{device: []int64{4 * n, 4 * n}, host: []int64{4 * n, 4 * n}})
	c := command(scaling(arg{Memory: 1}, arg{Memory: 0}, n, 2))
	in, out := runtime.Label{What: "in"}, runtime.Label{What: "out"}
	var end runtime.Event
	step := uint64(0)
	for b.Loop() {
		step++
		d.step(0, step, n)
		d.device.Copy(0, dense(&in, 0, 0, 2, 0, 4*n), d.blocks[0])
		d.device.Run(0, c, d.blocks[0], 0)
		d.device.Copy(0, dense(&out, 3, 0, 1, 0, 4*n), d.blocks[0])
		d.device.Record(0, &end, step)
		end.Await(step)
	}
}

// stores returns a kernel for workgroups of so many threads: x[t] = number for each thread t. Argument: x.
func stores(threads int, number float32, target ptx.Target) string {
	b := kir.NewBuilder("stores", threads)
	b.Store(b.At(b.Arg("x", kir.U64), b.Thread(), 4), b.Float(number))
	k, err := b.Kernel()
	if err != nil {
		panic(err)
	}
	text, err := ptx.Emit(k, target)
	if err != nil {
		panic(err)
	}
	return text
}

// TestModulesForLaterDevices has a kernel with modules for two architectures, whose workgroups differ.
func TestModulesForLaterDevices(t *testing.T) {
	k := &gpu.Kernel{Name: "stores", Threads: 64, Args: 1, Code: stores(64, 70, ptx.SM70) + stores(32, 80, ptx.SM80)}
	for capability, want := range map[int][]float32{70: {70, 70}, 75: {70, 70}, 80: {80, 0}, 90: {80, 0}, 120: {80, 0}} {
		config := cudasim.Config{Devices: []cudasim.Device{{Name: "GPU", Memory: 1 << 30, Capability: capability}}}
		b := open(t, setting{config: config, device: []int64{4 * 64}})
		if err := b.device.Clear(b.memory[0]); err != nil {
			t.Fatal(err)
		}
		b.device.Run(0, command(dispatch{Kernel: k, Groups: 1, Args: []arg{{}}}), b.blocks[0], 0)
		if got := b.read(0, 64); got[0] != want[0] || got[63] != want[1] {
			t.Errorf("capability %d: the first and the last thread store %v and %v, want %v", capability, got[0], got[63], want)
		}
		b.close()
	}
}
