package ptx

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"sync"
)

// Program is a module with one entry that is ready to run on the host. Tests and simulated drivers run PTX with it. It
// shares nothing with Emit, and runs what Check accepts.
type Program struct {
	Name    string // of the entry
	Threads int    // of a workgroup
	Params  int    // words

	e           *entry
	steps       []step            // of each statement
	slots       map[string]int    // of registers, the same in each thread
	constants   map[uint64]int    // slots of values that never change
	registers   int               // how many slots, the first ones, are of registers that instructions write
	bases       map[string]uint64 // addresses in shared memory
	sharedBytes int
	groups      sync.Pool // of *cta
}

// Memory is the device memory of a run.
type Memory interface {
	// At returns n bytes, or nil if not all of them can be accessed.
	At(address uint64, n int) []byte
}

// Launch is one run of a program.
type Launch struct {
	Groups int
	Words  []uint64    // the parameters
	Seed   int64       // of the order of workgroups and threads
	Stop   func() bool // ends the run early once it is true; nil is never
}

// Load reads a module.
func Load(text string) (*Program, error) {
	m, err := checked(text)
	if err != nil {
		return nil, err
	}
	if len(m.entries) != 1 || len(m.entries[0].threads) == 0 {
		return nil, fmt.Errorf("ptx: a module with %d entries: one with .reqntid is run", len(m.entries))
	}
	e := m.entries[0]
	p := &Program{Name: e.name, Threads: product(e.threads), Params: len(e.paramNames), e: e,
		slots: make(map[string]int), constants: make(map[uint64]int), bases: make(map[string]uint64)}
	for name := range e.registers {
		p.slots[name] = len(p.slots)
	}
	p.registers = len(p.slots)
	for _, name := range slices.Sorted(maps.Keys(e.shared)) {
		v := e.shared[name]
		p.sharedBytes = (p.sharedBytes + v.align - 1) / v.align * v.align
		p.bases[name] = uint64(p.sharedBytes)
		p.sharedBytes += v.bytes
	}
	for i := range e.statements {
		p.steps = append(p.steps, p.step(&e.statements[i]))
	}
	return p, nil
}

// slot returns that of a register, which may be a special one.
func (p *Program) slot(name string) int {
	at, ok := p.slots[name]
	if !ok {
		at = p.slotCount()
		p.slots[name] = at
	}
	return at
}

// constant returns the slot of a value that never changes.
func (p *Program) constant(x uint64) int {
	at, ok := p.constants[x]
	if !ok {
		at = p.slotCount()
		p.constants[x] = at
	}
	return at
}

func (p *Program) slotCount() int { return len(p.slots) + len(p.constants) }

// machine runs a program. Of a workgroup one thread runs at a time, until it waits for others; the order is random.
type machine struct {
	*Program
	Launch
	memory Memory
	random *rand.Rand
}

// cta is a workgroup.
type cta struct {
	m       *machine
	index   int
	shared  []byte
	async   []byte // what the async proxy sees of it; nil if the program does not use that
	threads []thread
}

// thread is a thread of a workgroup, with the bits of its registers.
type thread struct {
	cta     *cta
	index   int
	pc      int
	regs    []uint64
	written []writing
	state   threadState
	next    [4]uint64 // results of an instruction that reads other threads
	copies
	*proxy // nil if the program does not use the async proxy
}

// writing is what is known of the value of a register.
type writing uint8

const (
	never   writing = iota
	settled         // written before the last wgmma.fence
	fresh           // written since then
)

type threadState uint8

const (
	running threadState = iota
	atWarp              // at an instruction that threads of a warp run together
	atWarpgroup
	atBarrier
	returned
)

// runError is the panic of a step, which Run returns as an error.
type runError struct{ error }

// Run runs the program. Errors are accesses outside of memory, reads of registers that were not written, and threads
// that wait for each other.
func (p *Program) Run(l Launch, memory Memory) (err error) {
	if len(l.Words) != p.Params {
		return fmt.Errorf("ptx: %s has %d parameters, not %d", p.Name, p.Params, len(l.Words))
	}
	m := &machine{Program: p, Launch: l, memory: memory, random: rand.New(rand.NewSource(l.Seed))}
	defer func() {
		if r := recover(); r != nil {
			fault, ok := r.(runError)
			if !ok {
				panic(r)
			}
			err = fmt.Errorf("ptx: %s: %w", p.Name, fault.error)
		}
	}()
	c, ok := p.groups.Get().(*cta)
	if !ok {
		c = p.newGroup()
	}
	defer p.groups.Put(c)
	c.m = m
	for _, g := range m.random.Perm(l.Groups) {
		if m.stopped() {
			return nil
		}
		c.run(g)
	}
	return nil
}

func (m *machine) stopped() bool { return m.Stop != nil && m.Stop() }

func (p *Program) newGroup() *cta {
	c := &cta{shared: make([]byte, p.sharedBytes), threads: make([]thread, p.Threads)}
	n := p.slotCount()
	regs, written := make([]uint64, n*p.Threads), make([]writing, n*p.Threads)
	for i := range c.threads {
		th := &c.threads[i]
		*th = thread{cta: c, index: i, regs: regs[i*n : (i+1)*n], written: written[i*n : (i+1)*n]}
		for x, slot := range p.constants {
			th.regs[slot], th.written[slot] = x, settled
		}
	}
	if p.hasProxies() {
		c.newProxies(n)
	}
	return c
}

