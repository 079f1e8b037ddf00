// Package device runs the kernels of GPUs on real devices: every case of every op, cases at odd sizes, and random kernels,
// compared with package eval and with the interpreter of kernels.
package device

import (
	"errors"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/irtest"
	kernels "github.com/ggmlc/ggmlc/kernels/gpu"
	"github.com/ggmlc/ggmlc/kernels/gpu/gputest"
	"github.com/ggmlc/ggmlc/kernels/gpu/interp"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
	"github.com/ggmlc/ggmlc/kernels/gpu/kirtest"
	"github.com/ggmlc/ggmlc/kernels/gpu/spirv"
	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/gpu"
	"github.com/ggmlc/ggmlc/runtime/vulkan"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// machine is a device as tests of kernels see it: memory at addresses of the machine's own, allocation n at (n+1)<<40.
type machine struct {
	t      testing.TB
	device runtime.Device
	super  *runtime.Supervisor
	memory []runtime.Memory
	event  runtime.Event
	steps  uint64
}

const spread = 40 // bits of an address in its allocation

// open returns the device that Vulkan drives.
func open(t testing.TB) *machine {
	t.Helper()
	m := &machine{t: t, super: new(runtime.Supervisor)}
	var err error
	if m.device, err = new(vulkan.Loader).Open(&runtime.DeviceInfo{Name: "vulkan", Queues: []string{"vulkan"}}, 0, m.super); err != nil {
		needtest.Skip(t, "vulkan", "no Vulkan device: %v", err)
	}
	t.Cleanup(func() {
		if err := m.device.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// Alloc implements gputest.Machine. The bytes after those that were asked for may be accessed, which interp would notice.
func (m *machine) Alloc(bytes int) uint64 {
	a, err := m.device.Alloc(runtime.Activations, int64(max(bytes, 1)))
	if err != nil {
		m.t.Fatal(err)
	}
	m.memory = append(m.memory, a)
	return uint64(len(m.memory)) << spread
}

// Write implements gputest.Machine, for the beginning of an allocation.
func (m *machine) Write(address uint64, data []byte) {
	if err := m.device.Load(m.memory[address>>spread-1], data); err != nil {
		m.t.Fatal(err)
	}
}

// Read implements gputest.Machine.
func (m *machine) Read(address uint64, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	host := make([]uint64, (len(data)+7)/8)
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(&host[0])), len(data))
	b := m.bind([]runtime.Memory{m.memory[address>>spread-1], runtime.HostMemory{Base: unsafe.Pointer(&host[0]), Size: int64(8 * len(host))}})
	m.step(b, func() {
		m.device.Copy(0, runtime.Transfer{
			Dst: runtime.Span{Memory: 1}, Src: runtime.Span{Offset: int(address & (1<<spread - 1))}, Elem: 1,
			Shape: [4]int{1, 1, 1, len(data)}, Stride: [4]int{len(data), len(data), len(data), 1}, Label: &runtime.Label{What: "read"},
		}, b)
	})
	copy(data, bytes)
	return m.failed()
}

// Assumes returns what kernels for Vulkan assume.
func (m *machine) Assumes() kernels.Machine {
	on, _ := kernels.Of("vulkan")
	return on
}

// Run implements gputest.Machine.
func (m *machine) Run(k *kir.Kernel, groups int, args []uint64) error {
	m.prepare(k, groups, args)()
	return m.failed()
}

// prepare returns a function that runs a kernel.
func (m *machine) prepare(k *kir.Kernel, groups int, args []uint64) (run func()) {
	words, err := spirv.Emit(k)
	if err != nil {
		m.t.Fatal(err)
	}
	kernel := &gpu.Kernel{Name: k.Name, Code: string(spirv.Bytes(words)), Threads: k.Threads, Args: len(k.Args)}
	c := &runtime.Command{Label: runtime.Label{Func: k.Name}, Kernel: gpu.Command(func(e *gpu.Env, _ int) {
		own := make([]uint64, len(args))
		for i, a := range args {
			own[i] = a
			if n := a >> spread; k.Args[i].Type.Kind == kir.U64 && n > 0 {
				own[i] = e.Mem[n-1] + a&(1<<spread-1)
			}
		}
		e.Dispatch(kernel, groups, own...)
	})}
	b := m.bind(m.memory)
	return func() { m.step(b, func() { m.device.Run(0, c, b, 0) }) }
}

// bind returns a block with memory.
func (m *machine) bind(memory []runtime.Memory) *runtime.Block {
	b := &runtime.Block{Memory: memory}
	bound, err := m.device.Bind(b)
	if err != nil {
		m.t.Fatal(err)
	}
	b.Bound = []any{bound}
	return b
}

// step submits and waits.
func (m *machine) step(b *runtime.Block, submit func()) {
	m.steps++
	b.Step = m.steps
	submit()
	m.device.Record(0, &m.event, m.steps)
	m.event.Await(m.steps)
}

func (m *machine) failed() error {
	if f := m.super.Fault(); f != nil {
		return f
	}
	return nil
}

// TestKernelsOnVulkanComputeWhatEvalDoes runs the cases of all ops that have kernels.
func TestKernelsOnVulkanComputeWhatEvalDoes(t *testing.T) {
	open(t)
	for _, c := range gputest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			call, err := irtest.Case(c.Op, c.Case, 1)
			if err != nil {
				t.Fatal(err)
			}
			on := open(t)
			err = gputest.Compare(t.Context(), call, on, 3, gputest.Tolerance(c, on.Assumes()))
			if errors.Is(err, gputest.ErrNoKernel) {
				t.Skip(err)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestOddSizesOnVulkan runs random cases with extents beside the sizes of workgroups and blocks.
func TestOddSizesOnVulkan(t *testing.T) {
	n := uint64(150)
	if testing.Short() {
		n = 20
	}
	for seed := range n {
		c := gputest.RandomCase(seed)
		call, err := irtest.Case(c.Op, c.Case, seed)
		if err != nil {
			t.Fatal(err)
		}
		on := open(t)
		if err := gputest.Compare(t.Context(), call, on, 1+int(seed)%5, gputest.Tolerance(c, on.Assumes())); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
}

// simulated runs kernels with the interpreter.
type simulated struct{ *interp.Memory }

func (s simulated) Run(k *kir.Kernel, groups int, args []uint64) error {
	return interp.Run(k, interp.Launch{Groups: groups, Args: args}, s.Memory, interp.Options{})
}

// TestRandomKernelsOnVulkan compares random kernels, which need no capabilities, with the interpreter.
func TestRandomKernelsOnVulkan(t *testing.T) {
	n := uint64(100)
	if testing.Short() {
		n = 15
	}
	for seed := range n {
		c, err := kirtest.Random(rand.New(rand.NewPCG(seed, 3)), kirtest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		want, err := c.Run(simulated{interp.NewMemory()})
		if err != nil {
			t.Fatalf("seed %d, simulated: %v", seed, err)
		}
		got, err := c.Run(open(t))
		if err == nil {
			err = c.Compare(got, want)
		}
		if err != nil {
			t.Errorf("seed %d: %v\n%v", seed, err, c.Kernel)
		}
	}
}
