package cpu_test

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"
	"unsafe"

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

// TestRMSNormOfLargeRows normalizes rows whose sum of squares no float32 holds.
func TestRMSNormOfLargeRows(t *testing.T) {
	kt.ForEach(t, func(t *testing.T) {
		for _, size := range []float32{1e18, 1e19, 1e30} {
			for _, n := range []int{8, 33, 512} {
				x, w := kt.NewBuffer(n*4, 0), kt.NewBuffer(n*4, 0)
				for i := range n {
					x.Floats()[i], w.Floats()[i] = size*float32(i%2*2-1), float32(i+1)
				}
				cpu.RMSNormF32(x.Pointer(), x.Pointer(), w.Pointer(), n, eps, 0, 1)
				for i, v := range x.Floats() {
					if want := float32(i%2*2-1) * float32(i+1); math.Abs(float64(v/want-1)) > 1e-6 {
						t.Fatalf("element %d of %d of %g becomes %g, not %g", i, n, size, v, want)
					}
				}
			}
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

// quantizers are the formats that activations are quantized to, with what makes them.
var quantizers = []struct {
	name         string
	block, bytes int
	quantize     func(dst, x unsafe.Pointer, n, r0, r1, c0, c1 int)
	norm         func(dst, x, w unsafe.Pointer, n int, eps float32, r0, r1 int)
	encode       func(t *testing.T, values []float32) []byte // of finite values
}{
	{"q8a", 32, q8a, cpu.QuantizeQ8A, cpu.RMSNormQ8A, encodeQ8A},
	{"bounded q8a", 32, q8a, cpu.QuantizeQ8ABounded, cpu.RMSNormQ8ABounded, func(t *testing.T, values []float32) []byte {
		if makesBounded() {
			return encodeBounded(values)
		}
		return encodeQ8A(t, values)
	}},
	{"q8a_k", 256, q8ak, cpu.QuantizeQ8AK, cpu.RMSNormQ8AK, func(t *testing.T, values []float32) []byte { return encodeQ8AK(values) }},
}

// encodeQ8A is the definition of q8a, of finite values.
func encodeQ8A(t *testing.T, values []float32) []byte {
	b, _ := kt.EncodeValues(t, dtype.Q8A, values)
	return b
}

// makesBounded reports whether the kernels in use have tiles for bounded blocks.
func makesBounded() bool { return cpu.Active() == "avx2" || cpu.Active() == "avx512" }

// boundedSums returns the sums of magnitudes that bounded blocks keep small: of elements i, i+1, i+16 and i+17, i even.
func boundedSums[T int8 | float32](block []T) []float64 {
	var sums []float64
	for i := 0; i < 16; i += 2 {
		sum := 0.0
		for _, at := range []int{i, i + 16, i + 1, i + 17} {
			sum += math.Abs(float64(block[at]))
		}
		sums = append(sums, sum)
	}
	return sums
}

// encodeBounded is the definition of bounded blocks of q8a, of finite values: sums are at most 253 before rounding, and scales have
// 22 bits.
func encodeBounded(values []float32) []byte {
	var out []byte
	for block := range slices.Chunk(values, 32) {
		most, sums := float32(0), float32(0)
		for _, v := range block {
			most = max(most, float32(math.Abs(float64(v))))
		}
		for i := 0; i < 16; i += 2 {
			m := func(at int) float32 { return float32(math.Abs(float64(block[at]))) / 256 }
			sums = max(sums, float32(m(i)+m(i+16))+float32(m(i+1)+m(i+17)))
		}
		d := math.Float32frombits(math.Float32bits(max(most/127, sums/(253./256))) &^ 3)
		id := 1 / d
		q, sum := make([]byte, 32), float32(0)
		if id-id == 0 {
			for i, v := range block {
				r := math.Round(float64(v * id))
				q[i] = byte(int8(r))
				sum += float32(r)
			}
		}
		out = append(out, q...)
		for _, f := range []float32{d, 3<<22 - 8*sum, 3<<22 - 128*sum} { // see ir/dtype
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(f))
		}
		out = append(out, 0, 0, 0, 0)
	}
	return out
}

// TestBlocksForAVX2AreBounded quantizes blocks of all magnitudes, with elements alike and with some far above the others,
// and wants sums of four of at most 255, errors of half a unit, and units no larger than what either needs.
func TestBlocksForAVX2AreBounded(t *testing.T) {
	kt.ForEach(t, func(t *testing.T) {
		if !makesBounded() {
			return
		}
		rng := kt.Rand(t)
		for power := -149; power <= 127; power++ {
			for kind := range 4 {
				x := kt.Uniform(rng, 32)
				for i := range x {
					v := float64(x[i])
					switch kind {
					case 1:
						v = math.Copysign(1, v)
					case 2:
						v = math.Copysign(math.Exp(-4*math.Abs(v)), v)
					case 3:
						v = math.Copysign(float64(rng.IntN(3))/2, v)
					}
					x[i] = float32(math.Ldexp(v, power))
				}
				got := kt.NewBuffer(q8a, 4)
				cpu.QuantizeQ8ABounded(got.Pointer(), kt.NewFloats(x, 4).Pointer(), 32, 0, 1, 0, 32)
				d, q := float64(got.Floats()[8]), make([]int8, 32)
				for i := range q {
					q[i] = int8(got.Bytes()[i])
				}
				if most := slices.Max(boundedSums(q)); most > 255 {
					t.Fatalf("2^%d: sums of up to %v: %v", power, most, q)
				}
				largest := math.Abs(float64(slices.MaxFunc(x, func(a, b float32) int {
					return cmp.Compare(math.Abs(float64(a)), math.Abs(float64(b)))
				})))
				if power < -110 {
					continue // units are denormal, or have no inverse
				}
				if limit := max(largest/127, slices.Max(boundedSums(x))/253); d > limit*1.000001 || d < limit*0.999999 {
					t.Fatalf("2^%d: a unit of %g, not %g", power, d, limit)
				}
				for i, v := range x {
					if off := math.Abs(float64(q[i])*d - float64(v)); off > d*0.500001 {
						t.Fatalf("2^%d: element %d, %g, is %d times %g", power, i, v, q[i], d)
					}
				}
			}
		}
	})
}

// q8ak is the bytes of a block of q8a_k.
const q8ak = 320

// encodeQ8AK is the definition of q8a_k. Elements may be NaN or infinite.
func encodeQ8AK(values []float32) []byte {
	var out []byte
	for block := range slices.Chunk(values, 256) {
		var most uint32 // of magnitudes as integers: NaN is above all
		for _, v := range block {
			most = max(most, math.Float32bits(v)&^(1<<31))
		}
		d := math.Float32frombits(most) / 127
		id := 1 / d
		q, sums32, sums16 := make([]byte, 256), make([]int16, 8), make([]int16, 16)
		if id-id == 0 && d-d == 0 {
			for i, v := range block {
				r := int8(math.Round(float64(v * id)))
				q[i] = byte(r)
				sums32[i/32] += int16(r)
				sums16[i/16] += int16(r)
			}
		}
		out = append(out, q...)
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(d))
		out = append(out, make([]byte, 12)...)
		for _, s := range append(sums32, sums16...) {
			out = binary.LittleEndian.AppendUint16(out, uint16(s))
		}
	}
	return out
}

// TestRMSNormQuantized demands the same bits from the fused kernels and from their two parts.
func TestRMSNormQuantized(t *testing.T) {
	const rows = 3
	kt.ForEach(t, func(t *testing.T) {
		for _, a := range quantizers {
			for n := a.block; n <= 10*a.block; n += a.block {
				rng := kt.Rand(t)
				x, w := kt.NewFloats(kt.Uniform(rng, rows*n), 0), kt.NewFloats(kt.Uniform(rng, n), 4)
				if n > 2*a.block { // x is finite, so that only one block of a row gets NaN
					copy(w.Floats()[a.block:2*a.block], kt.Hard(rng, a.block))
				}
				size := n / a.block * a.bytes
				norm := kt.NewBuffer(rows*n*4, 0)
				want, got := kt.NewBuffer(rows*size, 0), kt.NewBuffer(rows*size, 4)
				cpu.RMSNormF32(norm.Pointer(), x.Pointer(), w.Pointer(), n, eps, 0, rows)
				a.quantize(want.Pointer(), norm.Pointer(), n, 0, rows, 0, n)
				a.norm(got.Pointer(), x.Pointer(), w.Pointer(), n, eps, 0, 1)
				a.norm(got.Pointer(), x.Pointer(), w.Pointer(), n, eps, 1, rows)
				got.Check(t, a.name)
				kt.Same(t, fmt.Sprintf("fused norm of %d to %s", n, a.name), got, want)
			}
		}
	})
}

// TestQuantize compares with the reference encoders, bit for bit.
func TestQuantize(t *testing.T) {
	const rows = 5
	kt.ForEach(t, func(t *testing.T) {
		for _, a := range quantizers {
			n := 5 * a.block
			values := kt.Uniform(kt.Rand(t), rows*n)
			for i := range 2 * a.block {
				values[i] = 0                                               // blocks of zeros
				values[2*a.block+i] = float32(i%a.block-a.block/2) / 2000.0 // many ties
				values[4*a.block+i] *= 1e-38                                // a scale without an inverse
			}
			values[2*a.block+6] = 127 * 1e-3
			copy(values[6*a.block:], []float32{127, 0.49999997, -0.49999997, 0.5, -0.5, 1.5, 2.5, -2.5, 126.5, 126.49999})
			clear(values[6*a.block+10 : 7*a.block]) // a scale of 1: the edges of rounding
			want := a.encode(t, values)
			size := n / a.block * a.bytes
			x, got := kt.NewFloats(values, 4), kt.NewBuffer(len(want), 4)
			for _, b := range kt.Boxes(kt.Rand(t), rows, n, a.block) {
				a.quantize(got.Pointer(), x.Pointer(), n, b[0], b[1], b[2], b[3])
				one := kt.NewBuffer(len(want), 0)
				a.quantize(one.Pointer(), x.Pointer(), n, b[0], b[1], b[2], b[3])
				one.Owned(t, a.name, size, b[0], b[1], b[2]/a.block*a.bytes, b[3]/a.block*a.bytes)
			}
			got.Check(t, a.name)
			kt.Same(t, a.name, got, kt.NewBytes(want, 0))
		}
	})
}

// TestQuantizeQ8AKHard compares blocks that have elements of one magnitude, among them one or several NaN, infinities,
// denormals or zeros, with the definition, bit for bit.
func TestQuantizeQ8AKHard(t *testing.T) {
	kt.ForEach(t, func(t *testing.T) {
		rng := kt.Rand(t)
		var values []float32
		for power := -149; power < 128; power++ {
			block := kt.Uniform(rng, 256)
			for i := range block {
				block[i] = float32(math.Ldexp(float64(block[i]), power))
			}
			values = append(values, block...)
			for _, v := range kt.Hard(rng, rng.IntN(4)) {
				block[rng.IntN(256)] = v
			}
			values = append(values, block...)
		}
		values = append(values, kt.Hard(rng, 4*256)...)
		for i := range 256 { // one that is not finite, at each place
			for _, bits := range []uint32{0x7f800000, 0xff800000, 0x7fc00000, 0xffc01234, 0x7f801234} {
				block := kt.Uniform(rng, 256)
				block[i] = math.Float32frombits(bits)
				values = append(values, block...)
			}
		}
		for _, v := range []float32{127, -127, float32(math.Inf(1)), float32(math.NaN())} {
			for range 256 {
				values = append(values, v)
			}
		}
		n := len(values)
		got, want := kt.NewBuffer(n/256*q8ak, 4), kt.NewBytes(encodeQ8AK(values), 0)
		cpu.QuantizeQ8AK(got.Pointer(), kt.NewFloats(values, 4).Pointer(), n, 0, 1, 0, n)
		got.Check(t, "q8a_k")
		kt.Same(t, "q8a_k", got, want)
	})
}

// TestQuantizePoison checks that NaN and infinities are not lost, and that bytes do not depend on the implementation: all
// are 0, as the scale has no inverse.
func TestQuantizePoison(t *testing.T) {
	kt.ForEach(t, func(t *testing.T) {
		for _, a := range quantizers {
			for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				values := kt.Uniform(kt.Rand(t), a.block)
				values[17] = float32(bad)
				got := kt.NewBuffer(a.bytes, 0)
				a.quantize(got.Pointer(), kt.NewFloats(values, 0).Pointer(), a.block, 0, 1, 0, a.block)
				if d := got.Floats()[a.block/4]; d-d == 0 {
					t.Errorf("the scale of a block of %s with %v is %v", a.name, bad, d)
				}
				for i, q := range got.Bytes()[:a.block] {
					if q != 0 {
						t.Errorf("byte %d of a block of %s with %v is %d", i, a.name, bad, int8(q))
					}
				}
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
