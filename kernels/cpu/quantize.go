package cpu

import (
	"math"
	"unsafe"
)

// QuantizeQ8A quantizes columns [c0, c1) of rows [r0, r1) of x f32 [*, n] to q8a, as the
// reference in ir/dtype does. n, c0 and c1 are multiples of 32. Blocks with NaN or infinite
// elements get a scale that is NaN or infinite.
//
//go:noinline
func QuantizeQ8A(dst, x unsafe.Pointer, n, r0, r1, c0, c1 int) {
	runs(n, r0, r1, c0, c1, func(at, n int) {
		active.quantize(unsafe.Add(dst, at/blockLen*q8aBytes), floatAt(x, at), n)
	})
}

func quantizeGeneric(dst, x unsafe.Pointer, n int) {
	in := unsafe.Slice((*[blockLen]float32)(x), n/blockLen)
	out := unsafe.Slice((*q8aBlock)(dst), n/blockLen)
	for i := range out {
		quantizeBlock(&out[i], &in[i])
	}
}

// normQ8AGeneric quantizes x*scale*w, a block at a time.
func normQ8AGeneric(dst, x, w unsafe.Pointer, n int, scale float32) {
	var block [blockLen]float32
	for at := 0; at < n; at += blockLen {
		mulScaleGeneric(unsafe.Pointer(&block), floatAt(x, at), floatAt(w, at), blockLen, scale)
		quantizeBlock((*q8aBlock)(unsafe.Add(dst, at/blockLen*q8aBytes)), &block)
	}
}

func quantizeBlock(out *q8aBlock, x *[blockLen]float32) {
	d := largest(x) / 127
	sum := quantize8(&out.q, x, d)
	out.d, out.start4, out.start8 = d, startBits-8*sum, startBits-128*sum
	first := int32(0)
	for _, q := range out.q[:blockLen/2] {
		first += int32(q)
	}
	out.first = float32(8 * first)
}

// largest is the largest magnitude in x. Magnitudes are compared as integers: that orders
// them in the same way and puts NaN above all, so that it is not lost.
func largest(x *[blockLen]float32) float32 {
	var most uint32
	for _, v := range x {
		most = max(most, math.Float32bits(v)&^(1<<31))
	}
	return math.Float32frombits(most)
}

// quantize8 stores x/d rounded to nearest, ties away from zero, and returns the sum. A d
// without a finite inverse (zero, too small, NaN) counts as 0.
func quantize8(q *[blockLen]int8, x *[blockLen]float32, d float32) (sum int32) {
	id := 1 / d
	if id-id != 0 {
		id = 0
	}
	for i, v := range x {
		v *= id
		// Truncated and corrected: adding a half first would round the number just below
		// a half up.
		whole := int32(v)
		if rest := v - float32(whole); rest >= 0.5 {
			whole++
		} else if rest <= -0.5 {
			whole--
		}
		q[i] = int8(whole)
		sum += int32(int8(whole))
	}
	return sum
}
