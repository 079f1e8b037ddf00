package dtype

import "math"

// blockLen is the number of elements in a block of Q8_0, Q4_0 and Q8A.
const blockLen = 32

// codecQ8_0 is ggml's block_q8_0 (ggml-common.h), 34 bytes:
//
//	0  f16       d, the scale
//	2  [32]int8  q
//
// Element i is d*q[i]. The quantizer is ggml's quantize_row_q8_0_ref (ggml-quants.c): in
// float32, d = max|x|/127 and q = x*(1/d) rounded to nearest, ties away from zero; d is
// rounded to float16 only when stored. A block of zeros has d = 0 and q = 0.
var codecQ8_0 = codec{
	decode: func(dst []float64, src []byte) {
		d := float64(F16ToF32(le.Uint16(src)))
		for i, q := range src[2:] {
			dst[i] = d * float64(int8(q))
		}
	},
	encode: func(dst []byte, src []float32) error {
		extreme, err := largest(src)
		if err != nil {
			return err
		}
		d, err := halfScale(src, extreme, abs32(extreme)/127)
		if err != nil {
			return err
		}
		le.PutUint16(dst, F32ToF16(d))
		quantize8(dst[2:], src, d)
		return nil
	},
}

// codecQ4_0 is ggml's block_q4_0 (ggml-common.h), 18 bytes:
//
//	0  f16        d, the scale
//	2  [16]uint8  qs: the low nibble of qs[j] is element j, the high one element j+16
//
// An element is d*(nibble-8). The quantizer is ggml's quantize_row_q4_0_ref
// (ggml-quants.c): in float32, m is the first element with the largest magnitude,
// d = m/-8, and the nibble is x*(1/d)+8.5 truncated, at most 15. So m becomes nibble 0
// and d may be negative; a block of zeros has d = -0 and nibbles 8.
var codecQ4_0 = codec{
	decode: func(dst []float64, src []byte) {
		d := float64(F16ToF32(le.Uint16(src)))
		for j, q := range src[2:] {
			dst[j] = d * float64(int(q&15)-8)
			dst[j+blockLen/2] = d * float64(int(q>>4)-8)
		}
	},
	encode: func(dst []byte, src []float32) error {
		extreme, err := largest(src)
		if err != nil {
			return err
		}
		d, err := halfScale(src, extreme, extreme/-8)
		if err != nil {
			return err
		}
		le.PutUint16(dst, F32ToF16(d))
		id := inverse(d)
		for j := range blockLen / 2 {
			dst[2+j] = nibble(src[j], id) | nibble(src[j+blockLen/2], id)<<4
		}
		return nil
	},
}

// q8aStart is 1.5·2^23. Between 2^23 and 2^24 the last bit of a float32 has the value 1, so that adding
// an integer to its bits adds it to its value.
const q8aStart = 3 << 22

// codecQ8A is this project's format for quantized activations, 48 bytes:
//
//	 0  [32]int8  q
//	32  f32       d, the scale
//	36  f32       1.5·2^23 - 8·sum of the 32 q
//	40  f32       1.5·2^23 - 128·sum of the 32 q
//	44  [4]byte   zero
//
// Element i is d*q[i], with d and q as for Q8_0, except that d keeps its 32 bits: activations are not
// stored in files, so that rounding would save nothing. No q is -128, for which kernels may be wrong. The next two fields are for weights that are
// stored with an offset of 8 or 128. A kernel adds the integer products to the bits of the field. The
// result has the bits of a float32 whose value is 1.5·2^23 above the sum of the products with the
// weights without the offset.
var codecQ8A = codec{
	decode: func(dst []float64, src []byte) {
		d := float64(math.Float32frombits(le.Uint32(src[blockLen:])))
		for i, q := range src[:blockLen] {
			dst[i] = d * float64(int8(q))
		}
	},
	encode: func(dst []byte, src []float32) error {
		extreme, err := largest(src)
		if err != nil {
			return err
		}
		d := abs32(extreme) / 127
		sum := quantize8(dst[:blockLen], src, d)
		le.PutUint32(dst[blockLen:], math.Float32bits(d))
		le.PutUint32(dst[blockLen+4:], math.Float32bits(q8aStart-8*float32(sum)))
		le.PutUint32(dst[blockLen+8:], math.Float32bits(q8aStart-128*float32(sum)))
		le.PutUint32(dst[blockLen+12:], 0)
		return nil
	},
}

// codecQ8A_K is this project's format for activations that are multiplied with superblocks, 320 bytes:
//
//	  0  [256]int8  q
//	256  f32        d, the scale
//	260  [12]byte   zero
//	272  [8]int16   sums of 32 q each
//	288  [16]int16  sums of 16 q each
//
// Element i is d*q[i], with d and q as for Q8A, except that 256 elements share d, as in ggml's block_q8_K
// (ggml-common.h). So the products with the elements of a superblock, and with its integer scales, add up as integers,
// and d is a factor of the whole sum. The sums are for weights that are stored with an offset or have mins: those of 32
// q for scales of 32 elements, those of 16 q for scales of 16. The zeros let them begin at a multiple of 16 bytes.
var codecQ8A_K = codec{
	decode: func(dst []float64, src []byte) {
		d := float64(math.Float32frombits(le.Uint32(src[superLen:])))
		for i, q := range src[:superLen] {
			dst[i] = d * float64(int8(q))
		}
	},
	encode: func(dst []byte, src []float32) error {
		extreme, err := largest(src)
		if err != nil {
			return err
		}
		d := abs32(extreme) / 127
		quantize8(dst[:superLen], src, d)
		clear(dst[superLen:])
		le.PutUint32(dst[superLen:], math.Float32bits(d))
		const sums32, sums16 = superLen + 16, superLen + 32
		for i, q := range dst[:superLen] {
			for _, at := range []int{sums32 + i/32*2, sums16 + i/16*2} {
				le.PutUint16(dst[at:], le.Uint16(dst[at:])+uint16(int8(q)))
			}
		}
		return nil
	},
}

// largest returns the first element with the largest magnitude; all must be finite.
func largest(src []float32) (float32, error) {
	var m float32
	for i, x := range src {
		if x-x != 0 { // NaN or infinite
			return 0, &elementError{index: i, value: x, why: "cannot be quantized"}
		}
		if abs32(x) > abs32(m) {
			m = x
		}
	}
	return m, nil
}

// halfScale returns d, which follows from the element of the largest magnitude, if a float16 can hold it as a finite number.
func halfScale(src []float32, extreme, d float32) (float32, error) {
	if F32ToF16(d)&0x7fff < 0x7c00 {
		return d, nil
	}
	return 0, tooLarge(src, extreme, "as the block's scale is a float16")
}

// quantize8 stores x/d rounded to nearest, ties away from zero, and returns the sum.
func quantize8(dst []byte, src []float32, d float32) (sum int32) {
	id := inverse(d)
	for i, x := range src {
		q := int8(math.Round(float64(x * id)))
		dst[i] = byte(q)
		sum += int32(q)
	}
	return sum
}

// inverse returns 1/d, or 0 if that is not finite: for 0, and for very small d. There the reference
// computes 0*Inf; such a d is stored as 0 in a float16, and its block has values that no float32
// product represents.
func inverse(d float32) float32 {
	if id := 1 / d; d != 0 && id-id == 0 {
		return id
	}
	return 0
}

// nibble rounds x*id, in [-8, 8], to its nibble. The conversion keeps product and sum separate: a fused
// operation would have another result than the reference.
func nibble(x, id float32) byte { return min(15, byte(float32(x*id)+8.5)) }

// abs32 returns the magnitude of x.
func abs32(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }
