package device

import (
	"fmt"
	"testing"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/irtest"
	kernels "github.com/ggmlc/ggmlc/kernels/gpu"
	"github.com/ggmlc/ggmlc/kernels/gpu/ondevice"
)

// BenchmarkMatMul measures products of 1 to 128 rows with a matrix, in bytes of the matrix per second.
func BenchmarkMatMul(b *testing.B) {
	for _, f := range []struct{ x, w dtype.DType }{
		{dtype.F32, dtype.F32}, {dtype.F32, dtype.F16}, {dtype.F32, dtype.Q8_0}, {dtype.F32, dtype.Q4_0},
		{dtype.Q8A, dtype.Q8_0}, {dtype.Q8A, dtype.Q4_0},
	} {
		for _, c := range []struct{ n, rows int }{{64, 1}, {4096, 1}, {1024, 8}, {1024, 128}} {
			b.Run(fmt.Sprintf("%vx%v/%d/rows=%d", f.x, f.w, c.n, c.rows), func(b *testing.B) { benchMatMul(b, f.x, f.w, c.n, c.rows) })
		}
	}
}

func benchMatMul(b *testing.B, x, w dtype.DType, n, rows int) {
	module := irtest.Parse(b, fmt.Sprintf(`ggir 1
props imported
weight "w" : %[1]v[%[2]d,%[2]d]
func @f(%%x: %[4]v[%[3]d,%[2]d]) -> f32[%[3]d,%[2]d] {
  %%w = weight "w" : %[1]v[%[2]d,%[2]d]
  %%y = matmul %%x, %%w : f32[%[3]d,%[2]d]
  return %%y
}
`, w, n, rows, x))
	m := open(b)
	list, err := kernels.Lower(module.Funcs[0].Nodes[1], m.Assumes())
	if err != nil {
		b.Fatal(err)
	}
	args := make([]uint64, 3)
	for i, size := range []int{x.Bytes(rows * n), w.Bytes(n * n), 4 * rows * n} {
		args[i] = m.Alloc(size)
		m.Write(args[i], make([]byte, size))
	}
	work, err := m.Dispatches([]ondevice.Dispatch{{Kernel: list[0].Kernel, Groups: int(min(list[0].Units.Upper(), kernels.MaxGroups)), Args: args}})
	if err == nil {
		err = work.Run()
	}
	b.SetBytes(int64(w.Bytes(n * n)))
	for b.Loop() && err == nil {
		err = work.Run()
	}
	if err != nil {
		b.Fatal(err)
	}
}
