package dtype

import (
	"fmt"
	"math/bits"
)

// Formats that are only read. No kernel multiplies with them: weights are expanded when a program is compiled, to a
// format with a scheme that has the same values (Expand). Their layouts are those of the structs in ggml's
// ggml-common.h; the meaning of their bits follows from the functions dequantize_row_* in ggml-quants.c.

// expansion is how a format is expanded: split reads a block as the fields of one of to.
type expansion struct {
	to    DType
	split func(f *Fields, src []byte)
}

// expansions is keyed by DType.
var expansions = [NumDTypes]expansion{
	IQ1_S:   {IQ2X, splitIQ1_S},
	IQ1_M:   {IQ2X16, splitIQ1_M},
	IQ2_XXS: {IQ2X, splitIQ2_XXS},
	IQ2_XS:  {IQ2X16, splitIQ2_XS},
	IQ2_S:   {IQ2X16, splitIQ2_S},
	IQ3_XXS: {IQ3X, splitIQ3_XXS},
	IQ3_S:   {IQ3SX, splitIQ3_S},
	TQ1_0:   {Q2_K, splitTQ1_0},
	TQ2_0:   {Q2_K, splitTQ2_0},
}

// Expansion returns the format to which Expand converts weights of d, or Invalid if kernels read d itself.
func (d DType) Expansion() DType {
	if !d.Valid() {
		return Invalid
	}
	return expansions[d].to
}

// IsExpansion reports whether d exists only to hold what other formats are expanded to.
func (d DType) IsExpansion() bool { return d >= IQ2X && d <= IQ3SX }

// Expand converts blocks of d to blocks of its expansion, which have the same values: nothing is rounded.
func Expand(d DType, dst, src []byte) error {
	to := d.Expansion()
	if to == Invalid {
		return fmt.Errorf("%v is not expanded", d)
	}
	n := len(src) / d.BlockBytes() * d.BlockElems()
	if err := checkLengths(d, n, len(src)); err != nil {
		return err
	}
	if err := checkLengths(to, n, len(dst)); err != nil {
		return err
	}
	var f Fields
	for len(src) > 0 {
		expansions[d].split(&f, src[:d.BlockBytes()])
		schemes[to].join(dst[:to.BlockBytes()], &f)
		dst, src = dst[to.BlockBytes():], src[d.BlockBytes():]
	}
	return nil
}

// expandedCodec is the codec of a format that is only read.
func expandedCodec(d DType) codec {
	e := expansions[d]
	return codec{
		decode: func(dst []float64, src []byte) {
			var f Fields
			e.split(&f, src)
			schemes[e.to].Elements(dst, &f)
		},
		encode: func([]byte, []float32) error {
			return fmt.Errorf("%v is only read: convert to another format, such as q4_k", d)
		},
	}
}

// The codes of IQ2X, IQ3X and IQ3SX: a magnitude in three bits, and the sign. See valuesIQ2.
const minusCode = 8

// plusMinus sets elements of q to codes whose signs are the bits of signs.
func plusMinus(q []uint8, signs uint8) {
	for i := range q {
		q[i] |= signs >> i & 1 * minusCode
	}
}

// evenSigns returns the signs of eight elements, of which seven are stored: ggml's ksigns_iq2xs. Their number is even.
func evenSigns(stored uint32) uint8 {
	s := uint8(stored & 127)
	return s | uint8(bits.OnesCount8(s)&1)<<7
}

// eight sets eight elements of q to entry i of a grid of pairs.
func eight(q []uint8, grid string, i int) {
	for j, c := range []byte(grid[gridDigits*i:][:gridDigits]) {
		q[2*j], q[2*j+1] = (c-'0')%3, (c-'0')/3
	}
}

// four sets four elements of q to entry i of a grid of single values.
func four(q []uint8, grid string, i int) {
	for j, c := range []byte(grid[gridDigits*i:][:gridDigits]) {
		q[j] = c - '0'
	}
}

// oddScale returns the scale that four or three bits encode: 1, 3, 5 and so on.
func oddScale(b byte) int8 { return int8(2*b + 1) }

