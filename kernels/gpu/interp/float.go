package interp

import (
	"math"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Values are kept as bits in the low end of a word, the others 0.

func f32(bits uint64) float32 { return math.Float32frombits(uint32(bits)) }

func ofF32(x float32) uint64 { return uint64(math.Float32bits(x)) }

func f16(bits uint64) float64 { return float64(dtype.F16ToF32(uint16(bits))) }

// ofF16 rounds once.
func ofF16(x float64) uint64 { return uint64(dtype.F32ToF16(toOdd32(x))) }

// ofBF16 rounds once.
func ofBF16(x float64) uint64 { return uint64(dtype.F32ToBF16(toOdd32(x))) }

// toOdd32 rounds to a float32, to the neighbour with an odd last bit if x is between two. Rounded to odd, a number
// keeps which side of the middle it is on. So it rounds to a type with at least two bits fewer as x itself does (Boldo
// and Melquiond, Emulation of FMA and correctly rounded sums, 2008).
func toOdd32(x float64) float32 {
	y := float32(x)
	if float64(y) == x || x != x || math.Float32bits(y)&1 == 1 || math.IsInf(float64(y), 0) {
		return y
	}
	return math.Nextafter32(y, towards(float64(y), x))
}

// towards returns the infinity that is on x's side of y.
func towards(y, x float64) float32 { return float32(math.Inf(int(math.Copysign(1, x-y)))) }

// sumToOdd returns x + y rounded to odd; see toOdd32.
func sumToOdd(x, y float64) float64 {
	s := x + y
	// The error of a sum is exact (Knuth, TAOCP 2, 4.2.2).
	x1 := s - y
	err := (x - x1) + (y - (s - x1))
	if err == 0 || err != err || math.Float64bits(s)&1 == 1 {
		return s
	}
	return math.Nextafter(s, math.Inf(int(math.Copysign(1, err))))
}

// fma32 returns a*b + c, rounded once. The product of two float32 is exact as a float64; the sum is rounded to odd, so
// that the second rounding is as of the exact sum.
func fma32(a, b, c float32) float32 {
	return float32(sumToOdd(float64(float64(a)*float64(b)), float64(c)))
}

// fma16 is fma32 for f16.
func fma16(a, b, c float64) float64 { return sumToOdd(float64(a*b), c) }

// flushed returns 0 with the sign of x for a denormal f32.
func flushed(bits uint64) uint64 {
	if bits&0x7f800000 == 0 {
		return bits & 0x80000000
	}
	return bits
}

// minimum and maximum return the number if the other is NaN; see OpMin.
func minimum(a, b float32) float32 {
	switch {
	case a != a || b < a:
		return b
	case a == b: // -0, if one is
		return math.Float32frombits(math.Float32bits(a) | math.Float32bits(b))
	}
	return a
}

func maximum(a, b float32) float32 {
	switch {
	case a != a || b > a:
		return b
	case a == b: // +0, if one is
		return math.Float32frombits(math.Float32bits(a) & math.Float32bits(b))
	}
	return a
}
