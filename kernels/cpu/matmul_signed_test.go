package cpu_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu"
	kt "github.com/ggmlc/ggmlc/kernels/kerneltest"
)

// TestBytesOfAnySign multiplies bytes of all kinds by integers that are summed here, with scales of one, so that results
// are exact: weights from -128 on with activations from -127 on, mostly the outermost, in every mixture of signs. Rows
// are more than signedRows and less, even and odd, and panels an even number and an odd one. Blocks are any, or bounded, or
// bounded in the first rows only.
func TestBytesOfAnySign(t *testing.T) {
	kt.ForEach(t, func(t *testing.T) {
		rng := kt.Rand(t)
		for _, rows := range []int{1, 2, 3, 5, 8, 9, 63, 64, 65, 129, 190} {
			for _, n := range []int{1, 16, 33, 80} {
				for _, bounded := range []int{0, rows, rows - 1, 64} {
					testAnySign(t, rng, rows, n, 32*(1+rng.IntN(4)), bounded)
				}
			}
		}
	})
}

// outer returns a byte that is one of the outermost with a probability of a half.
func outer(rng *rand.Rand, least int) int {
	if rng.IntN(2) == 0 {
		return []int{least, -127, -1, 0, 1, 127}[rng.IntN(6)]
	}
	return least + rng.IntN(128-least)
}

// TestBlocksAboveTheBound multiplies blocks whose sums are at the bound and just above it by the outermost weights. 16 bits
// hold 256·-128, but not 257·-128.
func TestBlocksAboveTheBound(t *testing.T) {
	kt.ForEach(t, func(t *testing.T) {
		const rows, n, k = 4, 40, 64
		w := kt.NewBytes(kt.Pack(dtype.Q8_0, bytes.Repeat(append([]byte{0, 0x3c}, bytes.Repeat([]byte{0x80}, 32)...), n*k/32), n, k), 0)
		for first := 62; first <= 127; first++ { // 64 for sums of 255
			for _, sign := range []int{1, -1} {
				var x []byte
				for range rows * k / 32 {
					q := make([]int, 32)
					for i := 0; i < 16; i += 2 {
						q[i], q[i+1], q[i+16], q[i+17] = sign*first, sign*64, sign*64, sign*63
					}
					x = appendActivations(x, q)
				}
				y := kt.NewBuffer(rows*n*4, 0)
				cpu.MatMulQ8_0(y.Pointer(), kt.NewBytes(x, 0).Pointer(), w.Pointer(), nil, weights(n, k), 0, rows, 0, n)
				want := slices.Repeat([]float64{float64(-128 * sign * (first + 191) * k / 4)}, rows*n)
				kt.Compare(t, fmt.Sprintf("%d, 64, 64 and 63, times %d", first, sign), y.Floats(), want, kt.Exact)
			}
		}
	})
}

// TestScalesOfBoundedBlocks multiplies bounded blocks with scales of 22 bits and of more, of all magnitudes, of both signs, infinite
// and NaN. A sum times the scale of x is rounded, and so is that times the scale of weights.
func TestScalesOfBoundedBlocks(t *testing.T) {
	kt.ForEach(t, func(t *testing.T) {
		rng := kt.Rand(t)
		const n, k = 33, 32
		w, ws := byteWeights(rng, n, k)
		for c := range n {
			binary.LittleEndian.PutUint16(w[c*34:], 0x0400<<(c%24)|uint16(rng.IntN(1024)))
		}
		packed := kt.NewBytes(kt.Pack(dtype.Q8_0, w, n, k), 0)
		for exponent := range uint32(256) {
			for _, bits := range []uint32{0, 4, 0x3ffffc, 0x7ffffc, 1, 2, 3, 0x400001, 0x7fffff, rng.Uint32N(1 << 23)} {
				for _, rows := range []int{1, 2, 4, 7} {
					x, xs := byteActivations(rng, rows, k, rows)
					scale := exponent<<23 | bits | rng.Uint32N(2)<<31
					binary.LittleEndian.PutUint32(x[len(x)-16:], scale) // of the last row
					y := kt.NewBuffer(rows*n*4, 0)
					cpu.MatMulQ8_0(y.Pointer(), kt.NewBytes(x, 0).Pointer(), packed.Pointer(), nil, weights(n, k), 0, rows, 0, n)
					for i, got := range y.Floats() {
						d := float32(1)
						if i/n == rows-1 {
							d = math.Float32frombits(scale)
						}
						sum := 0
						for j, v := range xs[i/n*k:][:k] {
							sum += v * ws[i%n*k+j]
						}
						want := float32(sum) * d * dtype.F16ToF32(binary.LittleEndian.Uint16(w[i%n*34:]))
						if got != want && !(math.IsNaN(float64(got)) && math.IsNaN(float64(want))) {
							t.Fatalf("%d rows, scale %#x: element %d is %g, not %g", rows, scale, i, got, want)
						}
					}
				}
			}
		}
	})
}