// splitIQ2_XXS reads block_iq2_xxs, 66 bytes: f16 d, then for each 32 elements
//
//	0  [4]uint8  of each eight elements the index in the grid
//	4  uint32    of each eight elements seven signs, then the scale in the upper 4 bits
//
// An element is d·(2·scale+1)/8 times a magnitude.
func splitIQ2_XXS(f *Fields, src []byte) {
	f.D = le.Uint16(src)
	for p := range superLen / subLen {
		part := src[2+8*p:][:8]
		word := le.Uint32(part[4:])
		f.Scale[p] = oddScale(byte(word >> 28))
		for l, i := range part[:4] {
			q := f.Q[subLen*p+8*l:][:8]
			eight(q, gridIQ2XXS, int(i))
			plusMinus(q, evenSigns(word>>(7*l)))
		}
	}
}

// splitIQ2_XS reads block_iq2_xs, 74 bytes:
//
//	 0  f16 d
//	 2  [32]uint16  of each eight elements the index in the grid in 9 bits, then seven signs
//	66  [8]uint8    the scales of 16 groups, the first of each two in the low half
func splitIQ2_XS(f *Fields, src []byte) {
	f.D = le.Uint16(src)
	splitHalfScales(f, src[66:])
	for l := range superLen / 8 {
		w, q := le.Uint16(src[2+2*l:]), f.Q[8*l:][:8]
		eight(q, gridIQ2XS, int(w&511))
		plusMinus(q, evenSigns(uint32(w>>9)))
	}
}

// splitHalfScales reads scales of four bits.
func splitHalfScales(f *Fields, src []byte) {
	for i, b := range src[:8] {
		f.Scale[2*i], f.Scale[2*i+1] = oddScale(b&15), oddScale(b>>4)
	}
}

// splitIQ2_S reads block_iq2_s, 82 bytes:
//
//	 0  f16 d
//	 2  [32]uint8  of each eight elements the lower 8 bits of the index in the grid
//	34  [32]uint8  of each eight elements the signs
//	66  [8]uint8   of each 32 elements the upper two bits of four indices
//	74  [8]uint8   the scales, as in block_iq2_xs
func splitIQ2_S(f *Fields, src []byte) {
	f.D = le.Uint16(src)
	splitHalfScales(f, src[74:])
	for l := range superLen / 8 {
		q, high := f.Q[8*l:][:8], src[66+l/4]>>(2*(l%4))&3
		eight(q, gridIQ2S, int(src[2+l])|int(high)<<8)
		plusMinus(q, src[34+l])
	}
}

// splitIQ3_XXS reads block_iq3_xxs, 98 bytes:
//
//	 0  f16 d
//	 2  [64]uint8  of each four elements the index in the grid
//	66  [8]uint32  of each 32 elements signs and scale, as in block_iq2_xxs
//
// An element is d·(2·scale+1)/4 times a magnitude.
func splitIQ3_XXS(f *Fields, src []byte) {
	f.D = le.Uint16(src)
	for l, i := range src[2:66] {
		four(f.Q[4*l:][:4], gridIQ3XXS, int(i))
	}
	for p := range superLen / subLen {
		word := le.Uint32(src[66+4*p:])
		f.Scale[p] = oddScale(byte(word >> 28))
		for l := range 4 {
			plusMinus(f.Q[subLen*p+8*l:][:8], evenSigns(word>>(7*l)))
		}
	}
}

// splitIQ3_S reads block_iq3_s, 110 bytes:
//
//	  0  f16 d
//	  2  [64]uint8  of each four elements the lower 8 bits of the index in the grid
//	 66  [8]uint8   of each 32 elements the ninth bits of eight indices
//	 74  [32]uint8  of each eight elements the signs
//	106  [4]uint8   the scales of 8 groups, the first of each two in the low half
//
// An element is d·(2·scale+1) times a magnitude.
func splitIQ3_S(f *Fields, src []byte) {
	f.D = le.Uint16(src)
	for l, i := range src[2:66] {
		high := src[66+l/8] >> (l % 8) & 1
		four(f.Q[4*l:][:4], gridIQ3S, int(i)|int(high)<<8)
	}
	for l, signs := range src[74:106] {
		plusMinus(f.Q[8*l:][:8], signs)
	}
	for i, b := range src[106:110] {
		f.Scale[2*i], f.Scale[2*i+1] = oddScale(b&15), oddScale(b>>4)
	}
}

// codesIQ1 are the codes of 8·v+1 and of 8·v-1 for v of -1, 0 and 1.
var codesIQ1 = [2][3]uint8{{4 | minusCode, 3, 5}, {5 | minusCode, 3 | minusCode, 4}}

