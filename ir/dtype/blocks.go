package dtype

// This file reads and writes the fields of block formats with a scheme. Their layouts are those of the structs in
// ggml's ggml-common.h; how bits are arranged in them follows from the functions dequantize_row_* in ggml-quants.c.

// splitNibbles reads blocks of 32: the low half of byte j is element j, the high one element j+16.
func splitNibbles(q, src []byte) {
	for j, b := range src[:blockLen/2] {
		q[j], q[j+blockLen/2] = b&15, b>>4
	}
}

func joinNibbles(dst, q []byte) {
	for j := range blockLen / 2 {
		dst[j] = q[j]&15 | q[j+blockLen/2]&15<<4
	}
}

// splitFifth adds bit i of a word as the fifth bit of element i.
func splitFifth(q, src []byte) {
	bits := le.Uint32(src)
	for i := range blockLen {
		q[i] |= byte(bits>>i&1) << 4
	}
}

func joinFifth(dst, q []byte) {
	var bits uint32
	for i := range blockLen {
		bits |= uint32(q[i]>>4&1) << i
	}
	le.PutUint32(dst, bits)
}

// signBit is that of a float16. A block of Q4_1 or Q5_1 stores what is added, Fields.M what is subtracted.
const signBit = 0x8000

// splitQ4_1 reads block_q4_1, 20 bytes: f16 d, f16 m, 16 bytes of nibbles.
func splitQ4_1(f *Fields, src []byte) {
	f.D, f.M = le.Uint16(src), le.Uint16(src[2:])^signBit
	splitNibbles(f.Q[:], src[4:])
}

func joinQ4_1(dst []byte, f *Fields) {
	le.PutUint16(dst, f.D)
	le.PutUint16(dst[2:], f.M^signBit)
	joinNibbles(dst[4:], f.Q[:])
}

// splitQ5_0 reads block_q5_0, 22 bytes: f16 d, 4 bytes of fifth bits, 16 bytes of nibbles.
func splitQ5_0(f *Fields, src []byte) {
	f.D = le.Uint16(src)
	splitNibbles(f.Q[:], src[6:])
	splitFifth(f.Q[:], src[2:])
}

func joinQ5_0(dst []byte, f *Fields) {
	le.PutUint16(dst, f.D)
	joinFifth(dst[2:], f.Q[:])
	joinNibbles(dst[6:], f.Q[:])
}

// splitQ5_1 reads block_q5_1, 24 bytes: f16 d, f16 m, 4 bytes of fifth bits, 16 bytes of nibbles.
func splitQ5_1(f *Fields, src []byte) {
	f.D, f.M = le.Uint16(src), le.Uint16(src[2:])^signBit
	splitNibbles(f.Q[:], src[8:])
	splitFifth(f.Q[:], src[4:])
}

func joinQ5_1(dst []byte, f *Fields) {
	le.PutUint16(dst, f.D)
	le.PutUint16(dst[2:], f.M^signBit)
	joinFifth(dst[4:], f.Q[:])
	joinNibbles(dst[8:], f.Q[:])
}

// splitPairs reads bit pairs: those of elements 128*h+32*k+l are pair k of byte 32*h+l.
func splitPairs(q, src []byte) {
	for i := range superLen {
		h, k, l := i/128, i/32%4, i%32
		q[i] = src[32*h+l] >> (2 * k) & 3
	}
}

func joinPairs(dst, q []byte) {
	clear(dst[:superLen/4])
	for i := range superLen {
		h, k, l := i/128, i/32%4, i%32
		dst[32*h+l] |= q[i] & 3 << (2 * k)
	}
}

// splitQ2_K reads block_q2_K, 84 bytes:
//
//	 0  [16]uint8  of each group the scale in the low half and the min in the high one
//	16  [64]uint8  bit pairs
//	80  f16 d, f16 dmin
func splitQ2_K(f *Fields, src []byte) {
	for g, b := range src[:16] {
		f.Scale[g], f.Min[g] = int8(b&15), int8(b>>4)
	}
	splitPairs(f.Q[:], src[16:])
	f.D, f.M = le.Uint16(src[80:]), le.Uint16(src[82:])
}

func joinQ2_K(dst []byte, f *Fields) {
	for g := range 16 {
		dst[g] = byte(f.Scale[g])&15 | byte(f.Min[g])<<4
	}
	joinPairs(dst[16:], f.Q[:])
	le.PutUint16(dst[80:], f.D)
	le.PutUint16(dst[82:], f.M)
}

