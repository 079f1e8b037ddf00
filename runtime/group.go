package runtime

import (
	"context"
	"fmt"
	goruntime "runtime"
	"runtime/debug"
	"time"
	"unsafe"
)

// Groups opens groups of the processor's threads. A group has a pool of workers of its own, bound to its cores where
// the system can, memory of its own, and one queue. Its first worker takes entries from the queue; all of them run the
// kernels of a command. It uses weights where the program has them.
type Groups struct{}

// GroupKernel is the type of Command.Kernel for groups. All threads of the group run it. iteration is that of the
// repeat around the command.
type GroupKernel func(e *GroupEnv, iteration int)

// GroupEnv is the environment of a GroupKernel for one thread.
type GroupEnv struct {
	*Block

	Part, Parts int // this thread does part Part of Parts

	// Mem holds the addresses of the memory that the group addresses, indexed by the numbers of Layout.Memory, and nil
	// for all other memory.
	Mem []unsafe.Pointer

	worker *Worker
}

// Barrier returns once all threads of the group have called it. It does not return if another one has failed.
func (e *GroupEnv) Barrier() { e.worker.Barrier() }

// group is one group of threads.
type group struct {
	info       *DeviceInfo
	index      int
	supervisor *Supervisor
	lane       int // in the timeline
	entries    *Entries
	pool       *pool
	ended      chan struct{}

	// The command that runs.
	fn   Func
	args Args
	now  *QueueEntry
}

// Open implements Loader.
func (*Groups) Open(info *DeviceInfo, index int, s *Supervisor) (Device, error) {
	cores, n, note := useCores(info.Name, info.Cores)
	if note != "" {
		s.notes = append(s.notes, note)
	}
	g := &group{
		info: info, index: index, supervisor: s, lane: s.Timeline.Queue(info.Queues[0]),
		entries: NewEntries(), pool: newPool(n, 0), ended: make(chan struct{}),
	}
	g.pool.bindTo(cores)
	g.fn = Func{Name: info.Name, Run: g.part}
	go g.work()
	return g, nil
}

// Alloc implements Device. The memory is zeroed. The system provides it page by page to the thread that touches it
// first, near the processor of that thread.
func (g *group) Alloc(_ Class, bytes int64) (Memory, error) {
	a, err := allocateArena(bytes, "the group "+g.info.Name)
	if err != nil {
		return nil, err
	}
	return hostMemory(a.bytes), nil
}

// Load implements Device.
func (g *group) Load(m Memory, data []byte) error {
	copy(m.(HostMemory).octets(), data)
	return nil
}

// Clear implements Device.
func (g *group) Clear(m Memory) error {
	clear(m.(HostMemory).octets())
	return nil
}

func (m HostMemory) octets() []byte { return unsafe.Slice((*byte)(m.Base), m.Size) }

// Bind implements Device.
func (g *group) Bind(b *Block) (any, error) {
	mem := make([]unsafe.Pointer, len(b.Memory))
	for _, i := range g.info.Memory {
		m, ok := b.Memory[i].(Addressable)
		if !ok {
			return nil, fmt.Errorf("memory that the processor does not address: %T", b.Memory[i])
		}
		mem[i] = m.Address()
	}
	envs := make([]GroupEnv, len(g.pool.workers))
	for i, w := range g.pool.workers {
		envs[i] = GroupEnv{Block: b, Part: i, Mem: mem, worker: w}
	}
	return envs, nil
}

// Run implements Device.
func (g *group) Run(_ int, c *Command, b *Block, iteration int) {
	g.entries.Submit(QueueEntry{Kind: RunEntry, Command: c, Block: b, Iteration: iteration})
}

// Copy implements Device.
func (g *group) Copy(_ int, t Transfer, b *Block) {
	g.entries.Submit(QueueEntry{Kind: CopyEntry, Transfer: t, Block: b})
}

// Record implements Device.
func (g *group) Record(_ int, e *Event, n uint64) {
	if !g.entries.Submit(QueueEntry{Kind: RecordEntry, Event: e, Count: n}) {
		<-g.ended // earlier records come first
		e.Signal(n)
	}
}

