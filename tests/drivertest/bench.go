package drivertest

import (
	"os"
	goruntime "runtime"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime"
)

// Bench is a device with memories and a block for each step that may be in flight, as package runtime makes them.
type Bench struct {
	T          testing.TB
	Device     runtime.Device
	Supervisor *runtime.Supervisor
	Info       runtime.DeviceInfo
	Blocks     []*runtime.Block
	Memory     []runtime.Memory // those of the device come first
	Closed     bool
}

// Setting is what a Bench has.
type Setting struct {
	Target   string // "" is gpu
	Queues   int
	Slots    int
	Device   []int64 // bytes of the memories of the device
	Host     []int64 // and of the host
	Timeline *runtime.Timeline
	Access   Access // "" is Staged
	Quick    bool   // without checks by the driver that take long
	Progress func(done, total int64)
}

// New returns a bench that Open has to be called for.
func New(t testing.TB, s Setting) *Bench {
	b := &Bench{T: t, Supervisor: &runtime.Supervisor{Timeline: s.Timeline}, Info: runtime.DeviceInfo{Name: s.Target}}
	if s.Target == "" {
		b.Info.Name = "gpu"
	}
	for i := range max(s.Queues, 1) {
		b.Info.Queues = append(b.Info.Queues, string(rune('a'+i)))
	}
	return b
}

// Open opens the device, and makes the memories and the blocks. Device is nil if the loader fails. The device is closed
// at the end of the test.
func (b *Bench) Open(l runtime.Loader, s Setting) (err error) {
	if b.Device, err = l.Open(&b.Info, 0, b.Supervisor); err != nil {
		b.Device = nil
		return err
	}
	b.T.Cleanup(b.Close)
	for i, n := range s.Device {
		m, err := b.Device.Alloc(runtime.Activations, n)
		if err != nil {
			return err
		}
		b.Memory, b.Info.Memory = append(b.Memory, m), append(b.Info.Memory, i)
	}
	for _, n := range s.Host {
		if s.Access == Shared {
			b.Info.Memory = append(b.Info.Memory, len(b.Memory))
		}
		b.Memory = append(b.Memory, HostMemory(n))
	}
	for i := range max(s.Slots, 1) {
		block := &runtime.Block{Slot: i, Memory: b.Memory}
		if err := b.bind(block); err != nil {
			return err
		}
		b.Blocks = append(b.Blocks, block)
	}
	return nil
}

func (b *Bench) bind(block *runtime.Block) error {
	bound, err := b.Device.Bind(block)
	block.Bound = []any{bound}
	return err
}

// Bind returns a block with all memories, and further ones.
func (b *Bench) Bind(further ...runtime.Memory) *runtime.Block {
	b.T.Helper()
	block := &runtime.Block{Memory: append(slices.Clone(b.Memory), further...)}
	if err := b.bind(block); err != nil {
		b.T.Fatal(err)
	}
	return block
}

// Close closes the device.
func (b *Bench) Close() {
	if b.Closed {
		return
	}
	b.Closed = true
	if err := b.Device.Close(); err != nil {
		b.T.Error(err)
	}
}

// HostMemory returns memory with pages of its own, as that of sessions.
func HostMemory(n int64) runtime.HostMemory {
	page := int64(os.Getpagesize())
	raw := make([]byte, (n+2*page-2)/page*page)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(raw))) % uintptr(page)
	return runtime.HostMemory{Base: unsafe.Pointer(unsafe.SliceData(raw[skip:])), Size: n}
}

// Host returns a memory of the host as floats.
func (b *Bench) Host(i int) []float32 {
	m := b.Memory[i].(runtime.HostMemory)
	return unsafe.Slice((*float32)(m.Base), m.Size/4)
}

// Step begins a step of a block, with a size of symbol 1.
func (b *Bench) Step(block int, step uint64, size int) {
	b.Blocks[block].Step, b.Blocks[block].Dims[1] = step, size
}

// Run submits a command to the first queue, for the first block.
func (b *Bench) Run(c *runtime.Command) { b.Device.Run(0, c, b.Blocks[0], 0) }

// Copy submits a transfer to the first queue, for the first block.
func (b *Bench) Copy(t runtime.Transfer) { b.Device.Copy(0, t, b.Blocks[0]) }

// Finish waits for all work of a queue.
func (b *Bench) Finish(queue int) {
	b.T.Helper()
	var e runtime.Event
	b.Device.Record(queue, &e, 1)
	e.Await(1)
}

// Load loads floats into a memory.
func (b *Bench) Load(i int, x []float32) {
	b.T.Helper()
	if err := b.Device.Load(b.Memory[i], FloatBytes(x)); err != nil {
		b.T.Fatal(err)
	}
}

// Clear makes a memory zero.
func (b *Bench) Clear(i int) {
	b.T.Helper()
	if err := b.Device.Clear(b.Memory[i]); err != nil {
		b.T.Fatal(err)
	}
}

// Read returns n floats of a memory of the device, copied by a queue.
func (b *Bench) Read(i, n int) []float32 {
	b.T.Helper()
	to := HostMemory(int64(4 * n))
	block := b.Bind(to)
	b.Device.Copy(0, Dense(&Label, len(b.Memory), 0, i, 0, 4*n), block)
	b.Finish(0)
	if err := b.Fault(); err != nil {
		b.T.Fatal(err)
	}
	return unsafe.Slice((*float32)(to.Base), n)
}

// Fault returns the failure of the device, or nil.
func (b *Bench) Fault() error {
	if !b.Supervisor.Failed() {
		return nil
	}
	return b.Supervisor.Fault()
}

// FloatBytes returns the bytes of floats.
func FloatBytes(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}

// Ramp returns 1, 2, 3, …
func Ramp(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i + 1)
	}
	return x
}

// Collect runs the garbage collector and waits for cleanups.
func Collect() {
	goruntime.GC()
	time.Sleep(time.Millisecond)
}
