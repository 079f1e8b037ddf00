package cpu

import (
	"math"
	"unsafe"
)

var genericUnary = [numUnary]rowUnary{
	unarySiLU:    siluGeneric,
	unaryGELU:    geluGeneric,
	unaryReLU:    reluGeneric,
	unaryTanh:    tanhGeneric,
	unarySigmoid: sigmoidGeneric,
	unaryExp:     expGeneric,
	unaryNeg:     negGeneric,
	unarySqrt:    sqrtGeneric,
	unaryAbs:     absGeneric,
	unaryLog:     logGeneric,
	unarySquare:  squareGeneric,
}

// exp is e^x, correctly rounded but for double rounding.
func exp(x float32) float32 { return float32(math.Exp(float64(x))) }

// sigmoid is 1/(1+e^-x).
func sigmoid(x float32) float32 { return float32(1 / (1 + math.Exp(-float64(x)))) }

// silu is x·sigmoid(x). Where e^-x overflows the quotient is 0, for x = -Inf NaN.
func silu(x float32) float32 { return float32(float64(x) / (1 + math.Exp(-float64(x)))) }

// gelu is the tanh form of GELU, by the identity (1+tanh u)/2 = sigmoid(2u).
func gelu(x float32) float32 {
	const twice = 2 * 0.7978845608028654 // 2√(2/π)
	v := float64(x)
	return float32(v / (1 + math.Exp(-twice*(v+0.044715*v*v*v))))
}

func siluGeneric(dst, x unsafe.Pointer, n int) {
	out := floats(dst, n)
	for i, v := range floats(x, n) {
		out[i] = silu(v)
	}
}

func geluGeneric(dst, x unsafe.Pointer, n int) {
	out := floats(dst, n)
	for i, v := range floats(x, n) {
		out[i] = gelu(v)
	}
}

func reluGeneric(dst, x unsafe.Pointer, n int) {
	out := floats(dst, n)
	for i, v := range floats(x, n) {
		out[i] = max(v, 0)
	}
}

func tanhGeneric(dst, x unsafe.Pointer, n int) {
	out := floats(dst, n)
	for i, v := range floats(x, n) {
		out[i] = float32(math.Tanh(float64(v)))
	}
}

func sigmoidGeneric(dst, x unsafe.Pointer, n int) {
	out := floats(dst, n)
	for i, v := range floats(x, n) {
		out[i] = sigmoid(v)
	}
}

func expGeneric(dst, x unsafe.Pointer, n int) {
	out := floats(dst, n)
	for i, v := range floats(x, n) {
		out[i] = exp(v)
	}
}

func negGeneric(dst, x unsafe.Pointer, n int) {
	out := floats(dst, n)
	for i, v := range floats(x, n) {
		out[i] = -v
	}
}

func sqrtGeneric(dst, x unsafe.Pointer, n int) {
	out := floats(dst, n)
	for i, v := range floats(x, n) {
		out[i] = float32(math.Sqrt(float64(v)))
	}
}

func absGeneric(dst, x unsafe.Pointer, n int) {
	out := floats(dst, n)
	for i, v := range floats(x, n) {
		out[i] = math.Float32frombits(math.Float32bits(v) &^ (1 << 31))
	}
}

func logGeneric(dst, x unsafe.Pointer, n int) {
	out := floats(dst, n)
	for i, v := range floats(x, n) {
		out[i] = float32(math.Log(float64(v)))
	}
}

func squareGeneric(dst, x unsafe.Pointer, n int) {
	out := floats(dst, n)
	for i, v := range floats(x, n) {
		out[i] = v * v
	}
}
