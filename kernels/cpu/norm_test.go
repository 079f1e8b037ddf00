package cpu_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu"
	kt "github.com/ggmlc/ggmlc/kernels/kerneltest"
)

const eps = 1e-5

// rmsNorm is the definition, in float64.
func rmsNorm(x, w []float32) []float64 {
	var sum float64
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	scale, out := 1/math.Sqrt(sum/float64(len(x))+eps), make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v) * scale * float64(w[i])
	}
	return out
}

func TestRMSNorm(t *testing.T) {
	const rows = 3
	kt.ForEach(t, func(t *testing.T) {
		for _, n := range lengths()[1:] {
			rng := kt.Rand(t)
			x, w := kt.NewFloats(kt.Uniform(rng, rows*n), 4*(n%3)), kt.NewFloats(kt.Uniform(rng, n), 0)
			dst := kt.NewBuffer(rows*n*4, 4*(n%5))
			cpu.RMSNormF32(dst.Pointer(), x.Pointer(), w.Pointer(), n, eps, 0, 2)
			cpu.RMSNormF32(dst.Pointer(), x.Pointer(), w.Pointer(), n, eps, 2, rows)
			dst.Check(t, "rmsnorm")
			for r := range rows {
				want := rmsNorm(x.Floats()[r*n:(r+1)*n], w.Floats())
				kt.Compare(t, fmt.Sprint("rmsnorm of ", n), dst.Floats()[r*n:(r+1)*n], want, kt.Tolerance{Rel: 1e-6})
			}
			cpu.RMSNormF32(x.Pointer(), x.Pointer(), w.Pointer(), n, eps, 0, rows)
			kt.Same(t, "rmsnorm in place", x, dst)
		}
	})
}

// q8a is the bytes of a block.
var q8a = dtype.Q8A.BlockBytes()

// TestRMSNormBF16 demands the same bits from the fused kernel and from its two parts.
func TestRMSNormBF16(t *testing.T) {
	const rows = 3
	kt.ForEach(t, func(t *testing.T) {
		for _, n := range lengths() {
			rng := kt.Rand(t)
			x, w := kt.NewFloats(kt.Hard(rng, rows*n), 4), kt.NewFloats(kt.Uniform(rng, n), 0)
			norm := kt.NewBuffer(rows*n*4, 0)
			want, got := kt.NewBuffer(rows*n*2, 0), kt.NewBuffer(rows*n*2, 2)
			cpu.RMSNormF32(norm.Pointer(), x.Pointer(), w.Pointer(), n, eps, 0, rows)
			cpu.CastF32BF16(want.Pointer(), norm.Pointer(), n, 0, rows, 0, n)
			cpu.RMSNormBF16(got.Pointer(), x.Pointer(), w.Pointer(), n, eps, 0, 1)
			cpu.RMSNormBF16(got.Pointer(), x.Pointer(), w.Pointer(), n, eps, 1, rows)
			got.Check(t, "bf16")
			kt.Same(t, fmt.Sprint("fused norm of ", n), got, want)
		}
	})
}

// TestRMSNormQ8A demands the same bits from the fused kernel and from its two parts.
func TestRMSNormQ8A(t *testing.T) {
	const rows = 3
	kt.ForEach(t, func(t *testing.T) {
		for n := 32; n <= 320; n += 32 {
			rng := kt.Rand(t)
			x, w := kt.NewFloats(kt.Uniform(rng, rows*n), 0), kt.NewFloats(kt.Uniform(rng, n), 4)
			norm := kt.NewBuffer(rows*n*4, 0)
			want, got := kt.NewBuffer(rows*n/32*q8a, 0), kt.NewBuffer(rows*n/32*q8a, 4)
			cpu.RMSNormF32(norm.Pointer(), x.Pointer(), w.Pointer(), n, eps, 0, rows)
			cpu.QuantizeQ8A(want.Pointer(), norm.Pointer(), n, 0, rows, 0, n)
			cpu.RMSNormQ8A(got.Pointer(), x.Pointer(), w.Pointer(), n, eps, 0, 1)
			cpu.RMSNormQ8A(got.Pointer(), x.Pointer(), w.Pointer(), n, eps, 1, rows)
			got.Check(t, "q8a")
			kt.Same(t, fmt.Sprint("fused norm of ", n), got, want)
		}
	})
}

