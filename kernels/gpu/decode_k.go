package gpu

import "github.com/ggmlc/ggmlc/kernels/gpu/kir"

// This file decodes blocks of 256 elements. Their layouts are those of package dtype (blocks.go).

// decodeQ4_K decodes block_q4_K: f16 d, f16 dmin, 12 bytes of scales and mins, 128 bytes of nibbles.
func decodeQ4_K(b *codedBlock, at *kir.Value, n int) run {
	scale, plus := b.scaleAndMin(at, n)
	return b.inRuns(at, n, scale, plus, inOrder(b.spans(b.in(0, 16), 64, 32, at, n)))
}

// scaleAndMin decodes the first 16 bytes of block_q4_K and block_q5_K, for run at of n elements: the scale, and the negative
// min. Byte g%4 of each of three words has a part of those of group g.
func (b *codedBlock) scaleAndMin(at *kir.Value, n int) (scale, plus *kir.Value) {
	words := b.loadWords(b.in(0, 0), 4)
	g := b.Div(at, b.Int(32/n))
	count := b.unsigned(b.Mul(b.Rem(g, b.Int(4)), b.Int(8)))
	own := func(word *kir.Value) *kir.Value { return b.And(b.Shr(word, count), b.Uint(0xff)) }
	half := b.Uint(16)
	both := b.Or(own(words[1]), b.Shl(own(words[2]), half)) // the scale in the low half, the min in the high one
	rest := own(words[3])
	upper := b.Or(b.Or(b.And(rest, b.Uint(15)), b.Shl(b.And(rest, b.Uint(0xf0)), b.Uint(12))), b.And(b.Shr(both, b.Uint(2)), b.Uint(0x300030)))
	both = b.Select(b.Lt(g, b.Int(4)), b.And(both, b.Uint(0x3f003f)), upper)
	d, m := b.halves(words[0])
	scale = b.Mul(d, b.Convert(b.And(both, b.Uint(0xff)), kir.F32))
	return scale, b.Neg(b.Mul(m, b.Convert(b.Shr(both, half), kir.F32)))
}

// decodeQ6_K decodes block_q6_K: 128 bytes of nibbles, 64 of the upper two bits, 16 of scales, f16 d.
func decodeQ6_K(b *codedBlock, at *kir.Value, n int) run {
	q := b.above(b.spans(b.in(0, 0), 128, 64, at, n), b.spans(b.in(1, 0), 128, 32, at, n), 4)
	s := b.step(b.in(2, 0), b.Div(at, b.Int(16/n)), 1)
	scale := b.Convert(b.Load(kir.Scalar(kir.I8), s.address), kir.F32)
	d := b.Mul(b.loadHalf(b.in(3, 0)), b.Float(1.0/4))
	return b.inRuns(at, n, b.Mul(d, scale), nil, b.centered(q, 6))
}

// unsigned returns a number of a group, which is not negative, as an i32 or u32.
func (b *codedBlock) unsigned(x *kir.Value) *kir.Value { return b.Bitcast(x, kir.Scalar(kir.U32)) }

// masked returns the low bits of each byte of words that are shifted to the right by a count.
func (b *codedBlock) masked(words []*kir.Value, count *kir.Value, bits int) []*kir.Value {
	mask := b.Uint(0x01010101 * (1<<bits - 1))
	list := make([]*kir.Value, len(words))
	for i, w := range words {
		list[i] = b.And(b.Shr(w, count), mask)
	}
	return list
}

// above returns low with the bytes of high as the bits from a number on.
func (b *codedBlock) above(low, high []*kir.Value, bits int) []*kir.Value {
	list := make([]*kir.Value, len(low))
	for i := range low {
		list[i] = b.Or(low[i], b.Shl(high[i], b.Uint(uint32(bits))))
	}
	return list
}

// centered returns pieces whose bytes are numbers of some bits minus half of their range, times 2^(8-bits).
func (b *codedBlock) centered(words []*kir.Value, bits int) []piece {
	list := make([]*kir.Value, len(words))
	for i, w := range words {
		list[i] = b.Xor(b.Shl(w, b.Uint(uint32(8-bits))), b.Uint(0x80808080))
	}
	return inOrder(list)
}

// spans loads the fields of run at of n elements, of a format that stores a span of elements in a span of bytes: byte i of
// it has, from the lowest bits on, fields of elements i, i+bytes, i+2*bytes and so on.
func (b *codedBlock) spans(from place, elems, bytes int, at *kir.Value, n int) []*kir.Value {
	bits := 8 * bytes / elems
	unit := b.Add(b.Mul(b.Div(at, b.Int(elems/n)), b.Int(bytes/n)), b.Rem(at, b.Int(bytes/n)))
	which := b.Div(b.Rem(at, b.Int(elems/n)), b.Int(bytes/n))
	count := b.unsigned(b.Mul(which, b.Int(bits)))
	return b.masked(b.loadWords(b.step(from, unit, n), n/4), count, bits)
}

// loadHalves loads two f16 as f32, from a place that is a multiple of 4.
func (b *codedBlock) loadHalves(from place) (first, second *kir.Value) {
	return b.halves(b.loadWords(from, 1)[0])
}

// halves returns the two f16 of a word as f32.
func (b *codedBlock) halves(word *kir.Value) (first, second *kir.Value) {
	pair := b.Convert(b.Bitcast(word, kir.Vector(kir.F16, 2)), kir.F32)
	return b.Extract(pair, 0), b.Extract(pair, 1)
}
