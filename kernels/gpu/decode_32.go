package gpu

import "github.com/ggmlc/ggmlc/kernels/gpu/kir"

// This file decodes blocks of 32 elements, most of which have 16 bytes of nibbles: byte j has element j in its low half
// and element j+16 in its high half. Their layouts are those of package dtype (blocks.go), their parts those of
// dtype.Planes.

// decodeQ8_0 decodes block_q8_0: 32 signed bytes; f16 d.
func decodeQ8_0(b *codedBlock, at *kir.Value, n int) run {
	return b.inRuns(at, n, b.loadHalf(b.in(1, 0)), nil, inOrder(b.loadWords(b.step(b.in(0, 0), at, n), n/4)))
}

// decodeQ4_0 decodes block_q4_0: nibbles, each plus 8; f16 d.
func decodeQ4_0(b *codedBlock, at *kir.Value, n int) run {
	scale := b.Mul(b.loadHalf(b.in(1, 0)), b.Float(1.0/16))
	return b.inHalves(at, n, scale, nil, b.halfBytes(b.nibbles(b.in(0, 0), at, n)))
}

// decodeQ4_1 decodes block_q4_1: nibbles; f16 d, f16 m.
func decodeQ4_1(b *codedBlock, at *kir.Value, n int) run {
	d, m := b.halves(b.loadWords(b.in(1, 0), 1)[0])
	return b.inHalves(at, n, d, m, inBoth(b.lowAndHigh(b.nibbles(b.in(0, 0), at, n))))
}

// decodeQ5_0 decodes block_q5_0: nibbles, the fifth bits of elements plus 16 as a word; f16 d.
func decodeQ5_0(b *codedBlock, at *kir.Value, n int) run {
	low, high := b.fifths(b.loadWords(b.in(1, 0), 1)[0], at, n, b.nibbles(b.in(0, 0), at, n))
	pieces := inBoth(b.centered(low, 5), b.centered(high, 5))
	return b.inHalves(at, n, b.Mul(b.loadHalf(b.in(2, 0)), b.Float(1.0/8)), nil, pieces)
}

// decodeQ5_1 decodes block_q5_1: f16 d, f16 m, the fifth bits as a word, nibbles.
func decodeQ5_1(b *codedBlock, at *kir.Value, n int) run {
	head := b.loadWords(b.in(0, 0), 2)
	d, m := b.halves(head[0])
	return b.inHalves(at, n, d, m, inBoth(b.fifths(head[1], at, n, b.nibbles(b.in(0, 8), at, n))))
}

// decodeIQ4_NL decodes block_iq4_nl: nibbles, which are indices of values; f16 d.
func decodeIQ4_NL(b *codedBlock, at *kir.Value, n int) run {
	return b.inHalves(at, n, b.loadHalf(b.in(1, 0)), nil, b.unevenBytes(b.nibbles(b.in(0, 0), at, n)))
}

// decodeMXFP4 decodes block_mxfp4: nibbles, which are floats; the exponent of a power of two.
func decodeMXFP4(b *codedBlock, at *kir.Value, n int) run {
	return b.inHalves(at, n, b.power(b.loadByte(b.in(1, 0))), nil, b.floatBytes(b.nibbles(b.in(0, 0), at, n)))
}

// nibbles loads the bytes of nibbles of run at of n elements, in groups of 32.
func (b *codedBlock) nibbles(from place, at *kir.Value, n int) []*kir.Value {
	return b.loadWords(b.step(from, at, n/2), n/8)
}

// inHalves returns the run of pieces of nibbles: run at of n elements.
func (b *codedBlock) inHalves(at *kir.Value, n int, scale, plus *kir.Value, pieces []piece) run {
	per := b.Int(32 / n)
	first := b.Add(b.Mul(b.Div(at, per), b.Int(32)), b.Mul(b.Rem(at, per), b.Int(n/2)))
	return run{first: first, scale: scale, plus: plus, pieces: pieces}
}

// inBoth returns the pieces of the low and of the high halves of nibbles.
func inBoth(low, high []*kir.Value) (list []piece) {
	for w := range low {
		list = append(list, piece{4 * w, low[w]}, piece{4*w + 16, high[w]})
	}
	return list
}

// lowAndHigh returns the nibbles of words as bytes.
func (b *codedBlock) lowAndHigh(words []*kir.Value) (low, high []*kir.Value) {
	return b.masked(words, nil, 4), b.masked(words, b.Uint(4), 4)
}

