package ptx

import "math"

// canonical returns x, or of a NaN the one that PTX instructions return (9.7.3).
func canonical(x float32) uint64 {
	if x != x {
		return 0x7fffffff
	}
	return uint64(math.Float32bits(x))
}

func f32of(bits uint64) float32 { return math.Float32frombits(uint32(bits)) }

// oddFMA returns a*b+c rounded to odd in float64: rounding the result once more to a format with few enough digits
// gives a*b+c rounded once. The product of two f32 is exact.
func oddFMA(a, b, c float64) float64 {
	p := a * b
	s := p + c
	if math.IsInf(s, 0) || s != s {
		return s
	}
	back := s - p
	err := (p - (s - back)) + (c - back)
	if bits := math.Float64bits(s); err != 0 && bits&1 == 0 {
		if (err > 0) == (s > 0) {
			return math.Float64frombits(bits + 1)
		}
		return math.Float64frombits(bits - 1)
	}
	return s
}

// f16bits rounds to the closest f16, f16value returns the number.
func f16bits(x float64) uint64 {
	sign := math.Float64bits(x) >> 63 << 15
	a := math.Abs(x)
	switch {
	case a != a:
		return 0x7fff
	case a >= 65520:
		return sign | 0x7c00
	case a < 0x1p-14:
		return sign | uint64(math.RoundToEven(a*0x1p24))
	}
	fraction, exponent := math.Frexp(a) // fraction from 1/2
	return sign | uint64(exponent+13)<<10 + uint64(math.RoundToEven(fraction*2048))
}

func f16value(bits uint64) float64 {
	x := float64(bits & 0x3ff)
	switch exponent := bits >> 10 & 31; exponent {
	case 0:
		x *= 0x1p-24
	case 31:
		x = math.Inf(1)
		if bits&0x3ff != 0 {
			return math.NaN()
		}
	default:
		x = (x + 1024) * math.Ldexp(1, int(exponent)-25)
	}
	if bits>>15 != 0 {
		return -x
	}
	return x
}
