// Package ondevice runs kernels of kir on the devices of package runtime, outside of programs: for tests of the kernels
// and for measurements.
package ondevice

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"unsafe"

	"github.com/ggmlc/ggmlc/kernels/gpu"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
	"github.com/ggmlc/ggmlc/runtime"
	rungpu "github.com/ggmlc/ggmlc/runtime/gpu"
)

// Kind is a kind of devices.
type Kind struct {
	Name     string      // of the targets
	Assumes  gpu.Machine // what kernels may assume about the device
	Loader   runtime.Loader
	Assemble func(*kir.Kernel) ([]byte, error) // what the loader takes as the code of a kernel
}

// Machine is an open device. Memory is at addresses of the machine's own: allocation n is at (n+1)<<40. It runs one
// kernel after the other, with one queue.
type Machine struct {
	kind    Kind
	device  runtime.Device
	super   runtime.Supervisor
	memory  []runtime.Memory
	kernels map[*kir.Kernel]*rungpu.Kernel
	event   runtime.Event
	steps   uint64
	err     error // the first one of Alloc or Write
}

// spread is the number of bits of an address within its allocation.
const spread = 40

// Open opens the device that the loader of a kind chooses.
func Open(k Kind) (*Machine, error) {
	m := &Machine{kind: k, kernels: make(map[*kir.Kernel]*rungpu.Kernel)}
	var err error
	m.device, err = k.Loader.Open(&runtime.DeviceInfo{Name: k.Name, Queues: []string{k.Name}}, 0, &m.super)
	return m, err
}

// Close closes the device.
func (m *Machine) Close() error { return m.device.Close() }

// Assumes returns what kernels may assume about the machine.
func (m *Machine) Assumes() gpu.Machine { return m.kind.Assumes }

// Free forgets all memory and kernels, so that the device frees what they took.
func (m *Machine) Free() {
	m.memory, m.kernels = nil, make(map[*kir.Kernel]*rungpu.Kernel)
	goruntime.GC() // devices free memory that nothing refers to
}

// Alloc returns the address of new memory. After an error, which a later Run or Read returns, it is 0.
func (m *Machine) Alloc(bytes int) uint64 {
	a, err := m.device.Alloc(runtime.Activations, int64(max(bytes, 1)))
	if m.fail(err) {
		return 0
	}
	m.memory = append(m.memory, a)
	return uint64(len(m.memory)) << spread
}

// Write stores data at the beginning of an allocation.
func (m *Machine) Write(address uint64, data []byte) {
	if m.err == nil && len(data) > 0 {
		m.fail(m.device.Load(m.memory[address>>spread-1], data))
	}
}

// Zero clears an allocation.
func (m *Machine) Zero(address uint64) {
	if m.err == nil {
		m.fail(m.device.Clear(m.memory[address>>spread-1]))
	}
}

func (m *Machine) fail(err error) bool {
	if m.err == nil {
		m.err = err
	}
	return err != nil
}

// Failed returns the first error of the machine. Nothing runs after it.
func (m *Machine) Failed() error {
	if m.err != nil {
		return m.err
	}
	return m.super.Fault()
}

// Read copies from an address.
func (m *Machine) Read(address uint64, data []byte) error {
	if err := m.Failed(); err != nil || len(data) == 0 {
		return err
	}
	host := hostMemory(len(data))
	c, err := m.transfer(host, address, len(data))
	if err != nil {
		return err
	}
	if err := c.Run(); err != nil {
		return err
	}
	copy(data, unsafe.Slice((*byte)(host.Base), len(data)))
	return nil
}

// hostMemory returns memory of the processor, aligned to 8.
func hostMemory(bytes int) runtime.HostMemory {
	words := make([]uint64, (bytes+7)/8)
	return runtime.HostMemory{Base: unsafe.Pointer(unsafe.SliceData(words)), Size: int64(8 * len(words))}
}

// Run runs a kernel.
func (m *Machine) Run(k *kir.Kernel, groups int, args []uint64) error {
	w, err := m.Dispatches([]Dispatch{{k, groups, args}})
	if err != nil {
		return err
	}
	return w.Run()
}

// Dispatch is a kernel with its number of workgroups and its arguments: addresses of the machine, and numbers.
type Dispatch struct {
	Kernel *kir.Kernel
	Groups int
	Args   []uint64
}

