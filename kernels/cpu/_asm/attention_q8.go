package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A cache of plain q8_0 blocks: a float16 scale, then 32 signed bytes. A byte times a scale has at most
// 19 bits, so float32 holds it exactly however it is computed, and loops that decode on the way give the bits of
// those that read what decodeQ8 wrote.
const (
	q8Len   = 32
	q8Bytes = 2 + q8Len
)

// gatherScales brings scales together, so that scores loads those of 16 positions at once.
func (g *generator) gatherScales() {
	name := "gatherScales"
	g.function(name, []string{
		name + " writes the float16 scales of m rows of blocks blocks, row bytes apart: the first of all rows, a chunk",
		"behind it the second of all rows, and so on.",
	}, nil, pointers("dst", "k"), integers("m", "blocks", "row"))
	dst, k, m, row := g.arg("dst"), g.arg("k"), g.arg("m"), g.arg("row")
	next := g.label("block")
	g.Label(next)
	from, to, left := g.GP64(), g.GP64(), g.GP64()
	g.MOVQ(k, from)
	g.MOVQ(dst, to)
	g.MOVQ(m, left)
	for _, n := range []int{4, 1} {
		again, less := g.label("rows"), g.label("less")
		g.SUBQ(operand.U8(uint8(n)), left)
		g.JL(operand.LabelRef(less))
		g.Label(again)
		for i := range n {
			scale := g.GP32()
			g.MOVWLZX(operand.Mem{Base: from}, scale)
			g.MOVW(scale.As16(), operand.Mem{Base: to, Disp: 2 * i})
			g.ADDQ(row, from)
		}
		g.ADDQ(operand.U8(uint8(2*n)), to)
		g.SUBQ(operand.U8(uint8(n)), left)
		g.JGE(operand.LabelRef(again))
		g.Label(less)
		g.ADDQ(operand.U8(uint8(n)), left)
	}
	g.ADDQ(operand.U8(q8Bytes), k)
	g.ADDQ(operand.U32(chunkLen*2), dst)
	blocks := g.paramAt("blocks")
	g.DECQ(blocks)
	g.JNZ(operand.LabelRef(next))
	g.RET()
}

// addBlocks adds the products of a block of elements, and returns how many these are. With 4 queries 16 positions have 4
// sums, which wait for each other; those of the other 16 stand between.
func (g *generator) addBlocks(b *scoreBlock, q rows, k, scales, left reg.GPVirtual) int {
	l := g.newRowLoader(k, left)
	var words [][]reg.VecVirtual // fours of bytes, by number
	for range b.sums {
		words = append(words, g.byteColumns(l))
	}
	scale, offset, mask := g.vecs(len(b.sums)), g.vecs(len(b.sums)), g.vec()
	for p := range b.sums {
		g.VCVTPH2PS(operand.Mem{Base: scales, Disp: 2 * p * g.isa.lanes}, scale[p])
		g.VMULPS(g.float("minusByteOffset", -byteOffset), scale[p], offset[p])
	}
	g.VMOVUPS(g.word("secondByte", 0xff00), mask)
	for i := range q8Len {
		for p, sums := range b.sums {
			v := g.byteColumn(words[p][i/4], i%4, mask)
			g.VFMADD213PS(offset[p], scale[p], v)
			g.addColumn(q, i, v, sums)
		}
	}
	return q8Len
}

// byteColumns loads a block of each of 16 rows and returns bytes 0 to 3 of all of them, bytes 4 to 7 and so on.
func (g *generator) byteColumns(l *rowLoader) []reg.VecVirtual {
	rows := g.vecs(8) // row i and row i+4, for i in 0 to 3 and 8 to 11
	for i := range 16 {
		m, v := l.next().Offset(2), rows[i/8*4+i%4]
		if i%8 < 4 {
			g.VBROADCASTI64X4(m, v) // of a load of the lower half alone avo's allocator thinks that it keeps the upper one
		} else {
			g.VINSERTI64X4(operand.U8(1), m, v, v)
		}
	}
	e := exchange{g, g.vec()}
	fours := append(e.fours(rows[:4]), e.fours(rows[4:])...)
	out := make([]reg.VecVirtual, 8)
	for j := range 4 {
		out[j], out[4+j] = e.join(fours[j], fours[4+j], g.halves512)
	}
	return out
}

// byteOffset is what a signed byte, its sign bit turned over, is below the number that byteColumn makes of it:
// 2^15 with the byte in the mantissa's bits that count ones.
const byteOffset = 1<<15 + 1<<7

// byteColumn makes numbers of byte i of each word, byteOffset too large. A product of these with a scale, less
// byteOffset times the scale, is exact, as both are.
func (g *generator) byteColumn(words reg.VecVirtual, i int, mask reg.VecVirtual) reg.VecVirtual {
	const andXor = 0x6a // (a and b) xor c
	v := g.vec()
	switch i {
	case 0:
		g.VPSLLD(operand.U8(8), words, v)
	case 1:
		g.VMOVAPS(words, v)
	default:
		g.VPSRLD(operand.U8(8*(i-1)), words, v)
	}
	g.VPTERNLOGD(operand.U8(andXor), g.word("byteNumber", 0x47008000), mask, v)
	return v
}

// loadBlocks loads n vectors, two of each block.
func (g *generator) loadBlocks(row reg.GPVirtual, n int) []reg.VecVirtual {
	values := g.vecs(n)
	var scale reg.VecVirtual
	for i, v := range values {
		at := operand.Mem{Base: row, Disp: i / 2 * q8Bytes}
		if i%2 == 0 {
			scale = g.vec()
			g.VPBROADCASTW(at, scale.AsY())
			g.VCVTPH2PS(scale.AsY(), scale)
		}
		g.VPMOVSXBD(at.Offset(2+i%2*g.isa.lanes), v)
		g.VCVTDQ2PS(v, v)
		g.VMULPS(scale, v, v)
	}
	return values
}

// decodeQ8 makes float32 of plain q8_0 blocks: a float16 scale, then 32 signed bytes.
func (g *generator) decodeQ8() {
	name := "decodeQ8" + g.isa.name
	g.function(name, []string{name + " converts n elements, a multiple of 32, of plain q8_0."}, nil,
		pointers("dst", "src"), integers("n"))
	dst, src, n := g.arg("dst"), g.arg("src"), g.arg("n")
	loop, done := g.label("loop"), g.label("done")
	g.SUBQ(operand.U8(32), n)
	g.JL(operand.LabelRef(done))
	g.Label(loop)
	scale := g.vec()
	g.VPBROADCASTW(operand.Mem{Base: src}, g.half(scale))
	g.VCVTPH2PS(g.half(scale), scale)
	for i := 0; i < 32; i += g.isa.lanes {
		v := g.vec()
		g.VPMOVSXBD(operand.Mem{Base: src, Disp: 2 + i}, v)
		g.VCVTDQ2PS(v, v)
		g.VMULPS(scale, v, v)
		g.VMOVUPS(v, operand.Mem{Base: dst, Disp: 4 * i})
	}
	g.ADDQ(operand.U8(q8Bytes), src)
	g.SUBQ(operand.I8(-128), dst) // 32 float32, in the shorter encoding
	g.SUBQ(operand.U8(32), n)
	g.JGE(operand.LabelRef(loop))
	g.Label(done)
	g.ret()
}
