//go:build linux

package cuda_test

import (
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
	"github.com/ggmlc/ggmlc/kernels/gpu/ptx"
	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/gpu"
)

// The kernels of the tests, for workgroups of 64.
var (
	// scale: y[i] = c*x[i] for i < n. Arguments: x, y, n, the bits of c.
	scale = kernel("scale", func(b *kir.Builder) {
		x, y, n, c := b.Arg("x", kir.U64), b.Arg("y", kir.U64), b.Arg("n", kir.I32), b.Arg("c", kir.U32)
		i := b.Add(b.Mul(b.Group(), b.Int(64)), b.Thread())
		b.If(b.Lt(i, n), func() {
			b.Store(b.At(y, i, 4), b.Mul(b.Bitcast(c, kir.Scalar(kir.F32)), b.Load(kir.Scalar(kir.F32), b.At(x, i, 4))))
		})
	})

	// add: z[i] = x[i]+y[i] for i < n. Arguments: x, y, z, n. The n of addStored is in memory.
	add = kernel("add", func(b *kir.Builder) {
		adder(b, func() *kir.Value { return b.Arg("n", kir.I32) })
	})
	addStored = kernel("addStored", func(b *kir.Builder) {
		adder(b, func() *kir.Value { return b.LoadUniform(kir.Scalar(kir.I32), b.Arg("n", kir.U64)) })
	})

	// sum: y[g] = the sum of x[64*g] to x[64*g+63], added up in shared memory as a tree. Arguments: x, y.
	sum = kernel("sum", func(b *kir.Builder) {
		x, y := b.Arg("x", kir.U64), b.Arg("y", kir.U64)
		me, f32 := b.Thread(), kir.Scalar(kir.F32)
		part := b.NewShared("part", f32, 64)
		b.SharedStore(part, me, b.Load(f32, b.At(x, b.Add(b.Mul(b.Group(), b.Int(64)), me), 4)))
		b.Barrier()
		for n := 32; n > 0; n /= 2 {
			b.If(b.Lt(me, b.Int(n)), func() {
				b.SharedStore(part, me, b.Add(b.SharedLoad(part, me), b.SharedLoad(part, b.Add(me, b.Int(n)))))
			})
			b.Barrier()
		}
		b.If(b.Eq(me, b.Int(0)), func() { b.Store(b.At(y, b.Group(), 4), b.SharedLoad(part, me)) })
	})

	// many: y[t] = a1+a16 for each thread t. Arguments: y, a1, …, a16.
	many = kernel("many", func(b *kir.Builder) {
		y := b.Arg("y", kir.U64)
		var a [16]*kir.Value
		for i := range a {
			a[i] = b.Arg("a", kir.U32)
		}
		b.Store(b.At(y, b.Thread(), 4), b.Add(a[0], a[15]))
	})

	// spin: adds to x[0] a number that takes n steps to find. Arguments: x, n.
	spin = kernel("spin", func(b *kir.Builder) {
		x, n := b.Arg("x", kir.U64), b.Arg("n", kir.I32)
		u := b.For(b.Int(0), n, b.Int(1), []*kir.Value{b.Uint(1)}, func(_ *kir.Value, c []*kir.Value) []*kir.Value {
			return []*kir.Value{b.Add(b.Mul(c[0], b.Uint(1664525)), b.Uint(1013904223))}
		})
		b.AtomicAdd(x, u[0])
	})
)

func adder(b *kir.Builder, size func() *kir.Value) {
	x, y, z := b.Arg("x", kir.U64), b.Arg("y", kir.U64), b.Arg("z", kir.U64)
	n, f32 := size(), kir.Scalar(kir.F32)
	i := b.Add(b.Mul(b.Group(), b.Int(64)), b.Thread())
	b.If(b.Lt(i, n), func() {
		b.Store(b.At(z, i, 4), b.Add(b.Load(f32, b.At(x, i, 4)), b.Load(f32, b.At(y, i, 4))))
	})
}

// kernel builds and compiles a kernel.
func kernel(name string, build func(b *kir.Builder)) *gpu.Kernel {
	b := kir.NewBuilder(name, 64)
	build(b)
	k, err := b.Kernel()
	if err != nil {
		panic(err)
	}
	text, err := ptx.Emit(k, ptx.SM70)
	if err != nil {
		panic(err)
	}
	return &gpu.Kernel{Name: name, Code: text, Threads: k.Threads, Args: len(k.Args)}
}

// dispatch is a dispatch of a test, with what its arguments are made of.
type dispatch struct {
	Kernel *gpu.Kernel
	Groups int
	Args   []arg
	Beside bool // it may run at the same time as the one before it
}

// arg is an address: an offset in a memory, with bytes that are added for each instance, or offsets by iteration in its
// place. Or it is the number Offset, or the size of that symbol.
type arg struct {
	Memory, Offset, Slot int
	Table                []int
}

// Values of arg.Memory that are not numbers of memories.
const (
	number = -1
	size   = -2
)

// command returns a command that makes the dispatches, as emitted functions do.
func command(list ...dispatch) *runtime.Command {
	run := func(e *gpu.Env, iteration int) {
		for i := range list {
			d := &list[i]
			if i > 0 && !d.Beside {
				e.Barrier()
			}
			words := make([]uint64, len(d.Args))
			for k, a := range d.Args {
				at := a.Offset
				if a.Table != nil {
					at = a.Table[iteration]
				}
				switch a.Memory {
				case number:
					words[k] = uint64(at)
				case size:
					words[k] = uint64(e.Dims[at])
				default:
					words[k] = e.Mem[a.Memory] + uint64(at+a.Slot*e.Slot)
				}
			}
			e.Dispatch(d.Kernel, d.Groups, words...)
		}
	}
	return &runtime.Command{Label: runtime.Label{Func: "step", Split: 2}, Kernel: gpu.Command(run)}
}