// splitQ3_K reads block_q3_K, 110 bytes:
//
//	  0  [32]uint8  bit i/32 of byte i%32 is the third bit of element i
//	 32  [64]uint8  bit pairs
//	 96  [12]uint8  scales plus 32: their low halves in 8 bytes, 0 to 7 in the low half of each, then 8 to 15
//	                in the high one; their upper pairs in 4 bytes, that of scale g is pair g/4 of byte g%4
//	108  f16 d
func splitQ3_K(f *Fields, src []byte) {
	splitPairs(f.Q[:], src[32:])
	for i := range superLen {
		f.Q[i] |= src[i%32] >> (i / 32) & 1 << 2
	}
	for g := range 16 {
		low, high := src[96+g%8]>>(4*(g/8))&15, src[104+g%4]>>(2*(g/4))&3
		f.Scale[g] = int8(low|high<<4) - 32
	}
	f.D = le.Uint16(src[108:])
}

func joinQ3_K(dst []byte, f *Fields) {
	clear(dst)
	joinPairs(dst[32:], f.Q[:])
	for i := range superLen {
		dst[i%32] |= f.Q[i] >> 2 & 1 << (i / 32)
	}
	for g := range 16 {
		s := byte(f.Scale[g] + 32)
		dst[96+g%8] |= s & 15 << (4 * (g / 8))
		dst[104+g%4] |= s >> 4 & 3 << (2 * (g / 4))
	}
	le.PutUint16(dst[108:], f.D)
}

// splitScales reads the 12 bytes of eight scales and mins of 6 bits. Bytes 0 to 3 have scales 0 to 3, bytes 4 to 7
// mins 0 to 3. Of scale and min 4+j, byte 8+j has the low halves, and bytes j and 4+j have the upper pairs.
func splitScales(f *Fields, src []byte) {
	for j := range 4 {
		f.Scale[j], f.Min[j] = int8(src[j]&63), int8(src[4+j]&63)
		f.Scale[4+j] = int8(src[8+j]&15 | src[j]>>6<<4)
		f.Min[4+j] = int8(src[8+j]>>4 | src[4+j]>>6<<4)
	}
}

func joinScales(dst []byte, f *Fields) {
	for j := range 4 {
		s, m := byte(f.Scale[4+j]), byte(f.Min[4+j])
		dst[j] = byte(f.Scale[j])&63 | s>>4<<6
		dst[4+j] = byte(f.Min[j])&63 | m>>4<<6
		dst[8+j] = s&15 | m<<4
	}
}

// splitHalves reads nibbles: byte 32*h+l has elements 64*h+l and 64*h+32+l.
func splitHalves(q, src []byte) {
	for i := range superLen {
		q[i] = src[i/64*32+i%32] >> (4 * (i / 32 % 2)) & 15
	}
}

func joinHalves(dst, q []byte) {
	for i := range superLen / 2 {
		at := i/32*64 + i%32
		dst[i] = q[at]&15 | q[at+32]&15<<4
	}
}

// splitQ4_K reads block_q4_K, 144 bytes: f16 d, f16 dmin, 12 bytes of scales and mins, 128 bytes of nibbles.
func splitQ4_K(f *Fields, src []byte) {
	f.D, f.M = le.Uint16(src), le.Uint16(src[2:])
	splitScales(f, src[4:])
	splitHalves(f.Q[:], src[16:])
}

func joinQ4_K(dst []byte, f *Fields) {
	le.PutUint16(dst, f.D)
	le.PutUint16(dst[2:], f.M)
	joinScales(dst[4:], f)
	joinHalves(dst[16:], f.Q[:])
}

// splitQ5_K reads block_q5_K, 176 bytes: as block_q4_K, with 32 bytes of fifth bits before the nibbles, of which
// bit i/32 of byte i%32 belongs to element i.
func splitQ5_K(f *Fields, src []byte) {
	f.D, f.M = le.Uint16(src), le.Uint16(src[2:])
	splitScales(f, src[4:])
	splitHalves(f.Q[:], src[48:])
	for i := range superLen {
		f.Q[i] |= src[16+i%32] >> (i / 32) & 1 << 4
	}
}

