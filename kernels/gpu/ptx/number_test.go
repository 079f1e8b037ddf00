package ptx

import (
	"math"
	"testing"
)

// canonical returns x, or of a NaN the one that PTX instructions return (9.7.3).
func canonical(x float32) uint64 {
	if x != x {
		return 0x7fffffff
	}
	return uint64(math.Float32bits(x))
}

func f32of(bits uint64) float32 { return math.Float32frombits(uint32(bits)) }

// oddFMA returns a*b+c rounded to odd in float64: rounding the result once more to a format with few enough digits gives a*b+c
// rounded once. The product of two f32 is exact.
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

func TestHelpersRoundF16(t *testing.T) {
	for bits := range uint64(1 << 16) {
		x := f16value(bits)
		if got := f16bits(x); got != bits && x == x {
			t.Fatalf("%#x is %v and becomes %#x", bits, x, got)
		}
		next := f16value(bits + 1)
		if bits&0x7fff >= 0x7bff || x != x {
			continue
		}
		// Halfway to the next one is even; a little more or less is the closer one.
		mid := (x + next) / 2
		if got := f16bits(mid); got != bits+bits&1 {
			t.Fatalf("halfway from %#x becomes %#x", bits, got)
		}
		if below, above := f16bits(mid+(x-mid)*1e-6), f16bits(mid+(next-mid)*1e-6); below != bits || above != bits+1 {
			t.Fatalf("near halfway from %#x: %#x, %#x", bits, below, above)
		}
	}
}

func TestHelpersRoundFMAOnce(t *testing.T) {
	// 1 + 2^-24 is halfway between two f32; 2^-70 more is not.
	if got := float32(oddFMA(1+0x1p-12, 1+0x1p-12, -0x1p-11+0x1p-24)); got != 1+0x1p-23 {
		t.Errorf("got %x", got)
	}
	if got := float32(oddFMA(0x1p-40, 0x1p-40, 1+0x1p-24)); got != 1+0x1p-23 {
		t.Errorf("got %x", got)
	}
	if got := float32(oddFMA(-0x1p-40, 0x1p-40, 1+0x1p-24)); got != 1 {
		t.Errorf("got %x", got)
	}
}