// TestQuantizeQ8A compares with the reference encoder, bit for bit.
func TestQuantizeQ8A(t *testing.T) {
	const rows, n = 5, 160
	kt.ForEach(t, func(t *testing.T) {
		values := kt.Uniform(kt.Rand(t), rows*n)
		for i := range 64 {
			values[i] = 0                             // blocks of zeros
			values[64+i] = float32(i-32) * 0.5 * 1e-3 // many ties
			values[128+i] *= 1e-38                    // a scale without an inverse
		}
		values[70] = 127 * 1e-3
		copy(values[192:], []float32{127, 0.49999997, -0.49999997, 0.5, -0.5, 1.5, 2.5, -2.5, 126.5, 126.49999})
		clear(values[202:224]) // a scale of 1: the edges of rounding
		want, _ := kt.EncodeValues(t, dtype.Q8A, values)
		x, got := kt.NewFloats(values, 4), kt.NewBuffer(len(want), 4)
		for _, b := range kt.Boxes(kt.Rand(t), rows, n, 32) {
			cpu.QuantizeQ8A(got.Pointer(), x.Pointer(), n, b[0], b[1], b[2], b[3])
			one := kt.NewBuffer(len(want), 0)
			cpu.QuantizeQ8A(one.Pointer(), x.Pointer(), n, b[0], b[1], b[2], b[3])
			one.Owned(t, "q8a", n/32*q8a, b[0], b[1], b[2]/32*q8a, b[3]/32*q8a)
		}
		got.Check(t, "q8a")
		kt.Same(t, "q8a", got, kt.NewBytes(want, 0))
	})
}

// TestQuantizePoison checks that NaN and infinities are not lost.
func TestQuantizePoison(t *testing.T) {
	kt.ForEach(t, func(t *testing.T) {
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			values := kt.Uniform(kt.Rand(t), 32)
			values[17] = float32(bad)
			got := kt.NewBuffer(q8a, 0)
			cpu.QuantizeQ8A(got.Pointer(), kt.NewFloats(values, 0).Pointer(), 32, 0, 1, 0, 32)
			if d := got.Floats()[8]; d-d == 0 {
				t.Errorf("the scale of a block with %v is %v", bad, d)
			}
		}
	})
}

func TestLayerNorm(t *testing.T) {
	const rows = 2
	kt.ForEach(t, func(t *testing.T) {
		for _, n := range []int{1, 2, 15, 16, 17, 64, 100} {
			rng := kt.Rand(t)
			x, w, b := kt.Uniform(rng, rows*n), kt.NewFloats(kt.Uniform(rng, n), 0), kt.NewFloats(kt.Uniform(rng, n), 0)
			plain, biased := kt.NewBuffer(rows*n*4, 4), kt.NewFloats(x, 0)
			cpu.LayerNormF32(plain.Pointer(), kt.NewFloats(x, 0).Pointer(), w.Pointer(), nil, n, eps, 0, rows)
			cpu.LayerNormF32(biased.Pointer(), biased.Pointer(), w.Pointer(), b.Pointer(), n, eps, 0, rows)
			plain.Check(t, "layernorm")
			for r := range rows {
				want := layerNorm(x[r*n:(r+1)*n], w.Floats())
				kt.Compare(t, "layernorm", plain.Floats()[r*n:(r+1)*n], want, kt.Tolerance{Abs: 1e-12, Rel: 1e-6})
				for i := range want {
					want[i] += float64(b.Floats()[i])
				}
				kt.Compare(t, "layernorm with bias", biased.Floats()[r*n:(r+1)*n], want, kt.Tolerance{Abs: 1e-6})
			}
		}
	})
}

func layerNorm(x, w []float32) []float64 {
	var mean, variance float64
	for _, v := range x {
		mean += float64(v) / float64(len(x))
	}
	for _, v := range x {
		variance += (float64(v) - mean) * (float64(v) - mean) / float64(len(x))
	}
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = (float64(v) - mean) / math.Sqrt(variance+eps) * float64(w[i])
	}
	return out
}

