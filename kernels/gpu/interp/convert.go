package interp

import (
	"fmt"
	"math"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// conversion returns the operation that converts a number, and its check; nil if every number fits. Of integers to
// smaller ones the low bits remain.
func conversion(from, to kir.Kind) (lane, check) {
	switch {
	case isFloat(from) && isFloat(to):
		return func(a, _, _ uint64) uint64 { return ofFloat(to, toFloat(from, a)) }, nil
	case isFloat(to):
		return func(a, _, _ uint64) uint64 { return ofFloat(to, float64(intToF32(from, a))) }, nil
	case isFloat(from):
		return func(a, _, _ uint64) uint64 { return floatToInt(to, toFloat(from, a)) }, func(a, _ uint64) string {
			if x := toFloat(from, a); !fits(to, x) {
				return fmt.Sprintf("%v is no %v", x, to)
			}
			return ""
		}
	}
	return func(a, _, _ uint64) uint64 { return low(to, extended(from, a)) }, nil
}

func isFloat(k kir.Kind) bool { return k == kir.F32 || k == kir.F16 || k == kir.BF16 }

func isSigned(k kir.Kind) bool { return k == kir.I32 || k == kir.I8 }

// low returns the low bits that a k has.
func low(k kir.Kind, x uint64) uint64 { return x << (64 - 8*k.Bytes()) >> (64 - 8*k.Bytes()) }

// extended returns an integer as 64 bits, with the sign if it has one.
func extended(k kir.Kind, a uint64) uint64 {
	if !isSigned(k) {
		return a
	}
	unused := 64 - 8*k.Bytes()
	return uint64(int64(a<<unused) >> unused)
}

// intToF32 returns the nearest f32. An f16 or bf16 is made from it.
func intToF32(k kir.Kind, a uint64) float32 {
	if isSigned(k) {
		return float32(int64(extended(k, a)))
	}
	return float32(a)
}

// fits reports whether x, rounded toward 0, is a k.
func fits(k kir.Kind, x float64) bool {
	width := 8 * k.Bytes()
	from, end := 0.0, math.Ldexp(1, width)
	if isSigned(k) {
		from, end = -end/2, end/2
	}
	t := math.Trunc(x)
	return t >= from && t < end
}

// floatToInt rounds toward 0.
func floatToInt(k kir.Kind, x float64) uint64 {
	if isSigned(k) {
		return low(k, uint64(int64(x)))
	}
	return uint64(x)
}

func toFloat(k kir.Kind, a uint64) float64 {
	switch k {
	case kir.F16:
		return f16(a)
	case kir.BF16:
		return float64(f32(a << 16))
	}
	return float64(f32(a))
}

func ofFloat(k kir.Kind, x float64) uint64 {
	switch k {
	case kir.F16:
		return ofF16(x)
	case kir.BF16:
		return ofBF16(x)
	}
	return ofF32(float32(x))
}
