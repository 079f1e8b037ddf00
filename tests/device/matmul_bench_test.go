package device

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
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
	benchNode(b, module.Funcs[0].Nodes[1], make([]byte, x.Bytes(rows*n)), make([]byte, w.Bytes(n*n)), make([]byte, 4*rows*n))
	b.SetBytes(int64(w.Bytes(n * n)))
}

// BenchmarkExperts measures products of tokens with the matrices of the experts that each of them chose, in bytes of
// all matrices per second.
func BenchmarkExperts(b *testing.B) {
	for _, w := range []dtype.DType{dtype.F16, dtype.Q4_0} {
		for _, c := range []struct{ tokens, experts, chosen int }{
			{1, 8, 2}, {4, 8, 2}, {8, 8, 2}, {16, 8, 2}, {32, 8, 2}, {128, 8, 2}, {512, 8, 2}, {32, 64, 8}, {128, 64, 8},
		} {
			b.Run(fmt.Sprintf("%v/tokens=%d/%dof%d", w, c.tokens, c.chosen, c.experts), func(b *testing.B) { benchExperts(b, w, c.tokens, c.experts, c.chosen) })
		}
	}
}

func benchExperts(b *testing.B, w dtype.DType, tokens, experts, chosen int) {
	const n, k = 512, 256
	module := irtest.Parse(b, fmt.Sprintf(`ggir 1
props imported
weight "w" : %[1]v[%[3]d,%[5]d,%[6]d]
func @f(%%x: f32[%[2]d,1,%[6]d], %%idx: i32[%[2]d,%[4]d]) -> f32[%[2]d,%[4]d,%[5]d] {
  %%w = weight "w" : %[1]v[%[3]d,%[5]d,%[6]d]
  %%y = experts_matmul %%x, %%w, %%idx : f32[%[2]d,%[4]d,%[5]d]
  return %%y
}
`, w, tokens, experts, chosen, n, k))
	var idx []byte
	random := rand.New(rand.NewPCG(1, 2))
	for range tokens {
		for _, e := range random.Perm(experts)[:chosen] {
			idx = binary.LittleEndian.AppendUint32(idx, uint32(e))
		}
	}
	benchNode(b, module.Funcs[0].Nodes[1], make([]byte, 4*tokens*k), make([]byte, w.Bytes(experts*n*k)), idx, make([]byte, 4*tokens*chosen*n))
	b.SetBytes(int64(w.Bytes(experts * n * k)))
}

// benchNode measures the kernel of a node, whose operands and result have those bytes.
func benchNode(b *testing.B, node *ir.Node, data ...[]byte) {
	m := open(b)
	list, err := kernels.Lower(node, m.Assumes())
	if err != nil {
		b.Fatal(err)
	}
	args := make([]uint64, len(data))
	for i, x := range data {
		args[i] = m.Alloc(len(x))
		m.Write(args[i], x)
	}
	work, err := m.Dispatches([]ondevice.Dispatch{{Kernel: list[0].Kernel, Groups: int(min(list[0].Units.Upper(), kernels.MaxGroups)), Args: args}})
	if err == nil {
		err = work.Run()
	}
	for b.Loop() && err == nil {
		err = work.Run()
	}
	if err != nil {
		b.Fatal(err)
	}
}
