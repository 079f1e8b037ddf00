// Package drivertest has the tests that devices of every kind of GPU have to pass, with the kernels, commands and
// programs that they run.
package drivertest

import (
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
	"github.com/ggmlc/ggmlc/runtime/gpu"
)

// Kernels are the kernels of the tests, for workgroups of [Threads].
type Kernels struct {
	Scale     *gpu.Kernel // y[i] = c*x[i] for i < n. Arguments: x, y, n, the bits of c
	Add       *gpu.Kernel // z[i] = x[i]+y[i] for i < n. Arguments: x, y, z, n
	AddStored *gpu.Kernel // the same with the address of n
	Sum       *gpu.Kernel // y[g] = the sum of the 64 elements of x from 64*g on, added up in shared memory. Arguments: x, y
	Many      *gpu.Kernel // y[t] = a1+a16 for each thread t. Arguments: y, a1, …, a16
	Spin      *gpu.Kernel // adds to x[0] a number that takes n steps to find. Arguments: x, n
}

// Threads is the size of the workgroups of [Kernels].
const Threads = 64

// Compile returns the code of a kernel.
type Compile func(k *kir.Kernel) (string, error)

// NewKernels compiles the kernels.
func NewKernels(compile Compile) *Kernels {
	return &Kernels{
		Scale: Kernel("scale", compile, scale),
		Add: Kernel("add", compile, func(b *kir.Builder) {
			add(b, func() *kir.Value { return b.Arg("n", kir.I32) })
		}),
		AddStored: Kernel("addStored", compile, func(b *kir.Builder) {
			add(b, func() *kir.Value { return b.LoadUniform(kir.Scalar(kir.I32), b.Arg("n", kir.U64)) })
		}),
		Sum:  Kernel("sum", compile, sum),
		Many: Kernel("many", compile, many),
		Spin: Kernel("spin", compile, spin),
	}
}

// Kernel builds and compiles a kernel.
func Kernel(name string, compile Compile, build func(b *kir.Builder)) *gpu.Kernel {
	b := kir.NewBuilder(name, Threads)
	build(b)
	k, err := b.Kernel()
	if err != nil {
		panic(err)
	}
	code, err := compile(k)
	if err != nil {
		panic(err)
	}
	return &gpu.Kernel{Name: name, Code: code, Threads: k.Threads, Args: len(k.Args)}
}

func scale(b *kir.Builder) {
	x, y, n, c := b.Arg("x", kir.U64), b.Arg("y", kir.U64), b.Arg("n", kir.I32), b.Arg("c", kir.U32)
	i := b.Add(b.Mul(b.Group(), b.Int(Threads)), b.Thread())
	b.If(b.Lt(i, n), func() {
		b.Store(b.At(y, i, 4), b.Mul(b.Bitcast(c, kir.Scalar(kir.F32)), b.Load(kir.Scalar(kir.F32), b.At(x, i, 4))))
	})
}

func add(b *kir.Builder, size func() *kir.Value) {
	x, y, z := b.Arg("x", kir.U64), b.Arg("y", kir.U64), b.Arg("z", kir.U64)
	n, f32 := size(), kir.Scalar(kir.F32)
	i := b.Add(b.Mul(b.Group(), b.Int(Threads)), b.Thread())
	b.If(b.Lt(i, n), func() {
		b.Store(b.At(z, i, 4), b.Add(b.Load(f32, b.At(x, i, 4)), b.Load(f32, b.At(y, i, 4))))
	})
}

func sum(b *kir.Builder) {
	x, y := b.Arg("x", kir.U64), b.Arg("y", kir.U64)
	me, f32 := b.Thread(), kir.Scalar(kir.F32)
	part := b.NewShared("part", f32, Threads)
	b.SharedStore(part, me, b.Load(f32, b.At(x, b.Add(b.Mul(b.Group(), b.Int(Threads)), me), 4)))
	b.Barrier()
	for n := Threads / 2; n > 0; n /= 2 {
		b.If(b.Lt(me, b.Int(n)), func() {
			b.SharedStore(part, me, b.Add(b.SharedLoad(part, me), b.SharedLoad(part, b.Add(me, b.Int(n)))))
		})
		b.Barrier()
	}
	b.If(b.Eq(me, b.Int(0)), func() { b.Store(b.At(y, b.Group(), 4), b.SharedLoad(part, me)) })
}

func many(b *kir.Builder) {
	y := b.Arg("y", kir.U64)
	var a [16]*kir.Value
	for i := range a {
		a[i] = b.Arg("a", kir.U32)
	}
	b.Store(b.At(y, b.Thread(), 4), b.Add(a[0], a[15]))
}

func spin(b *kir.Builder) {
	x, n := b.Arg("x", kir.U64), b.Arg("n", kir.I32)
	u := b.For(b.Int(0), n, b.Int(1), []*kir.Value{b.Uint(1)}, func(_ *kir.Value, c []*kir.Value) []*kir.Value {
		return []*kir.Value{b.Add(b.Mul(c[0], b.Uint(1664525)), b.Uint(1013904223))}
	})
	b.AtomicAdd(x, u[0])
}
