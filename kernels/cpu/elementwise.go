package cpu

import "unsafe"

// Elementwise kernels on boxes: rows [r0, r1), columns [c0, c1) of f32 matrices with n
// columns. dst may be an input of the same shape.

// binaryOp names an elementwise function of two operands.
type binaryOp uint8

const (
	binaryAdd binaryOp = iota
	binarySub
	binaryMul
	binaryDiv
	binaryMax
	binaryMin
	binarySwiGLU
	numBinary
)

// AddF32 computes a + b.
//
//go:noinline
func AddF32(dst, a, b unsafe.Pointer, n, r0, r1, c0, c1 int) {
	boxBinary(active.binary[binaryAdd], dst, a, b, n, r0, r1, c0, c1)
}

// SubF32 computes a - b.
//
//go:noinline
func SubF32(dst, a, b unsafe.Pointer, n, r0, r1, c0, c1 int) {
	boxBinary(active.binary[binarySub], dst, a, b, n, r0, r1, c0, c1)
}

// MulF32 computes a * b.
//
//go:noinline
func MulF32(dst, a, b unsafe.Pointer, n, r0, r1, c0, c1 int) {
	boxBinary(active.binary[binaryMul], dst, a, b, n, r0, r1, c0, c1)
}

// DivF32 computes a / b.
//
//go:noinline
func DivF32(dst, a, b unsafe.Pointer, n, r0, r1, c0, c1 int) {
	boxBinary(active.binary[binaryDiv], dst, a, b, n, r0, r1, c0, c1)
}

// MaxF32 computes the larger of a and b; NaN if either is.
//
//go:noinline
func MaxF32(dst, a, b unsafe.Pointer, n, r0, r1, c0, c1 int) {
	boxBinary(active.binary[binaryMax], dst, a, b, n, r0, r1, c0, c1)
}

// MinF32 computes the smaller of a and b; NaN if either is.
//
//go:noinline
func MinF32(dst, a, b unsafe.Pointer, n, r0, r1, c0, c1 int) {
	boxBinary(active.binary[binaryMin], dst, a, b, n, r0, r1, c0, c1)
}

// SwiGLUF32 computes silu(gate) * up.
//
//go:noinline
func SwiGLUF32(dst, gate, up unsafe.Pointer, n, r0, r1, c0, c1 int) {
	boxBinary(active.binary[binarySwiGLU], dst, gate, up, n, r0, r1, c0, c1)
}

// AddRowF32 computes a + b where b is a single row [n], the same for every row of a.
//
//go:noinline
func AddRowF32(dst, a, b unsafe.Pointer, n, r0, r1, c0, c1 int) {
	boxRow(active.binary[binaryAdd], dst, a, b, n, r0, r1, c0, c1)
}

// SubRowF32 computes a - b where b is a single row [n], the same for every row of a.
//
//go:noinline
func SubRowF32(dst, a, b unsafe.Pointer, n, r0, r1, c0, c1 int) {
	boxRow(active.binary[binarySub], dst, a, b, n, r0, r1, c0, c1)
}

// MulRowF32 computes a * b where b is a single row [n], the same for every row of a.
//
//go:noinline
func MulRowF32(dst, a, b unsafe.Pointer, n, r0, r1, c0, c1 int) {
	boxRow(active.binary[binaryMul], dst, a, b, n, r0, r1, c0, c1)
}

// DivRowF32 computes a / b where b is a single row [n], the same for every row of a.
//
//go:noinline
func DivRowF32(dst, a, b unsafe.Pointer, n, r0, r1, c0, c1 int) {
	boxRow(active.binary[binaryDiv], dst, a, b, n, r0, r1, c0, c1)
}

// ClampF32 computes min(max(x, Lo), Hi). NaN stays.
//
//go:noinline
func ClampF32(dst, x unsafe.Pointer, shape ClampShape, n, r0, r1, c0, c1 int) {
	runs(n, r0, r1, c0, c1, func(at, n int) {
		out := floats(floatAt(dst, at), n)
		for i, v := range floats(floatAt(x, at), n) {
			out[i] = min(max(v, shape.Lo), shape.Hi)
		}
	})
}

// ScaleF32 computes x*scale + bias, rounded after the product and after the sum.
//
//go:noinline
func ScaleF32(dst, x unsafe.Pointer, shape ScaleShape, n, r0, r1, c0, c1 int) {
	runs(n, r0, r1, c0, c1, func(at, n int) {
		active.scale(floatAt(dst, at), floatAt(x, at), n, shape.Scale, shape.Bias)
	})
}