func joinQ5_K(dst []byte, f *Fields) {
	clear(dst)
	le.PutUint16(dst, f.D)
	le.PutUint16(dst[2:], f.M)
	joinScales(dst[4:], f)
	joinHalves(dst[48:], f.Q[:])
	for i := range superLen {
		dst[16+i%32] |= f.Q[i] >> 4 & 1 << (i / 32)
	}
}

// splitQ6_K reads block_q6_K, 210 bytes:
//
//	  0  [128]uint8  nibbles: element 128*h+32*k+l has nibble k/2 (low, high) of byte 64*h+32*(k%2)+l
//	128  [64]uint8   the upper two bits, as bit pairs
//	192  [16]int8    scales
//	208  f16 d
func splitQ6_K(f *Fields, src []byte) {
	splitPairs(f.Q[:], src[128:])
	for i := range superLen {
		h, k, l := i/128, i/32%4, i%32
		f.Q[i] = f.Q[i]<<4 | src[64*h+32*(k%2)+l]>>(4*(k/2))&15
	}
	for g := range 16 {
		f.Scale[g] = int8(src[192+g])
	}
	f.D = le.Uint16(src[208:])
}

func joinQ6_K(dst []byte, f *Fields) {
	clear(dst)
	for i := range superLen {
		h, k, l := i/128, i/32%4, i%32
		dst[64*h+32*(k%2)+l] |= f.Q[i] & 15 << (4 * (k / 2))
		dst[128+32*h+l] |= f.Q[i] >> 4 & 3 << (2 * k)
	}
	for g := range 16 {
		dst[192+g] = byte(f.Scale[g])
	}
	le.PutUint16(dst[208:], f.D)
}

// splitIQ4_NL reads block_iq4_nl, 18 bytes: f16 d, 16 bytes of nibbles.
func splitIQ4_NL(f *Fields, src []byte) {
	f.D = le.Uint16(src)
	splitNibbles(f.Q[:], src[2:])
}

func joinIQ4_NL(dst []byte, f *Fields) {
	le.PutUint16(dst, f.D)
	joinNibbles(dst[2:], f.Q[:])
}

// splitIQ4_XS reads block_iq4_xs, 136 bytes:
//
//	0  f16 d
//	2  uint16      bit pair g has the upper bits of scale g, which is stored plus 32
//	4  [4]uint8    nibble g%2 of byte g/2 has its lower bits
//	8  [128]uint8  for each group 16 bytes of nibbles
func splitIQ4_XS(f *Fields, src []byte) {
	f.D = le.Uint16(src)
	high := le.Uint16(src[2:])
	for g := range 8 {
		f.Scale[g] = int8(src[4+g/2]>>(4*(g%2))&15|byte(high>>(2*g)&3)<<4) - 32
		splitNibbles(f.Q[32*g:], src[8+16*g:])
	}
}

func joinIQ4_XS(dst []byte, f *Fields) {
	le.PutUint16(dst, f.D)
	clear(dst[4:8])
	var high uint16
	for g := range 8 {
		s := byte(f.Scale[g] + 32)
		high |= uint16(s>>4&3) << (2 * g)
		dst[4+g/2] |= s & 15 << (4 * (g % 2))
		joinNibbles(dst[8+16*g:], f.Q[32*g:])
	}
	le.PutUint16(dst[2:], high)
}

// splitMXFP4 reads block_mxfp4, 17 bytes: the exponent e of the scale 2^(e-128), 16 bytes of nibbles. The values of
// nibbles are twice those of the standard (OCP Microscaling Formats 1.0), so the scale is half of its 2^(e-127). Like
// ggml this reads e = 255, which is NaN there, as an exponent.
func splitMXFP4(f *Fields, src []byte) {
	f.D = powerBits(src[0])
	splitNibbles(f.Q[:], src[1:])
}

func joinMXFP4(dst []byte, f *Fields) {
	dst[0] = powerOf(f.D)
	joinNibbles(dst[1:], f.Q[:])
}

// powerBits returns the bits of 2^(e-128) as bfloat16: a denormal for the two smallest.
func powerBits(e byte) uint16 {
	if e < 2 {
		return 0x20 << e
	}
	return uint16(e-1) << 7
}

// powerOf is the inverse of powerBits.
func powerOf(d uint16) byte {
	if d < 0x80 {
		return byte(d >> 6)
	}
	return byte(d>>7) + 1
}