func TestSoftmax(t *testing.T) {
	const rows = 2
	tol := kt.Tolerance{Abs: 1e-40, Rel: 4e-6} // x-max, up to 40, is rounded to float32
	kt.ForEach(t, func(t *testing.T) {
		for _, n := range append(lengths()[1:], 1<<15+3) {
			x := kt.Uniform(kt.Rand(t), rows*n)
			for i := range x {
				x[i] *= 20
			}
			x[n-1] = float32(math.Inf(-1))
			x[0] = 1
			in, dst := kt.NewFloats(x, 4*(n%3)), kt.NewBuffer(rows*n*4, 4*(n%5))
			cpu.SoftmaxF32(dst.Pointer(), in.Pointer(), n, 0, rows)
			dst.Check(t, "softmax")
			for r := range rows {
				if n > 1 || r > 0 {
					kt.Compare(t, fmt.Sprint("softmax of ", n), dst.Floats()[r*n:(r+1)*n], softmax(x[r*n:(r+1)*n]), tol)
				}
			}
			cpu.SoftmaxF32(in.Pointer(), in.Pointer(), n, 0, rows)
			kt.Same(t, "softmax in place", in, dst)
		}
	})
}

func softmax(x []float32) []float64 {
	most, sum, out := math.Inf(-1), 0.0, make([]float64, len(x))
	for _, v := range x {
		most = max(most, float64(v))
	}
	for i, v := range x {
		out[i] = math.Exp(float64(v) - most)
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

// TestSoftmaxFarFromZero has elements whose exponentials are 0 unless the row's own largest
// element is subtracted, not that of an absent lane.
func TestSoftmaxFarFromZero(t *testing.T) {
	kt.ForEach(t, func(t *testing.T) {
		for n := 1; n < 40; n++ {
			for _, v := range []float32{-1000, 1000} {
				b := kt.NewBuffer(4*n, 0)
				want := make([]float64, n)
				for i := range want {
					b.Floats()[i], want[i] = v, 1/float64(n)
				}
				cpu.SoftmaxF32(b.Pointer(), b.Pointer(), n, 0, 1)
				kt.Compare(t, fmt.Sprintf("softmax of %d times %v", n, v), b.Floats(), want, kt.Tolerance{Rel: 1e-6})
			}
		}
	})
}

func TestSoftmaxNaN(t *testing.T) {
	kt.ForEach(t, func(t *testing.T) {
		for n := 1; n < 40; n++ {
			x := kt.Uniform(kt.Rand(t), n)
			x[n/2] = float32(math.NaN())
			b := kt.NewFloats(x, 0)
			cpu.SoftmaxF32(b.Pointer(), b.Pointer(), n, 0, 1)
			for i, v := range b.Floats() {
				if v == v {
					t.Fatalf("softmax of %d with a NaN: element %d is %v", n, i, v)
				}
			}
		}
	})
}

func TestReduce(t *testing.T) {
	const rows, n = 4, 37
	kt.ForEach(t, func(t *testing.T) {
		x := kt.Uniform(kt.Rand(t), rows*n)
		x[2*n+5] = float32(math.NaN())
		in, sum, mean, most := kt.NewFloats(x, 4), kt.NewBuffer(rows*4, 0), kt.NewBuffer(rows*4, 0), kt.NewBuffer(rows*4, 0)
		for r := range rows {
			cpu.ReduceSumF32(sum.Pointer(), in.Pointer(), n, r, r+1)
			cpu.ReduceMeanF32(mean.Pointer(), in.Pointer(), n, r, r+1)
			cpu.ReduceMaxF32(most.Pointer(), in.Pointer(), n, r, r+1)
		}
		for r := range rows {
			s, m := 0.0, math.Inf(-1)
			for _, v := range x[r*n : (r+1)*n] {
				s, m = s+float64(v), math.Max(m, float64(v))
			}
			at := func(b *kt.Buffer) []float32 { return b.Floats()[r : r+1] }
			kt.Compare(t, "sum", at(sum), []float64{s}, kt.Tolerance{Abs: 1e-6})
			kt.Compare(t, "mean", at(mean), []float64{s / n}, kt.Tolerance{Abs: 1e-7})
			kt.Compare(t, "max", at(most), []float64{m}, kt.Exact)
		}
	})
}
