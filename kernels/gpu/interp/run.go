package interp

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// Launch is how a kernel is run: its number of workgroups, and one word for each argument, an i32 or u32 in the low 32
// bits.
type Launch struct {
	Groups int
	Args   []uint64
}

// Options are properties of the device that a kernel may not depend on.
type Options struct {
	Seed     uint64 // of the order of threads
	Subgroup int    // threads of a subgroup: 4, 8, 16, 32 or 64; 0 means 32
	Flush    bool   // denormals of f32 are flushed to 0 by arithmetic and conversions, except in products of tiles
	Checks   Checks // what is looked for
}

// Checks select the faults that a run looks for.
type Checks uint8

const (
	CheckAll    Checks = iota
	CheckBounds        // all but races, uniform reads of what is written, and reads of bytes that were never written
)

// maxRegisters bounds the registers of the groups that are under way, in words: 512 KiB, which caches hold. With 64 MiB
// a model took three times as long.
const maxRegisters = 1 << 16

// Run runs a kernel. It returns the first [Fault] found; then the contents of memory are undefined. A kernel that uses
// subgroups has to have a multiple of the subgroup's threads.
func Run(k *kir.Kernel, l Launch, m *Memory, o Options) error {
	p, err := Compile(k, o)
	if err != nil {
		return err
	}
	return p.Run(l, m, o.Seed)
}

// Compile returns the program of a kernel for several runs.
func Compile(k *kir.Kernel, o Options) (*Program, error) {
	if err := kir.Verify(k); err != nil {
		return nil, err
	}
	return prepare(k, o)
}

// prepare compiles a kernel whose barriers may be anywhere.
func prepare(k *kir.Kernel, o Options) (*Program, error) {
	if o.Subgroup == 0 {
		o.Subgroup = 32
	}
	if !slices.Contains([]int{4, 8, 16, 32, 64}, o.Subgroup) {
		return nil, fmt.Errorf("interp: subgroups of %d threads: want 4, 8, 16, 32 or 64", o.Subgroup)
	}
	p := compile(k, o)
	if p.subgroups && k.Threads%o.Subgroup != 0 {
		return nil, launchFault(k, Subgroup, "%d threads are no multiple of a subgroup's %d", k.Threads, o.Subgroup)
	}
	if p.slabs && o.Subgroup*4 != kir.SlabThreads {
		return nil, launchFault(k, Subgroup, "subgroups of %d threads: slabs belong to four of %d", o.Subgroup, kir.SlabThreads/4)
	}
	return p, nil
}

// Run runs the program as [Run] does, in the order of a seed.
func (p *Program) Run(l Launch, m *Memory, seed uint64) error { return m.NewSection().Run(p, l, seed) }

// machine runs one launch.
type machine struct {
	*Program
	*Section
	launch   Launch
	begins   []uint64 // registers of a thread that begins
	subgroup int
	random   order
	interval int // mean number of accesses to memory between interruptions of a thread
	left     int // accesses until the running thread is interrupted
	moving   []uint64
	free     []*group // ended ones, whose memory new groups take
	fault    *Fault
}

func newMachine(p *Program, l Launch, s *Section, seed uint64) *machine {
	m := &machine{Program: p, Section: s, launch: l, subgroup: p.options.Subgroup, moving: make([]uint64, p.moved)}
	m.begins = slices.Clone(p.start)
	for i, register := range p.args {
		m.begins[register] = low(p.kernel.Args[i].Type.Kind, l.Args[i])
	}
	m.random.state = seed
	m.interval = []int{1, 3, 10, 100, 10000}[m.random.below(5)]
	return m
}

// run runs all groups.
func (m *machine) run() {
	order := m.random.permutation(m.launch.Groups)
	atOnce := max(2, maxRegisters/(len(m.start)*m.kernel.Threads))
	var live []*group
	for len(order) > 0 || len(live) > 0 {
		for len(order) > 0 && len(live) < atOnce {
			live = append(live, m.begin(order[0]))
			order = order[1:]
		}
		at := m.random.below(len(live))
		g := live[at]
		if !g.turn() {
			return
		}
		if g.ended == len(g.threads) {
			m.free = append(m.free, g)
			live[at] = live[len(live)-1]
			live = live[:len(live)-1]
		}
	}
}

