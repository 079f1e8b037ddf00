package gpu

import "github.com/ggmlc/ggmlc/kernels/gpu/kir"

// This file decodes blocks of 256 elements. Their layouts are those of package dtype (blocks.go), their parts those of
// dtype.Planes.

// decodeQ2_K decodes block_q2_K: 64 bytes of bit pairs; 16 bytes of a scale in the low half and a min in the high one;
// f16 d, f16 dmin.
func decodeQ2_K(b *codedBlock, at *kir.Value, n int) run {
	d, m := b.halves(b.loadWords(b.in(2, 0), 1)[0])
	both := b.loadByte(b.step(b.in(1, 0), b.Div(at, b.Int(16/n)), 1))
	scale := b.Mul(d, b.Convert(b.And(both, b.Uint(15)), kir.F32))
	low := b.Mul(m, b.Convert(b.Shr(both, b.Uint(4)), kir.F32))
	return b.inRuns(at, n, scale, b.Neg(low), inOrder(b.spans(b.in(0, 0), 128, 32, at, n)))
}

// decodeQ3_K decodes block_q3_K: 64 bytes of bit pairs; 32 bytes of third bits; 12 bytes of scales plus 32: of scale g,
// half g/8 of byte g%8, then pair g/4 of byte 8+g%4; f16 d.
func decodeQ3_K(b *codedBlock, at *kir.Value, n int) run {
	q := b.above(b.spans(b.in(0, 0), 128, 32, at, n), b.spans(b.in(1, 0), 256, 32, at, n), 2)
	g := b.Div(at, b.Int(16/n))
	field := func(from place, per, bits int) *kir.Value {
		x := b.loadByte(b.step(from, b.Rem(g, b.Int(per)), 1))
		return b.And(b.Shr(x, b.unsigned(b.Mul(b.Div(g, b.Int(per)), b.Int(bits)))), b.Uint(1<<bits-1))
	}
	s := b.Or(field(b.in(2, 0), 8, 4), b.Shl(field(b.in(2, 8), 4, 2), b.Uint(4)))
	d := b.Mul(b.loadHalf(b.in(3, 0)), b.Float(1.0/32))
	return b.inRuns(at, n, b.Mul(d, b.minus32(s)), nil, inOrder(b.centered(q, 3)))
}

// minus32 returns a scale that is stored plus 32.
func (b *codedBlock) minus32(x *kir.Value) *kir.Value {
	return b.Sub(b.Convert(x, kir.F32), b.Float(32))
}

// decodeQ4_K decodes block_q4_K: f16 d, f16 dmin, 12 bytes of scales and mins, 128 bytes of nibbles.
func decodeQ4_K(b *codedBlock, at *kir.Value, n int) run {
	scale, plus := b.scaleAndMin(at, n)
	return b.inRuns(at, n, scale, plus, inOrder(b.spans(b.in(0, 16), 64, 32, at, n)))
}

// decodeQ5_K decodes block_q5_K: as block_q4_K, with 32 bytes of fifth bits before the nibbles.
func decodeQ5_K(b *codedBlock, at *kir.Value, n int) run {
	scale, plus := b.scaleAndMin(at, n)
	q := b.above(b.spans(b.in(0, 48), 64, 32, at, n), b.spans(b.in(0, 16), 256, 32, at, n), 4)
	return b.inRuns(at, n, scale, plus, inOrder(q))
}

// scaleAndMin decodes the first 16 bytes of block_q4_K and block_q5_K, for run at of n elements: the scale, and the
// negative min. Byte g%4 of each of three words has a part of those of group g.
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
	return b.inRuns(at, n, b.Mul(d, scale), nil, inOrder(b.centered(q, 6)))
}

// decodeIQ4_XS decodes block_iq4_xs: f16 d; the upper pairs of eight scales plus 32; their lower halves; for each group
// of 32 16 bytes of nibbles, as in block_iq4_nl.
func decodeIQ4_XS(b *codedBlock, at *kir.Value, n int) run {
	head := b.loadWords(b.in(0, 0), 2)
	g := b.unsigned(b.Div(at, b.Int(32/n)))
	low := b.And(b.Shr(head[1], b.Mul(g, b.Uint(4))), b.Uint(15))
	high := b.And(b.Shr(head[0], b.Add(b.Mul(g, b.Uint(2)), b.Uint(16))), b.Uint(3))
	d, _ := b.halves(head[0])
	scale := b.Mul(d, b.minus32(b.Or(low, b.Shl(high, b.Uint(4)))))
	return b.inHalves(at, n, scale, nil, b.unevenBytes(b.nibbles(b.in(0, 8), at, n)))
}

// unsigned returns an i32 that is not negative as a u32.
func (b *codedBlock) unsigned(x *kir.Value) *kir.Value { return b.Bitcast(x, kir.Scalar(kir.U32)) }

// masked returns the low bits of each byte of words that are shifted to the right by a count, if it is not nil.
func (b *codedBlock) masked(words []*kir.Value, count *kir.Value, bits int) []*kir.Value {
	mask := b.Uint(0x01010101 * (1<<bits - 1))
	list := make([]*kir.Value, len(words))
	for i, w := range words {
		if count != nil {
			w = b.Shr(w, count)
		}
		list[i] = b.And(w, mask)
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

// centered returns words whose bytes are numbers of some bits minus half of their range, times 2^(8-bits).
func (b *codedBlock) centered(words []*kir.Value, bits int) []*kir.Value {
	list := make([]*kir.Value, len(words))
	for i, w := range words {
		list[i] = b.Xor(b.Shl(w, b.Uint(uint32(8-bits))), b.Uint(0x80808080))
	}
	return list
}

// spans loads the fields of run at of n elements, of a format that stores a span of elements in a span of bytes: byte i
// of it has, from the lowest bits on, fields of elements i, i+bytes, i+2*bytes and so on.
func (b *codedBlock) spans(from place, elems, bytes int, at *kir.Value, n int) []*kir.Value {
	bits := 8 * bytes / elems
	unit := b.Add(b.Mul(b.Div(at, b.Int(elems/n)), b.Int(bytes/n)), b.Rem(at, b.Int(bytes/n)))
	which := b.Div(b.Rem(at, b.Int(elems/n)), b.Int(bytes/n))
	count := b.unsigned(b.Mul(which, b.Int(bits)))
	return b.masked(b.loadWords(b.step(from, unit, n), n/4), count, bits)
}

// halves returns the two f16 of a word as f32.
func (b *codedBlock) halves(word *kir.Value) (first, second *kir.Value) {
	pair := b.Convert(b.Bitcast(word, kir.Vector(kir.F16, 2)), kir.F32)
	return b.Extract(pair, 0), b.Extract(pair, 1)
}
