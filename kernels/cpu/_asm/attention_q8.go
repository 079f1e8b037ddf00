package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A cache of plain q8_0 blocks: a float16 scale, then 32 signed bytes. A byte times a scale has at most
// 19 bits, so that float32 holds it exactly. Loops that decode while they compute therefore give the same bits as
// loops that read what decodeQ8 has written.
const (
	q8Len   = 32
	q8Bytes = 2 + q8Len
)

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

// decodeQ4 makes float32 of plain q4_0 blocks: a float16 scale, then 16 bytes, whose low halves are elements 0 to 15,
// plus 8, and whose high halves elements 16 to 31.
func (g *generator) decodeQ4() {
	const bytes = 2 + q8Len/2
	name := "decodeQ4" + g.isa.name
	g.function(name, []string{name + " converts n elements, a multiple of 32, of plain q4_0."}, nil,
		pointers("dst", "src"), integers("n"))
	dst, src, n := g.arg("dst"), g.arg("src"), g.arg("n")
	eight, only := g.vec(), g.vec()
	g.VMOVUPS(g.float("eight", 8), eight)
	g.VMOVUPS(g.word("nibble", 15), only)
	loop, done := g.label("loop"), g.label("done")
	g.SUBQ(operand.U8(32), n)
	g.JL(operand.LabelRef(done))
	g.Label(loop)
	scale := g.vec()
	g.VPBROADCASTW(operand.Mem{Base: src}, g.half(scale))
	g.VCVTPH2PS(g.half(scale), scale)
	for i := 0; i < q8Len/2; i += g.isa.lanes {
		low, high := g.vec(), g.vec()
		g.VPMOVZXBD(operand.Mem{Base: src, Disp: 2 + i}, low)
		g.VPSRLD(operand.U8(4), low, high)
		g.and(only, low, low)
		for j, v := range []reg.VecVirtual{low, high} {
			g.VCVTDQ2PS(v, v)
			g.VSUBPS(eight, v, v)
			g.VMULPS(scale, v, v)
			g.VMOVUPS(v, operand.Mem{Base: dst, Disp: 4 * (i + j*q8Len/2)})
		}
	}
	g.ADDQ(operand.U8(bytes), src)
	g.SUBQ(operand.I8(-128), dst) // 32 float32, in the shorter encoding
	g.SUBQ(operand.U8(32), n)
	g.JGE(operand.LabelRef(loop))
	g.Label(done)
	g.ret()
}
