package gpusim_test

import (
	"encoding/binary"
	"testing"
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/gpu"
	"github.com/ggmlc/ggmlc/runtime/gpusim"
)

// bench is an open device with a block: memories of 256 bytes, those of the device first, then one of the host.
type bench struct {
	t      *testing.T
	device runtime.Device
	info   *runtime.DeviceInfo
	super  *runtime.Supervisor
	block  *runtime.Block
	host   []int32
	events uint64
	event  runtime.Event
}

const elems = 64 // of a memory

// open opens a device with a memory of each class, and two queues.
func open(t *testing.T, o gpusim.Options, classes ...runtime.Class) *bench {
	t.Helper()
	b := &bench{t: t, super: new(runtime.Supervisor), host: make([]int32, elems)}
	b.info = &runtime.DeviceInfo{Name: "gpusim", Queues: []string{"a", "b"}}
	for i := range classes {
		b.info.Memory = append(b.info.Memory, i)
	}
	var err error
	if b.device, err = (&gpusim.Loader{Options: o}).Open(b.info, 0, b.super); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.device.Close(); err != nil {
			t.Error(err)
		}
	})
	b.block = &runtime.Block{Step: 7, Dims: [runtime.MaxSymbols]int{elems}}
	for _, c := range classes {
		m, err := b.device.Alloc(c, 4*elems)
		if err != nil {
			t.Fatal(err)
		}
		b.block.Memory = append(b.block.Memory, m)
	}
	b.block.Memory = append(b.block.Memory, runtime.HostMemory{Base: unsafe.Pointer(&b.host[0]), Size: 4 * elems})
	b.bind()
	return b
}

// bind binds the block as it is.
func (b *bench) bind() {
	b.t.Helper()
	bound, err := b.device.Bind(b.block)
	if err != nil {
		b.t.Fatal(err)
	}
	b.block.Bound = []any{bound}
}

// share lets the device address a memory of the host.
func (b *bench) share(memory int) {
	b.info.Memory = append(b.info.Memory, memory)
	b.bind()
}

// finish waits for a queue and returns the failure of the device.
func (b *bench) finish(queue int) error {
	b.events++
	b.device.Record(queue, &b.event, b.events)
	b.event.Await(b.events)
	return b.super.Fault()
}

// load stores 0, 1, 2, … in a memory.
func (b *bench) load(memory int) {
	b.t.Helper()
	data := make([]byte, 4*elems)
	for i := range elems {
		binary.LittleEndian.PutUint32(data[4*i:], uint32(i))
	}
	if err := b.device.Load(b.block.Memory[memory], data); err != nil {
		b.t.Fatal(err)
	}
}

// whole is a transfer of n elements between the beginnings of two memories.
func whole(dst, src, n int) runtime.Transfer {
	return runtime.Transfer{
		Dst: runtime.Span{Memory: dst}, Src: runtime.Span{Memory: src}, Elem: 4, Shape: [4]int{1, 1, 1, n},
		Stride: [4]int{0, 0, 0, 4}, Label: &runtime.Label{Func: "decode", Split: 2, What: "%c = copy %a"},
	}
}

// kernel returns the kernel of a text, for workgroups of 4 threads. Its arguments are x and y, addresses, and n.
func kernel(name, body string) *gpu.Kernel {
	return &gpu.Kernel{Name: name, Threads: 4, Args: 3,
		Code: "kernel k threads=4 args=(x: u64, y: u64, n: i32) {\n  shared s: i32[4]\n  %g = group\n  %t = thread\n  %four = const i32 4\n" +
			"  %b = mul %g, %four\n  %i = add %b, %t\n  %o = offset %i {4}\n  %p = add %x, %o\n  %q = add %y, %o\n" + body + "\n}\n"}
}

// double: y[i] = 2*x[i].
var double = kernel("double i32[n] -> i32[n]", "%v = load i32 %p\n%w = add %v, %v\nstore %q, %w")

// command returns a command that runs kernels on memories x and y, with groups workgroups each.
func command(x, y, groups int, kernels ...*gpu.Kernel) *runtime.Command {
	c := &runtime.Command{Label: runtime.Label{Func: "decode", Split: 3, Repeated: true}}
	for range kernels {
		c.Nodes = append(c.Nodes, "%v1 blk.*.ffn")
	}
	c.Kernel = gpu.Command(func(e *gpu.Env, _ int) {
		for _, k := range kernels {
			e.Barrier()
			e.Dispatch(k, groups, e.Mem[x], e.Mem[y], uint64(e.Dims[0]))
		}
	})
	return c
}