// Wait implements Device.
func (g *group) Wait(_ int, e *Event, n uint64) {
	g.entries.Submit(QueueEntry{Kind: WaitEntry, Event: e, Count: n})
}

// Close implements Device.
func (g *group) Close() error {
	g.entries.Close()
	<-g.ended
	g.pool.close()
	return nil
}

// work processes entries until the queue is closed and empty. It is the group's first worker.
func (g *group) work() {
	debug.SetPanicOnFault(true)
	g.pool.bind(0)
	defer close(g.ended)
	var e QueueEntry
	for g.entries.Next(&e, g.pool.usualSpin()) {
		switch e.Kind {
		case RecordEntry:
			e.Event.Signal(e.Count)
		case WaitEntry:
			e.Event.AwaitSpinning(e.Count, g.pool.usualSpin())
		default:
			if !g.supervisor.Failed() {
				g.do(&e)
			}
		}
	}
}

// do runs a command or a transfer.
func (g *group) do(e *QueueEntry) {
	begin := g.supervisor.Timeline.Now()
	if e.Kind == CopyEntry {
		g.move(e)
	} else {
		g.run(e)
	}
	if g.supervisor.Timeline != nil {
		what, iteration := e.Label()
		g.supervisor.Timeline.Add(g.lane, what, iteration, e.Block.Step, begin)
	}
}

// move carries out a transfer.
func (g *group) move(e *QueueEntry) {
	defer func() {
		if v := recover(); v != nil {
			g.fail(e, v)
		}
	}()
	e.Transfer.Move(e.Block)
}

// run runs a command on all threads.
func (g *group) run(e *QueueEntry) {
	p := g.pool
	g.now = e
	p.prepare(g.threads(), context.Background(), &g.fn, &g.args, p.usualSpin())
	p.dispatch()
	if p.fault.failed.Load() {
		g.fail(e, p.fault.value)
	}
}

// threads returns how many threads run a command.
func (g *group) threads() int {
	n := len(g.pool.workers)
	if most := int(g.supervisor.most.Load()); most > 0 {
		n = min(n, most)
	}
	return n
}

// part is one thread's part of the command.
func (g *group) part(w *Worker, _ *Args) {
	e := &g.now.Block.Bound[g.index].([]GroupEnv)[w.Part]
	e.Parts = w.Parts
	g.now.Command.Kernel.(GroupKernel)(e, g.now.Iteration)
}

// fail reports that an entry has failed.
func (g *group) fail(e *QueueEntry, value any) {
	what, iteration := e.Label()
	g.supervisor.Fail(newFault(g.info.Name, what.At(iteration), value))
}

// newFault describes the failure of a command of a device. It sets Addr if the panic's value has one.
func newFault(device, command string, value any) *FaultError {
	err := &FaultError{Device: device, Command: command, Value: value}
	if at, ok := value.(interface{ Addr() uintptr }); ok {
		err.Addr = at.Addr()
	}
	return err
}

// usualSpin returns how long a worker of the pool polls before it parks: not at all if the program has more threads
// than there are processors.
func (p *pool) usualSpin() time.Duration {
	if len(p.workers) > numCPU || p.crowded.Load() {
		return 0
	}
	return spinTime
}

// bindTo makes the workers run on these cores, one on each; nil means any.
func (p *pool) bindTo(cores []int) {
	p.masks = make([]coreMask, len(cores))
	for i, core := range cores {
		p.masks[i].add(core)
	}
}

// bind locks the goroutine of a worker to a thread, and the thread to the worker's core, if the pool has cores. The
// thread ends with the goroutine.
func (p *pool) bind(worker int) {
	if worker < len(p.masks) {
		goruntime.LockOSThread()
		p.masks[worker].apply()
	}
}

// bindCaller is bind for the goroutine of a caller, which is worker 0 until releaseCaller.
func (p *pool) bindCaller() {
	if len(p.masks) > 0 {
		goruntime.LockOSThread()
		p.caller.load()
		p.masks[0].apply()
	}
}

// releaseCaller lets the caller run where it ran before.
func (p *pool) releaseCaller() {
	if len(p.masks) > 0 {
		p.caller.apply()
		goruntime.UnlockOSThread()
	}
}
