package cpu

import (
	"math"
	"unsafe"
)

// Norms over rows of n elements. They need whole rows, so they divide by rows only.

// RMSNormF32 computes x/√(mean(x²)+eps) * w for rows [r0, r1) of x f32 [*, n], w f32 [n].
// dst may be x.
//
//go:noinline
func RMSNormF32(dst, x, w unsafe.Pointer, n int, eps float32, r0, r1 int) {
	for r := r0; r < r1; r++ {
		row := floatAt(x, r*n)
		active.mulScale(floatAt(dst, r*n), row, w, n, inverseRMS(row, n, eps))
	}
}

// RMSNormQ8A is RMSNormF32 followed by QuantizeQ8A, bit for bit, without the f32 row in
// between. dst is q8a [*, n], n a multiple of 32.
//
//go:noinline
func RMSNormQ8A(dst, x, w unsafe.Pointer, n int, eps float32, r0, r1 int) {
	for r := r0; r < r1; r++ {
		row := floatAt(x, r*n)
		active.normQ8A(unsafe.Add(dst, r*(n/blockLen*q8aBytes)), row, w, n, inverseRMS(row, n, eps))
	}
}

// RMSNormQ8ABounded is RMSNormF32 followed by QuantizeQ8ABounded, bit for bit, without the f32 row in
// between. dst is q8a [*, n], n a multiple of 32.
//
//go:noinline
func RMSNormQ8ABounded(dst, x, w unsafe.Pointer, n int, eps float32, r0, r1 int) {
	for r := r0; r < r1; r++ {
		row := floatAt(x, r*n)
		active.normBounded(unsafe.Add(dst, r*(n/blockLen*q8aBytes)), row, w, n, inverseRMS(row, n, eps))
	}
}

// RMSNormQ8AK is RMSNormF32 followed by QuantizeQ8AK, bit for bit, without the f32 row in
// between. dst is q8a_k [*, n], n a multiple of 256.
//
//go:noinline
func RMSNormQ8AK(dst, x, w unsafe.Pointer, n int, eps float32, r0, r1 int) {
	for r := r0; r < r1; r++ {
		row := floatAt(x, r*n)
		active.normQ8AK(unsafe.Add(dst, r*(n/superLen*q8akBytes)), row, w, n, inverseRMS(row, n, eps))
	}
}

// RMSNormBF16 is RMSNormF32 followed by CastF32BF16, bit for bit, without the f32 row in
// between. dst is bf16 [*, n].
//
//go:noinline
func RMSNormBF16(dst, x, w unsafe.Pointer, n int, eps float32, r0, r1 int) {
	for r := r0; r < r1; r++ {
		row := floatAt(x, r*n)
		active.normBF16(halfAt(dst, r*n), row, w, n, inverseRMS(row, n, eps))
	}
}

// inverseRMS is 1/√(mean(x²)+eps).
func inverseRMS(x unsafe.Pointer, n int, eps float32) float32 {
	mean := active.sumSquares(x, n) / float64(n)
	return float32(1 / math.Sqrt(mean+float64(eps)))
}

// LayerNormF32 computes (x-mean)/√(variance+eps) * w + b for rows [r0, r1) of x f32
// [*, n]; w and b are f32 [n], b may be nil. The variance is that of the population, as
// in torch.nn.LayerNorm. dst may be x.
//
//go:noinline
func LayerNormF32(dst, x, w, b unsafe.Pointer, n int, eps float32, r0, r1 int) {
	for r := r0; r < r1; r++ {
		layerNorm(floats(floatAt(dst, r*n), n), floats(floatAt(x, r*n), n), floats(w, n), eps)
		if b != nil {
			row := floatAt(dst, r*n)
			active.binary[binaryAdd](row, row, b, n)
		}
	}
}

// layerNorm normalises one row, in float64: two passes, so that a large mean costs nothing.
func layerNorm(dst, x, w []float32, eps float32) {
	var sum, squares float64
	for _, v := range x {
		sum += float64(v)
	}
	mean := sum / float64(len(x))
	for _, v := range x {
		d := float64(v) - mean
		squares += float64(d * d)
	}
	scale := 1 / math.Sqrt(squares/float64(len(x))+float64(eps))
	for i, v := range x {
		dst[i] = float32((float64(v)-mean)*scale) * w[i]
	}
}

// sumSquaresGeneric sums in float64: the square of a float32 is exact there.
func sumSquaresGeneric(x unsafe.Pointer, n int) float64 {
	var sum float64
	for _, v := range floats(x, n) {
		sum += float64(v) * float64(v)
	}
	return sum
}

func mulScaleGeneric(dst, x, w unsafe.Pointer, n int, scale float32) {
	out, weight := floats(dst, n), floats(w, n)
	for i, v := range floats(x, n) {
		out[i] = float32(v*scale) * weight[i]
	}
}
