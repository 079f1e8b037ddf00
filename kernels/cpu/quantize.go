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

// QuantizeQ8ABounded is QuantizeQ8A for products with q8_0. On AVX2 they are faster with bounded blocks (see boundedSum),
// of which some have a larger scale.
//
//go:noinline
func QuantizeQ8ABounded(dst, x unsafe.Pointer, n, r0, r1, c0, c1 int) {
	runs(n, r0, r1, c0, c1, func(at, n int) {
		active.quantizeBounded(unsafe.Add(dst, at/blockLen*q8aBytes), floatAt(x, at), n)
	})
}

// QuantizeQ8AK quantizes columns [c0, c1) of rows [r0, r1) of x f32 [*, n] to q8a_k. n, c0 and c1
// are multiples of 256. Blocks with NaN or infinite elements get a scale that is NaN or infinite,
// and bytes of 0.
//
//go:noinline
func QuantizeQ8AK(dst, x unsafe.Pointer, n, r0, r1, c0, c1 int) {
	runs(n, r0, r1, c0, c1, func(at, n int) {
		active.quantizeK(unsafe.Add(dst, at/superLen*q8akBytes), floatAt(x, at), n)
	})
}

// q8akBlock is 256 activations with one scale: x ≈ d·q.
type q8akBlock struct {
	q      [superLen]int8
	d      float32
	zero   [12]byte
	sums32 [superLen / 32]int16 // sums of 32 q each
	sums16 [superLen / 16]int16 // sums of 16 q each
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
	d := largest(x[:]) / 127
	first, second := quantizeHalves(&out.q, x, inverse(d))
	sum := first + second
	out.d, out.start4, out.start8, out.zero = d, startBits-8*sum, startBits-128*sum, 0
}

func quantizeKGeneric(dst, x unsafe.Pointer, n int) {
	in := unsafe.Slice((*[superLen]float32)(x), n/superLen)
	out := unsafe.Slice((*q8akBlock)(dst), n/superLen)
	for i := range out {
		quantizeSuper(&out[i], &in[i])
	}
}

// normQ8AKGeneric quantizes x*scale*w, a block at a time.
func normQ8AKGeneric(dst, x, w unsafe.Pointer, n int, scale float32) {
	var block [superLen]float32
	for at := 0; at < n; at += superLen {
		mulScaleGeneric(unsafe.Pointer(&block), floatAt(x, at), floatAt(w, at), superLen, scale)
		quantizeSuper((*q8akBlock)(unsafe.Add(dst, at/superLen*q8akBytes)), &block)
	}
}

func quantizeSuper(out *q8akBlock, x *[superLen]float32) {
	d := largest(x[:]) / 127
	out.d, out.zero = d, [12]byte{}
	id := inverse(d)
	for i := range out.sums32 {
		at := i * blockLen
		first, second := quantizeHalves((*[blockLen]int8)(out.q[at:]), (*[blockLen]float32)(x[at:]), id)
		out.sums32[i] = int16(first + second)
		out.sums16[2*i], out.sums16[2*i+1] = int16(first), int16(second)
	}
}

// largest is the largest magnitude in x. Magnitudes are compared as integers: that orders
// them in the same way and puts NaN above all, so that it is not lost.
func largest(x []float32) float32 {
	var most uint32
	for _, v := range x {
		most = max(most, math.Float32bits(v)&^(1<<31))
	}
	return math.Float32frombits(most)
}

// inverse is 1/d, or 0 where that is not finite: for a d that is zero, too small or NaN.
func inverse(d float32) float32 {
	id := 1 / d
	if id-id != 0 {
		return 0
	}
	return id
}

// quantizeHalves stores x*id rounded to nearest, ties away from zero, and returns the sums of the two halves.
func quantizeHalves(q *[blockLen]int8, x *[blockLen]float32, id float32) (first, second int32) {
	const half = blockLen / 2
	first = quantize8((*[half]int8)(q[:half]), (*[half]float32)(x[:half]), id)
	second = quantize8((*[half]int8)(q[half:]), (*[half]float32)(x[half:]), id)
	return first, second
}

// quantize8 stores x*id rounded to nearest, ties away from zero, and returns the sum. NaN, which infinite elements
// times an id of 0 are too, counts as 0.
func quantize8(q *[blockLen / 2]int8, x *[blockLen / 2]float32, id float32) (sum int32) {
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