// Work is submitted to the device at once, as often as it is run.
type Work struct {
	m      *Machine
	block  *runtime.Block
	submit func(*runtime.Block)
}

// Run submits the work and waits for its end.
func (w *Work) Run() error {
	m := w.m
	if err := m.Failed(); err != nil {
		return err
	}
	m.steps++
	w.block.Step = m.steps
	w.submit(w.block)
	m.device.Record(0, &m.event, m.steps)
	m.event.Await(m.steps)
	return m.Failed()
}

// work binds memory.
func (m *Machine) work(memory []runtime.Memory, submit func(*runtime.Block)) (*Work, error) {
	b := &runtime.Block{Memory: memory}
	bound, err := m.device.Bind(b)
	b.Bound = []any{bound}
	return &Work{m, b, submit}, err
}

// Dispatches returns work that runs kernels, one after the other.
func (m *Machine) Dispatches(list []Dispatch) (*Work, error) {
	if err := m.Failed(); err != nil {
		return nil, err
	}
	compiled := make([]*rungpu.Kernel, len(list))
	for i := range list {
		var err error
		if compiled[i], err = m.compile(list[i].Kernel); err != nil {
			return nil, err
		}
	}
	c := &runtime.Command{Label: runtime.Label{Func: list[0].Kernel.Name}, Kernel: rungpu.Command(func(e *rungpu.Env, _ int) {
		for i := range list {
			e.Dispatch(compiled[i], list[i].Groups, addresses(e, &list[i])...)
			e.Barrier()
		}
	})}
	return m.work(m.memory, func(b *runtime.Block) { m.device.Run(0, c, b, 0) })
}

// addresses returns the arguments of a dispatch with the addresses of the device.
func addresses(e *rungpu.Env, d *Dispatch) []uint64 {
	own := make([]uint64, len(d.Args))
	for i, a := range d.Args {
		own[i] = a
		if n := a >> spread; d.Kernel.Args[i].Type.Kind == kir.U64 && n > 0 {
			own[i] = e.Mem[n-1] + a&(1<<spread-1)
		}
	}
	return own
}

func (m *Machine) compile(k *kir.Kernel) (*rungpu.Kernel, error) {
	if c := m.kernels[k]; c != nil {
		return c, nil
	}
	code, err := m.kind.Assemble(k)
	if err != nil {
		return nil, err
	}
	c := &rungpu.Kernel{Name: k.Name, Code: string(code), Threads: k.Threads, Args: len(k.Args)}
	m.kernels[k] = c
	return c, nil
}

// transfer returns work that copies from an address to memory of the host.
func (m *Machine) transfer(host runtime.HostMemory, address uint64, bytes int) (*Work, error) {
	from := runtime.Span{Offset: int(address & (1<<spread - 1))}
	return m.copying([]runtime.Memory{m.memory[address>>spread-1], host}, runtime.Span{Memory: 1}, from, bytes)
}

func (m *Machine) copying(memory []runtime.Memory, dst, src runtime.Span, bytes int) (*Work, error) {
	t := runtime.Transfer{
		Dst: dst, Src: src, Elem: 1, Shape: [4]int{1, 1, 1, bytes}, Stride: [4]int{bytes, bytes, bytes, 1},
		Label: &runtime.Label{What: fmt.Sprintf("a copy of %d bytes", bytes)},
	}
	return m.work(memory, func(b *runtime.Block) { m.device.Copy(0, t, b) })
}

// Direction is that of a copy between the memories of the processor and of the device.
type Direction uint8

// The directions.
const (
	In  Direction = iota // to the device
	Out                  // to the processor
)

// errTooLarge reports a copy that leaves an allocation.
var errTooLarge = errors.New("ondevice: the copy is larger than the allocation")

// Copy returns work that copies bytes between new memory of the processor and the beginning of an allocation.
func (m *Machine) Copy(d Direction, address uint64, bytes int) (*Work, error) {
	if err := m.Failed(); err != nil {
		return nil, err
	}
	if m.memory[address>>spread-1].Bytes() < int64(bytes) {
		return nil, errTooLarge
	}
	host := hostMemory(bytes)
	clear(unsafe.Slice((*byte)(host.Base), bytes))
	if d == Out {
		return m.transfer(host, address, bytes)
	}
	return m.copying([]runtime.Memory{host, m.memory[address>>spread-1]}, runtime.Span{Memory: 1}, runtime.Span{}, bytes)
}
