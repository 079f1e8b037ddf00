//go:build linux

package cuda_test

import (
	"cmp"
	"math"
	"os"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/cuda"
	"github.com/ggmlc/ggmlc/tests/cudasim"
)

// library has the functions of the simulated driver.
var library = sync.OnceValue(cudasim.NewLibrary)

// bench is a device of a simulated driver with memories and a block for each step that may be in flight, as runtime makes them.
type bench struct {
	t          testing.TB
	driver     *cudasim.Driver
	device     runtime.Device
	supervisor *runtime.Supervisor
	info       runtime.DeviceInfo
	blocks     []*runtime.Block
	memory     []runtime.Memory
	closed     bool
}

// setting is how a bench is opened.
type setting struct {
	target   string          // "" is gpu
	config   cudasim.Config  // without devices it is the default one
	driver   *cudasim.Driver // one that another bench has opened, in place of a new one
	loader   cuda.Loader
	queues   int
	slots    int
	device   []int64 // bytes of the memories of the device, which come first
	host     []int64 // and of the host
	timeline *runtime.Timeline
	shared   bool // commands address the memories of the host
	faulty   bool // objects that are not freed are no fault
}

// open opens a device. What the driver finds wrong with its use is an error of the test.
func open(t testing.TB, s setting) *bench {
	t.Helper()
	b, err := tryOpen(t, s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// tryOpen is open for drivers that fail.
func tryOpen(t testing.TB, s setting) (b *bench, err error) {
	t.Helper()
	if len(s.config.Devices) == 0 {
		s.config.Devices = cudasim.Default().Devices
	}
	b = &bench{t: t, driver: s.driver, supervisor: &runtime.Supervisor{Timeline: s.timeline}, info: runtime.DeviceInfo{Name: cmp.Or(s.target, "gpu")}}
	for i := range max(s.queues, 1) {
		b.info.Queues = append(b.info.Queues, string(rune('a'+i)))
	}
	if b.driver == nil {
		b.driver = cudasim.New(s.config)
		library().Use(b.driver)
		t.Cleanup(func() { b.check(s.faulty) })
	}
	l := s.loader
	l.Symbol = library().Symbol
	if b.device, err = l.Open(&b.info, 0, b.supervisor); err != nil {
		return b, err
	}
	t.Cleanup(b.close)
	for i, n := range s.device {
		m, err := b.device.Alloc(runtime.Activations, n)
		if err != nil {
			return b, err
		}
		b.memory, b.info.Memory = append(b.memory, m), append(b.info.Memory, i)
	}
	for _, n := range s.host {
		if s.shared {
			b.info.Memory = append(b.info.Memory, len(b.memory))
		}
		b.memory = append(b.memory, hostMemory(n))
	}
	for i := range max(s.slots, 1) {
		block := &runtime.Block{Slot: i, Memory: b.memory}
		bound, err := b.device.Bind(block)
		if err != nil {
			return b, err
		}
		block.Bound = []any{bound}
		b.blocks = append(b.blocks, block)
	}
	return b, nil
}

// check reports what the driver found, when everything is closed.
func (b *bench) check(faulty bool) {
	b.driver.Stop()
	for _, p := range b.driver.Problems() {
		b.t.Errorf("driver: %s", p)
	}
	if live := b.driver.Live(); len(live) > 0 && !faulty {
		b.t.Errorf("not freed: %v", live)
	}
}

// hostMemory returns memory with pages of its own, as that of sessions.
func hostMemory(n int64) runtime.HostMemory {
	page := int64(os.Getpagesize())
	raw := make([]byte, (n+2*page-2)/page*page)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(raw))) % uintptr(page)
	return runtime.HostMemory{Base: unsafe.Pointer(unsafe.SliceData(raw[skip:])), Size: n}
}

// close closes the device.
func (b *bench) close() {
	if b.closed {
		return
	}
	b.closed = true
	if err := b.device.Close(); err != nil {
		b.t.Error(err)
	}
}

// host returns a memory of the host as floats.
func (b *bench) host(i int) []float32 {
	m := b.memory[i].(runtime.HostMemory)
	return unsafe.Slice((*float32)(m.Base), m.Size/4)
}

// finish waits for all work of a queue.
func (b *bench) finish(queue int) {
	b.t.Helper()
	var e runtime.Event
	b.device.Record(queue, &e, 1)
	e.Await(1)
}

// load loads floats into a memory.
func (b *bench) load(i int, x []float32) {
	b.t.Helper()
	if err := b.device.Load(b.memory[i], floatBytes(x)); err != nil {
		b.t.Fatal(err)
	}
}

func floatBytes(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}

// read returns n floats of a memory of the device, copied by a queue.
func (b *bench) read(i, n int) []float32 {
	b.t.Helper()
	to := hostMemory(int64(4 * n))
	block := &runtime.Block{Memory: append(slices.Clone(b.memory), to)}
	bound, err := b.device.Bind(block)
	if err != nil {
		b.t.Fatal(err)
	}
	block.Bound = []any{bound}
	b.device.Copy(0, dense(&label, len(b.memory), 0, i, 0, 4*n), block)
	b.finish(0)
	if err := fault(b.supervisor); err != nil {
		b.t.Fatal(err)
	}
	return unsafe.Slice((*float32)(to.Base), n)
}

// fault returns the failure of a supervisor.
func fault(s *runtime.Supervisor) error {
	if !s.Failed() {
		return nil
	}
	return s.Fault()
}

var label = runtime.Label{Func: "step", Split: 3, What: "%x = copy %y"}

// dense returns a transfer of contiguous bytes.
func dense(l *runtime.Label, dst, dstOffset, src, srcOffset, n int) runtime.Transfer {
	return runtime.Transfer{
		Dst: runtime.Span{Memory: dst, Offset: dstOffset}, Src: runtime.Span{Memory: src, Offset: srcOffset},
		Elem: 1, Shape: [4]int{1, 1, 1, n}, Stride: [4]int{0, 0, 0, 1}, Label: l,
	}
}

// scaling returns a dispatch of scale.
func scaling(dst, src arg, n int, c float32) dispatch {
	return dispatch{Kernel: scale, Groups: (n + 63) / 64,
		Args: []arg{src, dst, {Memory: number, Offset: n}, {Memory: number, Offset: int(math.Float32bits(c))}}}
}

// ramp returns 1, 2, 3, …
func ramp(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i + 1)
	}
	return x
}

func TestScale(t *testing.T) {
	const n = 1000
	b := open(t, setting{device: []int64{4 * n, 4 * n}})
	b.load(0, ramp(n))
	b.device.Run(0, command(scaling(arg{Memory: 1}, arg{}, n, 3), scaling(arg{Memory: 1}, arg{Memory: 1}, n, 0.5)), b.blocks[0], 0)
	for i, y := range b.read(1, n) {
		if want := 1.5 * float32(i+1); y != want {
			t.Fatalf("y[%d] = %v, want %v", i, y, want)
		}
	}
}