// halfBytes returns the pieces of words of eight nibbles, minus 8, times 16. A nibble with its highest bit inverted is
// the element as a signed number; in the high half of a byte, it is 16 times that.
func (b *codedBlock) halfBytes(words []*kir.Value) (list []piece) {
	high, invert := b.Uint(0xf0f0f0f0), b.Uint(0x80808080)
	for w, word := range words {
		low := b.Shl(word, b.Uint(4))
		list = append(list,
			piece{4 * w, b.Xor(b.And(low, high), invert)},
			piece{4*w + 16, b.Xor(b.And(word, high), invert)})
	}
	return list
}

// fifths returns the nibbles of words, of run at of n elements, as bytes with the fifth bits of a word: bit i is that
// of element i.
func (b *codedBlock) fifths(bits, at *kir.Value, n int, words []*kir.Value) (low, high []*kir.Value) {
	bits = b.Shr(bits, b.unsigned(b.Mul(at, b.Int(n/2))))
	low, high = b.lowAndHigh(words)
	for w := range words {
		low[w] = b.Or(low[w], b.fifthsOf(bits, 4*w))
		high[w] = b.Or(high[w], b.fifthsOf(bits, 4*w+16))
	}
	return low, high
}

// fifthsOf returns bits from, from+1, from+2 and from+3 of a word as the fifth bits of bytes. The products of the four
// bits with the four bits of the factor are all at different places. The mask keeps bit i in byte i.
func (b *codedBlock) fifthsOf(bits *kir.Value, from int) *kir.Value {
	four := b.And(b.Shr(bits, b.Uint(uint32(from))), b.Uint(15))
	return b.And(b.Mul(four, b.Uint(1<<4|1<<11|1<<18|1<<25)), b.Uint(0x10101010))
}

// power returns 2^(e-128), a denormal number for the two smallest e.
func (b *codedBlock) power(e *kir.Value) *kir.Value {
	one := b.Uint(1)
	small := b.Lt(e, b.Uint(2))
	normal := b.Shl(b.Sub(e, one), b.Uint(23))
	return b.Bitcast(b.Select(small, b.Shl(b.Uint(1<<21), b.And(e, one)), normal), kir.Scalar(kir.F32))
}

// floatBytes returns twice the floats of nibbles: a sign bit, two bits of exponent, one of mantissa. Those without sign
// are m for m up to 4, then 6, 8 and 12: m, plus its two lower bits if m is 4 or more, plus 2 if it is 7.
func (b *codedBlock) floatBytes(words []*kir.Value) []piece {
	one := b.Uint(0x11111111)
	var low, high []*kir.Value
	for _, w := range words {
		large := b.And(b.Shr(w, b.Uint(2)), one)
		last := b.And(b.And(large, w), b.Shr(w, b.Uint(1)))
		extra := b.And(w, b.Or(large, b.Shl(large, b.Uint(1))))
		size := b.Add(b.Add(b.And(w, b.Uint(0x77777777)), extra), b.Shl(last, b.Uint(1)))
		low = append(low, b.signed(size, b.Shr(w, b.Uint(3))))
		high = append(high, b.signed(b.Shr(size, b.Uint(4)), b.Shr(w, b.Uint(7))))
	}
	return inBoth(low, high)
}

// signed returns the low halves of the bytes of a word, negative where the lowest bits of sign are 1. The result is
// computed plus 128, so that no byte borrows from the next one.
func (b *codedBlock) signed(size, sign *kir.Value) *kir.Value {
	size = b.And(size, b.Uint(0x0f0f0f0f))
	negative := b.And(size, b.Mul(b.And(sign, b.Uint(0x01010101)), b.Uint(0xff)))
	middle := b.Uint(0x80808080)
	return b.Xor(b.Sub(b.Add(size, middle), b.Shl(negative, b.Uint(1))), middle)
}

// unevenValues is a polynomial of a nibble, the constant first. Rounded to the nearest integer it is the nibble's value
// in the formats IQ4_NL and IQ4_XS (dtype.Scheme.Values, minus 128). It is at most 0.44 from that: found by trying all
// polynomials that are equally far from the values at six nibbles.
var unevenValues = [...]float32{-126.567, 24.1738, -1.37193, 0.0310864, 0.00158604}

// unevenBytes returns the values of nibbles as f32x4. GPUs compute a polynomial faster than they look values up.
func (b *codedBlock) unevenBytes(words []*kir.Value) []piece {
	low, high := b.lowAndHigh(words)
	for _, list := range [][]*kir.Value{low, high} {
		for i, w := range list {
			q := b.bytes(w)
			last := len(unevenValues) - 1
			x := b.splat(b.Float(unevenValues[last]))
			for k := last - 1; k >= 0; k-- {
				x = b.FMA(x, q, b.splat(b.Float(unevenValues[k])))
			}
			list[i] = b.Round(x)
		}
	}
	return inBoth(low, high)
}