func testAnySign(t *testing.T, rng *rand.Rand, rows, n, k, bounded int) {
	x, xs := byteActivations(rng, rows, k, bounded)
	w, ws := byteWeights(rng, n, k)
	want := make([]float64, rows*n)
	for r := range rows {
		for c := range n {
			for i := range k {
				want[r*n+c] += float64(xs[r*k+i] * ws[c*k+i])
			}
		}
	}
	packed := kt.NewBytes(kt.Pack(dtype.Q8_0, w, n, k), 0)
	y := kt.NewBuffer(rows*n*4, 0)
	cpu.MatMulQ8_0(y.Pointer(), kt.NewBytes(x, 0).Pointer(), packed.Pointer(), nil, weights(n, k), 0, rows, 0, n)
	kt.Compare(t, fmt.Sprintf("%d rows by [%d, %d]", rows, n, k), y.Floats(), want, kt.Exact)

	// With the same weights as wUp the result is x²/(1+e^-x) of each product x.
	cpu.MatMulSwiGLUQ8_0(y.Pointer(), kt.NewBytes(x, 0).Pointer(), packed.Pointer(), packed.Pointer(), weights(n, k), 0, rows, 0, n)
	for i, v := range want {
		want[i] = v * v / (1 + math.Exp(-v))
	}
	kt.Compare(t, fmt.Sprintf("swiglu of %d rows by [%d, %d]", rows, n, k), y.Floats(), want, kt.Tolerance{Rel: 1e-6, Abs: 1e-6})
}

// bound makes a block bounded: sums of the magnitudes of elements i, i+1, i+16 and i+17, i even, become 255 at most.
func bound(rng *rand.Rand, block []int) {
	for i := 0; i < 16; i += 2 {
		left := 255
		for _, k := range rng.Perm(4) {
			at := i + k%2 + k/2*16
			block[at] = min(max(block[at], -left), left)
			left -= max(block[at], -block[at])
		}
	}
}

// byteActivations returns rows of q8a with scales of one, and their integers. Those of the first rows are bounded.
func byteActivations(rng *rand.Rand, rows, k, bounded int) ([]byte, []int) {
	var x []byte
	var all []int
	for at := range rows * k / 32 {
		q := make([]int, 32)
		for i := range q {
			q[i] = outer(rng, -127)
		}
		if at < bounded*k/32 {
			bound(rng, q)
		}
		x = appendActivations(x, q)
		all = append(all, q...)
	}
	return x, all
}

// appendActivations appends a block of q8a with a scale of one.
func appendActivations(x []byte, q []int) []byte {
	block, sum := make([]byte, 48), 0
	for i, v := range q {
		block[i] = byte(v)
		sum += v
	}
	binary.LittleEndian.PutUint32(block[32:], 0x3f800000)
	for i, offset := range []int{8, 128} {
		binary.LittleEndian.PutUint32(block[36+4*i:], uint32(0x4b400000-offset*sum)) // see ir/dtype
	}
	return append(x, block...)
}

// byteWeights returns rows of q8_0 with scales of one, and their integers.
func byteWeights(rng *rand.Rand, n, k int) ([]byte, []int) {
	var w []byte
	var all []int
	for range n * k / 32 {
		w = append(w, 0, 0x3c)
		for range 32 {
			v := outer(rng, -128)
			w = append(w, byte(v))
			all = append(all, v)
		}
	}
	return w, all
}
