package drivertest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ggmlc/ggmlc/runtime"
)

// plan is a random program on several queues of a device, with what it computes if it runs in order.
type plan struct {
	suite  *Suite
	random *rand.Rand
	bench  *Bench
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

// randomOrdersOnSeveralQueues runs random commands and transfers. Each waits for those it depends on, by events, and
// for no others. With every second seed the device addresses the memory of the host.
func (s *Suite) randomOrdersOnSeveralQueues(t *testing.T) {
	for seed := range uint64(s.Steps / 16) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			const device, host, queues = 4, 3, 3
			with := Setting{Queues: queues, Quick: seed > 3, Access: Staged}
			if seed%2 == 1 {
				with.Access = Shared
			}
			for range device {
				with.Device = append(with.Device, 4*planFloats)
			}
			for range host {
				with.Host = append(with.Host, 4*planFloats)
			}
			p := &plan{suite: s, random: rand.New(rand.NewPCG(seed, 1)), bench: s.Open(t, with), queues: queues}
			p.begin(device, host)
			for range 2 * s.Steps {
				if with.Access == Shared {
					p.act(device+host, 0)
				} else {
					p.act(device, host)
				}
			}
			p.end(t, device, host)
		})
	}
}

func (p *plan) begin(device, host int) {
	for i := range device + host {
		x := Ramp(planFloats)
		p.model = append(p.model, x)
		if i < device {
			p.bench.Load(i, x)
		} else {
			copy(p.bench.Host(i), x)
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
	if dst < device && host > 0 && p.random.IntN(3) == 0 {
		src = device + p.random.IntN(host)
	}
	for src == dst {
		src = p.random.IntN(device)
	}
	for r := range p.queues {
		n := max(p.last[src].writes[r], p.last[dst].writes[r], p.last[dst].reads[r])
		if r != q && n > 0 {
			b.Device.Wait(q, p.events[r], n)
		}
	}
	begin := p.random.IntN(planFloats)
	n := 1 + p.random.IntN(planFloats-begin)
	if dst < device && src < device && p.random.IntN(2) == 0 {
		b.Device.Run(q, Command(p.suite.Scaling(Arg{Memory: dst, Offset: 4 * begin}, Arg{Memory: src, Offset: 4 * begin}, n, 1.25)), b.Blocks[0], 0)
		for i := begin; i < begin+n; i++ {
			p.model[dst][i] = 1.25 * p.model[src][i]
		}
	} else {
		b.Device.Copy(q, Dense(&p.labels[q][dst], dst, 4*begin, src, 4*begin, 4*n), b.Blocks[0])
		copy(p.model[dst][begin:begin+n], p.model[src][begin:])
	}
	p.counts[q]++
	b.Device.Record(q, p.events[q], p.counts[q])
	p.last[dst].writes[q], p.last[src].reads[q] = p.counts[q], p.counts[q]
}

func (p *plan) end(t *testing.T, device, host int) {
	for q := range p.queues {
		p.events[q].Await(p.counts[q])
	}
	if err := p.bench.Fault(); err != nil {
		t.Fatal(err)
	}
	for i := range device + host {
		var got []float32
		if i < device {
			got = p.bench.Read(i, planFloats)
		} else {
			got = p.bench.Host(i)
		}
		if !slices.Equal(got, p.model[i]) {
			t.Errorf("memory %d: got %v, want %v", i, got, p.model[i])
		}
	}
}

// waitsForTheHost has a queue that waits for an event of the host before it copies from there.
func (s *Suite) waitsForTheHost(t *testing.T) {
	b := s.Open(t, Setting{Device: []int64{64}, Host: []int64{64}})
	var e runtime.Event
	b.Device.Wait(0, &e, 3)
	b.Copy(Dense(&Label, 0, 0, 1, 0, 64))
	time.Sleep(10 * time.Millisecond)
	copy(b.Host(1), Ramp(16))
	e.Signal(3)
	if got := b.Read(0, 16); !slices.Equal(got, Ramp(16)) {
		t.Errorf("got %v", got)
	}
}

// twoDevices passes a vector back and forth between two devices, through the memory of the host. Each doubles it.
func (s *Suite) twoDevices(t *testing.T) {
	const n, rounds = 100, 10
	both := s.OpenTwo(t, Setting{Device: []int64{4 * n}, Host: []int64{4 * n}})
	shared := both[0].Memory[1]
	block := *both[1].Blocks[0]
	block.Memory = []runtime.Memory{both[1].Memory[0], shared}
	both[1].Blocks[0] = &block
	both[0].Load(0, Ramp(n))
	in, out := runtime.Label{What: "in"}, runtime.Label{What: "out"}
	double := Command(s.Scaling(Arg{}, Arg{}, n, 2))
	var there, back runtime.Event
	for i := range uint64(rounds) {
		for j, b := range both {
			mine, other := &there, &back
			if j == 1 {
				mine, other = other, mine
			}
			if i > 0 || j > 0 {
				b.Device.Wait(0, other, i+uint64(j))
				b.Copy(Dense(&in, 0, 0, 1, 0, 4*n))
			}
			b.Run(double)
			b.Copy(Dense(&out, 1, 0, 0, 0, 4*n))
			b.Device.Record(0, mine, i+1)
		}
	}
	back.Await(rounds)
	for i, x := range both[0].Host(1) {
		if want := float32(i+1) * (1 << (2 * rounds)); x != want {
			t.Fatalf("x[%d] = %v, want %v", i, x, want)
		}
	}
}
