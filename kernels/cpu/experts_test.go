package cpu_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu"
	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
	kt "github.com/ggmlc/ggmlc/kernels/kerneltest"
)

var expertProducts = []struct {
	weight  dtype.DType
	matmul  product
	experts func(dst, x, w, idx unsafe.Pointer, shape cpu.ExpertsShape, t0, t1, c0, c1 int)
}{
	{dtype.F32, cpu.MatMulF32, cpu.ExpertsMatMulF32},
	{dtype.F16, cpu.MatMulF16, cpu.ExpertsMatMulF16},
	{dtype.BF16, cpu.MatMulBF16, cpu.ExpertsMatMulBF16},
	{dtype.Q8_0, cpu.MatMulQ8_0, cpu.ExpertsMatMulQ8_0},
	{dtype.Q4_0, cpu.MatMulQ4_0, cpu.ExpertsMatMulQ4_0},
	{dtype.Q4_1, cpu.MatMulQ4_1, cpu.ExpertsMatMulQ4_1},
	{dtype.Q5_0, cpu.MatMulQ5_0, cpu.ExpertsMatMulQ5_0},
	{dtype.Q5_1, cpu.MatMulQ5_1, cpu.ExpertsMatMulQ5_1},
	{dtype.Q2_K, cpu.MatMulQ2_K, cpu.ExpertsMatMulQ2_K},
	{dtype.Q3_K, cpu.MatMulQ3_K, cpu.ExpertsMatMulQ3_K},
	{dtype.Q4_K, cpu.MatMulQ4_K, cpu.ExpertsMatMulQ4_K},
	{dtype.Q5_K, cpu.MatMulQ5_K, cpu.ExpertsMatMulQ5_K},
	{dtype.Q6_K, cpu.MatMulQ6_K, cpu.ExpertsMatMulQ6_K},
	{dtype.IQ4_NL, cpu.MatMulIQ4_NL, cpu.ExpertsMatMulIQ4_NL},
	{dtype.IQ4_XS, cpu.MatMulIQ4_XS, cpu.ExpertsMatMulIQ4_XS},
	{dtype.MXFP4, cpu.MatMulMXFP4, cpu.ExpertsMatMulMXFP4},
	{dtype.IQ2X, cpu.MatMulIQ2X, cpu.ExpertsMatMulIQ2X},
	{dtype.IQ2X16, cpu.MatMulIQ2X16, cpu.ExpertsMatMulIQ2X16},
	{dtype.IQ3X, cpu.MatMulIQ3X, cpu.ExpertsMatMulIQ3X},
	{dtype.IQ3SX, cpu.MatMulIQ3SX, cpu.ExpertsMatMulIQ3SX},
}

// TestExpertsMatMul demands the bits that a product of each row with its expert has, for
// one row of x for all choices and for one each, whole and cut into boxes.
func TestExpertsMatMul(t *testing.T) {
	const experts, choices, tokens, n = 4, 3, 5, 72
	kt.ForEach(t, func(t *testing.T) {
		for _, p := range expertProducts {
			for _, rows := range []int{1, choices} {
				t.Run(fmt.Sprint(p.weight, rows), func(t *testing.T) {
					rng, k := kt.Rand(t), max(64, p.weight.BlockElems())
					x, xRow := activations(t, p.weight, tokens*rows, k)
					var w []byte
					for range experts {
						plain, _ := kt.Encode(t, rng, p.weight, n*k)
						w = append(w, kt.Pack(p.weight, plain, n, k)...)
					}
					ids := make([]int32, tokens*choices)
					for i := range ids {
						ids[i] = int32(rng.IntN(experts))
					}
					idx, ws := kt.NewInts(ids...), kt.NewBytes(w, 0)

					want := kt.NewBuffer(len(ids)*n*4, 0)
					for i, e := range ids {
						from := i / choices
						if rows > 1 {
							from = i
						}
						p.matmul(unsafe.Add(want.Pointer(), i*n*4), unsafe.Add(x.Pointer(), from*xRow),
							unsafe.Add(ws.Pointer(), int(e)*len(w)/experts), nil, weights(n, k), 0, 1, 0, n)
					}
					got, cut := kt.NewBuffer(len(ids)*n*4, 4), kt.NewBuffer(len(ids)*n*4, 0)
					shape := cpu.ExpertsShape{Experts: experts, Choices: choices, Rows: rows, In: k, Out: n}
					p.experts(got.Pointer(), x.Pointer(), ws.Pointer(), idx.Pointer(), shape, 0, tokens, 0, n)
					got.Check(t, "y")
					kt.Same(t, "y", got, want)
					for _, b := range kt.Boxes(rng, tokens, n, tile.ColumnGranule) {
						p.experts(cut.Pointer(), x.Pointer(), ws.Pointer(), idx.Pointer(), shape, b[0], b[1], b[2], b[3])
					}
					kt.Same(t, "y in boxes", cut, want)
				})
			}
		}
	})
}