// setSpecials gives the special registers that are known here their values.
func (c *cta) setSpecials() {
	for name, x := range map[string]func(index int) int{
		"%tid.x":    func(index int) int { return index },
		"%ctaid.x":  func(int) int { return c.index },
		"%nctaid.x": func(int) int { return c.m.Groups },
		"%ntid.x":   func(int) int { return c.m.Threads },
	} {
		if slot, ok := c.m.slots[name]; ok {
			for i := range c.threads {
				c.threads[i].regs[slot], c.threads[i].written[slot] = uint64(x(i)), settled
			}
		}
	}
}

// unwritten is what shared memory has before it is written.
const unwritten = 0xa5

// run runs one workgroup.
func (c *cta) run(index int) {
	c.index = index
	c.setSpecials()
	for i := range c.shared {
		c.shared[i] = unwritten
	}
	for i := range c.async {
		c.async[i] = hidden
	}
	for i := range c.threads {
		th := &c.threads[i]
		th.pc, th.state, th.copies = 0, running, copies{}
		clear(th.written[:c.m.registers])
		if th.proxy != nil {
			th.forget()
		}
	}
	for c.step() {
	}
}

// step runs each thread until it waits or returns. It then releases each group whose threads have all arrived where
// they wait for each other.
func (c *cta) step() bool {
	first := c.m.random.Intn(len(c.threads))
	for i := range c.threads {
		c.threads[(first+i)%len(c.threads)].run()
	}
	if c.all(c.threads, returned) || c.m.stopped() {
		return false
	}
	if c.all(c.threads, atBarrier) {
		c.release(c.threads)
		return true
	}
	moved := c.meet(atWarp, warp)
	if moved = c.meet(atWarpgroup, warpgroup) || moved; !moved {
		panic(runError{fmt.Errorf("threads of workgroup %d wait for each other", c.index)})
	}
	return true
}

// meet runs the instructions for which all threads of a warp or of a warpgroup wait, and reports whether there are any.
func (c *cta) meet(s threadState, size int) (met bool) {
	for first := 0; first+size <= len(c.threads); first += size {
		if group := c.threads[first : first+size]; c.all(group, s) {
			c.m.steps[group[0].pc].meet(group)
			c.release(group)
			met = true
		}
	}
	return met
}

func (c *cta) all(threads []thread, s threadState) bool {
	for i := range threads {
		if threads[i].state != s || s != returned && threads[i].pc != threads[0].pc {
			return false
		}
	}
	return true
}

func (c *cta) release(threads []thread) {
	for i := range threads {
		threads[i].state = running
		threads[i].pc++
	}
}

// run runs a thread until it waits or returns.
func (th *thread) run() {
	steps := th.cta.m.steps
	for th.state == running {
		s := &steps[th.pc]
		if s.guard >= 0 && (th.regs[s.guard] != 0) == s.negated {
			th.pc++
			continue
		}
		switch s.kind {
		case dataStep:
			s.do(th)
			th.pc++
		case jumpStep:
			if s.to <= th.pc && th.cta.m.stopped() {
				th.state = returned
			}
			th.pc = s.to
		case warpStep:
			th.state = atWarp
		case warpgroupStep:
			th.state = atWarpgroup
		case barrierStep:
			th.state = atBarrier
		case endStep:
			th.state = returned
		}
	}
}

// shuffle returns shfl.sync.bfly.
func (p *Program) shuffle(s *statement) func(threads []thread) {
	out, in := p.result(s.operands[0], "b32"), p.sources(s, "b32")
	return func(threads []thread) {
		list := meet(s, threads, in)
		for i := range threads {
			th := &threads[i]
			if in[2].bits(th) != warp-1 {
				panic(runError{fmt.Errorf("line %d: segments of shfl are not run here", s.line)})
			}
			out.set(th, list[i^int(in[1].bits(th))])
		}
	}
}

// reduce returns redux.sync.
func (p *Program) reduce(s *statement, typ string, of func(list *[warp]uint64) uint64) func(threads []thread) {
	out, in := p.result(s.operands[0], typ), []source{p.source(s.operands[1], typ), p.source(s.operands[2], "b32")}
	return func(threads []thread) {
		list := meet(s, threads, in)
		x := of(&list)
		for i := range threads {
			out.set(&threads[i], x)
		}
	}
}

// meet returns the first operand of each thread of a warp. The last operand is the mask of the threads that meet.
func meet(s *statement, threads []thread, in []source) (list [warp]uint64) {
	if mask := in[len(in)-1].bits(&threads[0]); mask != 0xffffffff {
		panic(runError{fmt.Errorf("line %d: a warp meets with the mask %#x", s.line, mask)})
	}
	for i := range threads {
		list[i] = in[0].value(&threads[i])
	}
	return list
}

func sum32(list *[warp]uint64) (sum uint64) {
	for _, x := range list {
		sum = uint64(uint32(sum + x))
	}
	return sum
}

// greatest returns the greatest of numbers that are extended to 64 bits: of s32 those above the middle are negative.
func greatest(list *[warp]uint64) uint64 {
	top := list[0]
	for _, x := range list {
		if int64(x) > int64(top) {
			top = x
		}
	}
	return top
}
