package gpu

import "github.com/ggmlc/ggmlc/kernels/gpu/kir"

// This file decodes blocks of 32 elements. Their layouts are those of package dtype (blocks.go).

// decodeQ8_0 decodes block_q8_0: f16 d, 32 signed bytes.
func decodeQ8_0(b *codedBlock, at *kir.Value, n int) run {
	return b.inRuns(at, n, b.loadHalf(b.in(1, 0)), nil, inOrder(b.loadWords(b.step(b.in(0, 0), at, n), n/4)))
}

// decodeQ4_0 decodes block_q4_0: f16 d, 16 bytes of nibbles, each plus 8.
func decodeQ4_0(b *codedBlock, at *kir.Value, n int) run {
	scale := b.Mul(b.loadHalf(b.in(1, 0)), b.Float(1.0/16))
	return b.inHalves(at, n, scale, nil, b.halfBytes(b.nibbles(b.in(0, 0), at, n)))
}

// nibbles loads the bytes of run at of n elements, in groups of 32: byte j of 16 has element j in its low half and
// element j+16 in its high half.
func (b *codedBlock) nibbles(from place, at *kir.Value, n int) []*kir.Value {
	return b.loadWords(b.step(from, at, n/2), n/8)
}

// inHalves returns the run of pieces of nibbles: run at of n elements.
func (b *codedBlock) inHalves(at *kir.Value, n int, scale, plus *kir.Value, pieces []piece) run {
	per := b.Int(32 / n)
	first := b.Add(b.Mul(b.Div(at, per), b.Int(32)), b.Mul(b.Rem(at, per), b.Int(n/2)))
	return run{first: first, scale: scale, plus: plus, pieces: pieces}
}

// halfBytes returns the pieces of words of eight nibbles, minus 8, times 16. A nibble with its highest bit inverted is the
// element as a signed number; in the high half of a byte, it is 16 times that.
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
