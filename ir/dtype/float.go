package dtype

import "math"

// F16ToF32 converts an IEEE 754 binary16 to the float32 of equal value. Signalling NaNs
// become quiet ones with the same payload, as the processor's own conversion does.
func F16ToF32(h uint16) float32 {
	const (
		infinity = 0x7c00 << 13 // exponent 31, moved to a float32's place
		rebias   = 0x1p112      // 2^(127-15): the difference of the exponents' biases
	)
	sign := uint32(h&0x8000) << 16
	em := uint32(h&0x7fff) << 13
	if em >= infinity {
		if em > infinity {
			em |= 1 << 22
		}
		return math.Float32frombits(sign | 0x7f800000 | em)
	}
	// Read as a float32, em is too small by 2^112, normal or not. The product is exact.
	abs := math.Float32frombits(em) * rebias
	return math.Float32frombits(sign | math.Float32bits(abs))
}

// F32ToF16 rounds to the nearest binary16, ties to even; what rounds beyond the largest
// finite one becomes infinity. NaNs stay NaNs, quiet, with the upper bits of their payload.
func F32ToF16(f float32) uint16 {
	const (
		overflow  = 0x477ff000 // 65520: half way between 65504 and 2^16; ties go up here
		minNormal = 0x38800000 // 2^-14
	)
	b := math.Float32bits(f)
	sign := uint16(b >> 16 & 0x8000)
	abs := b & 0x7fffffff
	switch {
	case abs > 0x7f800000:
		return sign | 0x7e00 | uint16(abs>>13&0x3ff)
	case abs >= overflow:
		return sign | 0x7c00
	case abs < minNormal:
		// The unit in the last place of 0.5 is 2^-24, as that of a subnormal binary16:
		// the addition rounds where it must, and the sum's low bits are the result.
		sum := math.Float32frombits(abs) + 0.5
		return sign | uint16(math.Float32bits(sum)-math.Float32bits(0.5))
	default:
		const rebias = (127 - 15) << 23
		odd := abs >> 13 & 1
		return sign | uint16((abs-rebias+0xfff+odd)>>13)
	}
}

// BF16ToF32 converts a bfloat16, which is the upper half of a float32.
func BF16ToF32(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// F32ToBF16 rounds to the nearest bfloat16, ties to even; what rounds beyond the largest
// finite one becomes infinity. NaNs stay NaNs, quiet, with the upper bits of their payload.
func F32ToBF16(f float32) uint16 {
	b := math.Float32bits(f)
	if b&0x7fffffff > 0x7f800000 {
		return uint16(b>>16) | 0x40
	}
	odd := b >> 16 & 1
	return uint16((b + 0x7fff + odd) >> 16)
}