// activations returns rows of k elements in the format that products with the weight read,
// and the bytes of one.
func activations(t *testing.T, weight dtype.DType, rows, k int) (*kt.Buffer, int) {
	act, _ := tile.Activation(weight)
	data, _ := kt.Encode(t, kt.Rand(t), act, rows*k)
	return kt.NewBytes(data, 0), len(data) / rows
}

func TestTopK(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	tests := []struct {
		row  []float32
		want []int32
	}{
		{[]float32{3, 1, 2}, []int32{0}},
		{[]float32{3, 1, 2}, []int32{0, 2, 1}},
		{[]float32{1, 1, 1, 1}, []int32{0, 1}},
		{[]float32{1, 2, 2, 3, 2}, []int32{3, 1, 2}},
		{[]float32{nan, -inf, nan, 1}, []int32{3, 1, 0}},
		{[]float32{nan, nan, nan}, []int32{0, 1}},
		{[]float32{-1, inf, inf}, []int32{1, 2, 0}},
	}
	for _, tt := range tests {
		n, k := len(tt.row), len(tt.want)
		x, dst := kt.NewFloats(slices.Concat(tt.row, tt.row), 0), kt.NewBuffer(2*k*4, 4)
		cpu.TopKI32(dst.Pointer(), x.Pointer(), n, k, 0, 1)
		cpu.TopKI32(dst.Pointer(), x.Pointer(), n, k, 1, 2)
		dst.Check(t, "indices")
		kt.Same(t, fmt.Sprint("top ", k, " of ", tt.row), dst, kt.NewInts(slices.Concat(tt.want, tt.want)...))
	}
}

func TestTake(t *testing.T) {
	x, idx := kt.NewFloats([]float32{1, 2, 3, 4, 5, 6}, 0), kt.NewInts(2, 0, 1, 1)
	dst := kt.NewBuffer(16, 4)
	cpu.TakeF32(dst.Pointer(), x.Pointer(), idx.Pointer(), 3, 2, 0, 1)
	cpu.TakeF32(dst.Pointer(), x.Pointer(), idx.Pointer(), 3, 2, 1, 2)
	dst.Check(t, "taken")
	kt.Same(t, "taken", dst, kt.NewFloats([]float32{3, 1, 5, 5}, 0))
}

func TestExpertsSum(t *testing.T) {
	const tokens, choices, n = 3, 2, 40
	rng := kt.Rand(t)
	y, p := kt.NewFloats(kt.Uniform(rng, tokens*choices*n), 0), kt.NewFloats(kt.Uniform(rng, tokens*choices), 0)
	want := make([]float64, tokens*n)
	for i, v := range y.Floats() {
		want[i/n/choices*n+i%n] += float64(v) * float64(p.Floats()[i/n])
	}
	got := kt.NewBuffer(tokens*n*4, 0)
	for _, b := range kt.Boxes(rng, tokens, n, 16) {
		cpu.ExpertsSumF32(got.Pointer(), y.Pointer(), p.Pointer(), cpu.SumShape{Choices: choices, Len: n}, b[0], b[1], b[2], b[3])
	}
	got.Check(t, "sums")
	kt.Compare(t, "sums", got.Floats(), want, kt.Tolerance{Abs: 1e-6, Rel: 1e-6})
}

// TestCopyExperts demands that matrices without an index stay as they were.
func TestCopyExperts(t *testing.T) {
	src, idx := kt.NewFloats([]float32{1, 2, 3, 4, 5, 6, 7, 8}, 0), kt.NewInts(3, 1, 3)
	dst := kt.NewFloats(make([]float32, 8), 4)
	for _, b := range [][2]int{{0, 1}, {1, 3}, {3, 4}} {
		cpu.CopyExperts(dst.Pointer(), src.Pointer(), idx.Pointer(), 8, 3, b[0], b[1])
	}
	dst.Check(t, "experts")
	kt.Same(t, "experts", dst, kt.NewFloats([]float32{0, 0, 3, 4, 0, 0, 7, 8}, 0))
}
