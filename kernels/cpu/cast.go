package cpu

import (
	"math"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Casts between float types, on boxes: rows [r0, r1), columns [c0, c1) of matrices with n
// columns. Rounding is to nearest, ties to even.

// CastF32F16 converts f32 to f16.
//
//go:noinline
func CastF32F16(dst, src unsafe.Pointer, n, r0, r1, c0, c1 int) {
	runs(n, r0, r1, c0, c1, func(at, n int) { active.f32ToF16(halfAt(dst, at), floatAt(src, at), n) })
}

// CastF16F32 converts f16 to f32.
//
//go:noinline
func CastF16F32(dst, src unsafe.Pointer, n, r0, r1, c0, c1 int) {
	runs(n, r0, r1, c0, c1, func(at, n int) { active.f16ToF32(floatAt(dst, at), halfAt(src, at), n) })
}

// CastF32BF16 converts f32 to bf16.
//
//go:noinline
func CastF32BF16(dst, src unsafe.Pointer, n, r0, r1, c0, c1 int) {
	runs(n, r0, r1, c0, c1, func(at, n int) { active.f32ToBF16(halfAt(dst, at), floatAt(src, at), n) })
}

// CastBF16F32 converts bf16 to f32.
//
//go:noinline
func CastBF16F32(dst, src unsafe.Pointer, n, r0, r1, c0, c1 int) {
	runs(n, r0, r1, c0, c1, func(at, n int) { active.bf16ToF32(floatAt(dst, at), halfAt(src, at), n) })
}

func f32ToF16Generic(dst, src unsafe.Pointer, n int) {
	out := halves(dst, n)
	for i, v := range floats(src, n) {
		out[i] = dtype.F32ToF16(v)
	}
}

func f16ToF32Generic(dst, src unsafe.Pointer, n int) {
	out := floats(dst, n)
	for i, v := range halves(src, n) {
		out[i] = dtype.F16ToF32(v)
	}
}

func f32ToBF16Generic(dst, src unsafe.Pointer, n int) {
	out := halves(dst, n)
	for i, v := range floats(src, n) {
		out[i] = dtype.F32ToBF16(v)
	}
}

func bf16ToF32Generic(dst, src unsafe.Pointer, n int) {
	out := floats(dst, n)
	for i, v := range halves(src, n) {
		out[i] = math.Float32frombits(uint32(v) << 16)
	}
}

func panelToBF16Generic(dst, x unsafe.Pointer, rows, stride int) {
	for r := range rows {
		f32ToBF16Generic(unsafe.Add(dst, r*stride), floatAt(x, r*panelRows), panelRows)
	}
}

// normBF16Generic converts x*scale*w.
func normBF16Generic(dst, x, w unsafe.Pointer, n int, scale float32) {
	out, weight := halves(dst, n), floats(w, n)
	for i, v := range floats(x, n) {
		out[i] = dtype.F32ToBF16(float32(v*scale) * weight[i])
	}
}
