package dtype

import "fmt"

// superLen is the number of elements in a block of the K formats.
const superLen = 256

// codecQ6_K is ggml's block_q6_K (ggml-common.h), 210 bytes:
//
//	  0  [128]uint8  ql, the low four bits of the elements
//	128  [64]uint8   qh, their upper two bits
//	192  [16]int8    scales, one for 16 elements each
//	208  f16         d, the scale of the scales
//
// The block is two halves of 128 elements, each with 64 bytes of ql, 32 of qh and 8 scales. In a half,
// element 32*k+l (k 0 to 3, l 0 to 31) has the low bits from nibble k/2 (low, high) of ql[32*(k%2)+l]
// and the upper bits from bit pair k of qh[l]. Its value is d * scales[2*k+l/16] * (bits-32). There is
// no quantizer: ggmlc only reads the format.
var codecQ6_K = codec{
	decode: func(dst []float64, src []byte) {
		d := float64(F16ToF32(le.Uint16(src[208:])))
		for half := range 2 {
			ql, qh, scales := src[64*half:], src[128+32*half:], src[192+8*half:]
			for i := range superLen / 2 {
				k, l := i/32, i%32
				bits := ql[32*(k%2)+l]>>(4*(k/2))&15 | qh[l]>>(2*k)&3<<4
				scale := float64(int8(scales[2*k+l/16]))
				dst[superLen/2*half+i] = d * scale * float64(int(bits)-32)
			}
		}
	},
	encode: func([]byte, []float32) error {
		return fmt.Errorf("there is no quantizer for q6_K")
	},
}

// ScaleOffset returns the offset of the f16 scale in a block of d; -1 if the format has none.
func (d DType) ScaleOffset() int {
	switch d {
	case Q8_0, Q4_0:
		return 0
	case Q6_K:
		return 208
	}
	return -1
}
