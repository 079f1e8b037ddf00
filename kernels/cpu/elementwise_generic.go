package cpu

import "unsafe"

var genericBinary = [numBinary]rowBinary{
	binaryAdd:    addGeneric,
	binarySub:    subGeneric,
	binaryMul:    mulGeneric,
	binaryDiv:    divGeneric,
	binaryMax:    maxGeneric,
	binaryMin:    minGeneric,
	binarySwiGLU: swigluGeneric,
}

func addGeneric(dst, a, b unsafe.Pointer, n int) {
	out, y := floats(dst, n), floats(b, n)
	for i, v := range floats(a, n) {
		out[i] = v + y[i]
	}
}

func subGeneric(dst, a, b unsafe.Pointer, n int) {
	out, y := floats(dst, n), floats(b, n)
	for i, v := range floats(a, n) {
		out[i] = v - y[i]
	}
}

func mulGeneric(dst, a, b unsafe.Pointer, n int) {
	out, y := floats(dst, n), floats(b, n)
	for i, v := range floats(a, n) {
		out[i] = v * y[i]
	}
}

func divGeneric(dst, a, b unsafe.Pointer, n int) {
	out, y := floats(dst, n), floats(b, n)
	for i, v := range floats(a, n) {
		out[i] = v / y[i]
	}
}

func maxGeneric(dst, a, b unsafe.Pointer, n int) {
	out, y := floats(dst, n), floats(b, n)
	for i, v := range floats(a, n) {
		out[i] = max(v, y[i])
	}
}

func minGeneric(dst, a, b unsafe.Pointer, n int) {
	out, y := floats(dst, n), floats(b, n)
	for i, v := range floats(a, n) {
		out[i] = min(v, y[i])
	}
}

func swigluGeneric(dst, a, b unsafe.Pointer, n int) {
	out, y := floats(dst, n), floats(b, n)
	for i, v := range floats(a, n) {
		out[i] = silu(v) * y[i]
	}
}

func scaleGeneric(dst, x unsafe.Pointer, n int, scale, bias float32) {
	out := floats(dst, n)
	for i, v := range floats(x, n) {
		out[i] = float32(v*scale) + bias
	}
}

func blendGeneric(dst, x unsafe.Pointer, n int, keep, add float32) {
	out := floats(dst, n)
	for i, v := range floats(x, n) {
		out[i] = float32(out[i]*keep) + float32(v*add)
	}
}