// group is a workgroup that is under way.
type group struct {
	m         *machine
	index     int
	phase     int // barriers passed
	threads   []thread
	ready     []int32 // threads that may run
	ended     int
	atBarrier int
	atMeeting []int // threads that wait at an operation of their subgroup, by subgroup
	shared    []sharedArray
	slabs     slabs
}

// begin returns a group whose threads are at their begin.
func (m *machine) begin(index int) *group {
	var g *group
	if n := len(m.free); n > 0 {
		g, m.free = m.free[n-1], m.free[:n-1]
	} else {
		g = m.newGroup()
	}
	g.index, g.phase, g.ended, g.atBarrier = index, 0, 0, 0
	g.ready, g.slabs = g.ready[:0], slabs{}
	for i := range g.threads {
		g.threads[i].pc, g.threads[i].state = 0, proceed
		g.threads[i].copies, g.threads[i].stored = copies{}, g.threads[i].stored[:0]
		g.prepare(&g.threads[i])
		g.ready = append(g.ready, int32(i))
	}
	for i := range g.shared {
		g.shared[i].forget()
	}
	return g
}

func (m *machine) newGroup() *group {
	threads, n := m.kernel.Threads, len(m.start)
	g := &group{m: m, threads: make([]thread, threads), ready: make([]int32, 0, threads)}
	g.atMeeting = make([]int, (threads+m.subgroup-1)/m.subgroup)
	registers := make([]uint64, threads*n)
	for i := range g.threads {
		g.threads[i] = thread{index: int32(i), registers: registers[i*n : (i+1)*n]}
	}
	for _, s := range m.kernel.Shared {
		a := sharedArray{Shared: s, values: make([]uint64, s.Len*s.Elem.Lanes), copied: make([]access, s.Len)}
		a.seen = [2][]access{make([]access, s.Len), make([]access, s.Len)}
		if m.slabs {
			a.published, a.products = make([]publication, s.Len), make([]int32, s.Len)
		}
		g.shared = append(g.shared, a)
	}
	return g
}

// prepare sets the registers of a thread that begins.
func (g *group) prepare(t *thread) {
	copy(t.registers, g.m.begins)
	for _, s := range g.m.specials {
		t.registers[s.register] = uint64(g.special(s.op, int(t.index)))
	}
}

func (g *group) special(op kir.Op, thread int) int {
	switch op {
	case kir.OpThread:
		return thread
	case kir.OpGroup:
		return g.index
	case kir.OpNumGroups:
		return g.m.launch.Groups
	case kir.OpLane:
		return thread % g.m.subgroup
	case kir.OpSubgroup:
		return thread / g.m.subgroup
	}
	return g.m.subgroup
}

// turn runs some threads of the group. It returns false after a fault.
func (g *group) turn() bool {
	for range 1 + g.m.random.below(2*len(g.threads)) {
		if len(g.ready) == 0 {
			return g.ended == len(g.threads) || g.stall()
		}
		at := g.m.random.below(len(g.ready))
		t := &g.threads[g.ready[at]]
		g.m.left = 1 + g.m.random.below(2*g.m.interval)
		if t.state = g.run(t); t.state == interrupted {
			continue
		}
		g.ready[at] = g.ready[len(g.ready)-1]
		g.ready = g.ready[:len(g.ready)-1]
		if g.stopped(t) == failed {
			return false
		}
	}
	return true
}

// stopped counts a thread that runs no more, and lets those continue that waited for it.
func (g *group) stopped(t *thread) signal {
	switch {
	case t.state == failed:
		return failed
	case t.state == ended:
		g.ended++
	case ofGroup(g.waitsAt(t).Op):
		if g.atBarrier++; g.atBarrier == len(g.threads) {
			return g.passBarrier()
		}
	default:
		s := int(t.index) / g.m.subgroup
		if g.atMeeting[s]++; g.atMeeting[s] == g.m.subgroup {
			return g.meet(s)
		}
	}
	return proceed
}

// fail records a fault of a thread.
func (g *group) fail(t *thread, in *inst, kind, format string, args ...any) signal {
	g.m.fault = &Fault{
		Kernel: g.m.kernel.Name, Kind: kind, Text: fmt.Sprintf(format, args...),
		Group: g.index, Thread: int(t.index), Number: in.number, Instr: in.text(),
	}
	return failed
}