// splitIQ1_S reads block_iq1_s, 50 bytes:
//
//	 0  f16 d
//	 2  [32]uint8  of each eight elements the lower 8 bits of the index in the grid
//	34  [8]uint16  of each 32 elements the upper three bits of four indices, the scale in three bits, and what is
//	               added to all values: 1/8, or if the bit is set -1/8
//
// An element is d·(2·scale+1) times its value.
func splitIQ1_S(f *Fields, src []byte) {
	f.D = le.Uint16(src)
	for p := range superLen / subLen {
		word := le.Uint16(src[34+2*p:])
		f.Scale[p] = oddScale(byte(word >> 12 & 7))
		for l := range 4 {
			i := int(src[2+4*p+l]) | int(word>>(3*l)&7)<<8
			eightIQ1(f.Q[subLen*p+8*l:][:8], i, byte(word>>15))
		}
	}
}

// eightIQ1 sets eight elements to an entry of the grid plus an eighth, or if less is 1 minus an eighth.
func eightIQ1(q []uint8, i int, less byte) {
	eight(q, gridIQ1, i)
	for j, v := range q {
		q[j] = codesIQ1[less][v]
	}
}

// splitIQ1_M reads block_iq1_m, 56 bytes:
//
//	 0  [32]uint8  of each eight elements the lower 8 bits of the index in the grid
//	32  [16]uint8  of each eight elements 4 bits: the upper three bits of the index, and what is added, as in
//	               block_iq1_s
//	48  [4]uint16  of each 64 elements the scales of four groups in three bits each, and of d four bits, the lowest first
func splitIQ1_M(f *Fields, src []byte) {
	f.D = 0
	for i := range 4 {
		word := le.Uint16(src[48+2*i:])
		f.D |= word >> 12 << (4 * i)
		for j := range 4 {
			f.Scale[4*i+j] = oddScale(byte(word >> (3 * j) & 7))
		}
	}
	for l := range superLen / 8 {
		high := src[32+l/2] >> (4 * (l % 2)) & 15
		eightIQ1(f.Q[8*l:][:8], int(src[l])|int(high&7)<<8, high>>3)
	}
}

// ternary makes f a block of Q2_K with elements d·(q - 1).
func ternary(f *Fields, d uint16) {
	f.D, f.M = d, d
	for g := range f.Scale {
		f.Scale[g], f.Min[g] = 1, 1
	}
}

// splitTQ1_0 reads block_tq1_0, 54 bytes:
//
//	 0  [48]uint8  five elements in each byte: 32 bytes have elements 32·n+j, 16 bytes elements 160+16·n+j
//	48  [4]uint8   four elements in each byte: elements 240+4·n+j
//	52  f16 d
//
// Element n of a byte is its digit n after the point, if the byte is read as a fraction of 256 with base 3. An element
// is d·(digit - 1).
func splitTQ1_0(f *Fields, src []byte) {
	ternary(f, le.Uint16(src[52:]))
	digits(f.Q[:160], src[:32], 5)
	digits(f.Q[160:240], src[32:48], 5)
	digits(f.Q[240:], src[48:52], 4)
}

// digits sets q to the first n digits of each byte.
func digits(q, src []byte, n int) {
	for j, b := range src {
		for i := range n {
			q[i*len(src)+j] = uint8(uint16(b) * 3 >> 8)
			b *= 3
		}
	}
}

// splitTQ2_0 reads block_tq2_0, 66 bytes: bit pairs in 64 bytes, f16 d. An element is d·(pair - 1).
func splitTQ2_0(f *Fields, src []byte) {
	splitPairs(f.Q[:], src)
	ternary(f, le.Uint16(src[64:]))
}

// splitIQX reads a block of a format that holds expanded elements: f16 d, an int8 scale for each group, and for each 32
// elements 16 bytes of nibbles.
func splitIQX(groups int) func(f *Fields, src []byte) {
	return func(f *Fields, src []byte) {
		f.D = le.Uint16(src)
		for g := range groups {
			f.Scale[g] = int8(src[2+g])
		}
		for p := range superLen / subLen {
			splitNibbles(f.Q[subLen*p:], src[2+groups+subLen/2*p:])
		}
	}
}

func joinIQX(groups int) func(dst []byte, f *Fields) {
	return func(dst []byte, f *Fields) {
		le.PutUint16(dst, f.D)
		for g := range groups {
			dst[2+g] = byte(f.Scale[g])
		}
		for p := range superLen / subLen {
			joinNibbles(dst[2+groups+subLen/2*p:], f.Q[subLen*p:])
		}
	}
}
