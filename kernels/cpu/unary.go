package cpu

import "unsafe"

// Elementwise functions of one operand, on boxes as in elementwise.go. dst may be x.

// unaryOp names an elementwise function of one operand.
type unaryOp uint8

const (
	unarySiLU unaryOp = iota
	unaryGELU
	unaryReLU
	unaryTanh
	unarySigmoid
	unaryExp
	unaryNeg
	unarySqrt
	unaryAbs
	unaryLog
	unarySquare
	numUnary
)

// SiLUF32 computes x / (1 + e^-x).
//
//go:noinline
func SiLUF32(dst, x unsafe.Pointer, n, r0, r1, c0, c1 int) {
	boxUnary(active.unary[unarySiLU], dst, x, n, r0, r1, c0, c1)
}

// GELUF32 computes x/2 · (1 + tanh(√(2/π)·(x + 0.044715x³))), the tanh form of GELU.
//
//go:noinline
func GELUF32(dst, x unsafe.Pointer, n, r0, r1, c0, c1 int) {
	boxUnary(active.unary[unaryGELU], dst, x, n, r0, r1, c0, c1)
}

// ReLUF32 computes max(x, 0); NaN stays NaN.
//
//go:noinline
func ReLUF32(dst, x unsafe.Pointer, n, r0, r1, c0, c1 int) {
	boxUnary(active.unary[unaryReLU], dst, x, n, r0, r1, c0, c1)
}

// TanhF32 computes tanh x.
//
//go:noinline
func TanhF32(dst, x unsafe.Pointer, n, r0, r1, c0, c1 int) {
	boxUnary(active.unary[unaryTanh], dst, x, n, r0, r1, c0, c1)
}

// SigmoidF32 computes 1 / (1 + e^-x).
//
//go:noinline
func SigmoidF32(dst, x unsafe.Pointer, n, r0, r1, c0, c1 int) {
	boxUnary(active.unary[unarySigmoid], dst, x, n, r0, r1, c0, c1)
}

// ExpF32 computes e^x.
//
//go:noinline
func ExpF32(dst, x unsafe.Pointer, n, r0, r1, c0, c1 int) {
	boxUnary(active.unary[unaryExp], dst, x, n, r0, r1, c0, c1)
}

// NegF32 computes -x.
//
//go:noinline
func NegF32(dst, x unsafe.Pointer, n, r0, r1, c0, c1 int) {
	boxUnary(active.unary[unaryNeg], dst, x, n, r0, r1, c0, c1)
}

// SqrtF32 computes √x, NaN below 0.
//
//go:noinline
func SqrtF32(dst, x unsafe.Pointer, n, r0, r1, c0, c1 int) {
	boxUnary(active.unary[unarySqrt], dst, x, n, r0, r1, c0, c1)
}

// AbsF32 computes |x|.
//
//go:noinline
func AbsF32(dst, x unsafe.Pointer, n, r0, r1, c0, c1 int) {
	boxUnary(active.unary[unaryAbs], dst, x, n, r0, r1, c0, c1)
}

// LogF32 computes the natural logarithm of x, NaN below 0.
//
//go:noinline
func LogF32(dst, x unsafe.Pointer, n, r0, r1, c0, c1 int) {
	boxUnary(active.unary[unaryLog], dst, x, n, r0, r1, c0, c1)
}

// SquareF32 computes x².
//
//go:noinline
func SquareF32(dst, x unsafe.Pointer, n, r0, r1, c0, c1 int) {
	boxUnary(active.unary[unarySquare], dst, x, n, r0, r1, c0, c1)
}
