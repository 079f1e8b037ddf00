package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// loadBytes returns a vector at an address.
func (g *generator) loadBytes(from reg.GPVirtual, at int) reg.VecVirtual {
	u := g.vec()
	g.VMOVDQU(operand.Mem{Base: from, Disp: at}, u)
	return u
}

// signedHalf stores half a part with magnitudes.
type signedHalf struct {
	*generator
	dst       reg.GPVirtual
	half      int
	negatives reg.VecVirtual
}

func (g *generator) newSigned(dst reg.GPVirtual, half int) *signedHalf {
	e := &signedHalf{g, dst, half, g.vec()}
	g.zero(e.negatives)
	return e
}

func (e *signedHalf) at(disp int) operand.Mem {
	return operand.Mem{Base: e.dst, Disp: disp + e.half*e.bytes()}
}

// add stores word j of bytes with an offset of 128.
func (e *signedHalf) add(j int, u reg.VecVirtual) {
	magnitude, sign := e.vec(), e.vec()
	e.VPXOR(e.word("flip", 0x80808080), u, u)
	e.VPABSB(u, magnitude)
	e.VMOVDQU(magnitude, e.at(magnitudes+64*j))
	e.zero(sign)
	e.VPCMPGTB(u, sign, sign)
	e.VMOVDQU(sign, e.at(64*j))
	e.VPAND(sign, magnitude, magnitude)
	e.VPMADDUBSW(e.word("ones8", 0x01010101), magnitude, magnitude)
	e.VPMADDWD(e.word("ones16", 0x00010001), magnitude, magnitude)
	e.VPADDD(magnitude, e.negatives, e.negatives)
}

// finish stores the sums of the magnitudes of negative weights.
func (e *signedHalf) finish() { e.VMOVDQU(e.negatives, e.at(negatives)) }

// expandQ4 generates the function that expands blocks of q4_0.
func (g *generator) expandQ4() {
	g.expandPlain("expandQ4AVX2", 4*64, partScales, func(dst, from reg.GPVirtual, half int) {
		for j := range partWords / 2 {
			at := 64*j + half*g.bytes()
			low, high := g.loadBytes(from, at), g.vec()
			g.VPSRLW(operand.U8(4), low, high)
			for i, u := range []reg.VecVirtual{low, high} {
				g.VPAND(g.word("nibbles", 0x0f0f0f0f), u, u)
				g.VMOVDQU(u, operand.Mem{Base: dst, Disp: at + i*4*64})
			}
		}
	})
}

// expandPlain generates a function that expands blocks with one scale of float16, after bytes bytes of elements: each
// is called for each half of a panel. The scales of a part are at scalesAt.
func (g *generator) expandPlain(name string, bytes, scalesAt int, each func(dst, from reg.GPVirtual, half int)) {
	g.function(name, []string{name + " expands blocks of a panel. See expandFunc."}, nil,
		pointers("dst", "panel"), integers("blocks"))
	dst, from, blocks := g.arg("dst"), g.arg("panel"), g.arg("blocks")
	loop, done := g.label("loop"), g.label("done")
	g.TESTQ(blocks, blocks)
	g.JZ(operand.LabelRef(done))
	g.Label(loop)
	for h := range g.halves() {
		each(dst, from, h)
		scale := g.vec()
		g.VCVTPH2PS(operand.Mem{Base: from, Disp: bytes + h*2*g.isa.lanes}, scale)
		g.VMOVUPS(scale, operand.Mem{Base: dst, Disp: scalesAt + h*g.bytes()})
	}
	g.ADDQ(operand.I32(int32(bytes+2*panelRows)), from)
	g.ADDQ(operand.I32(int32(scalesAt+vectorSize)), dst)
	g.DECQ(blocks)
	g.JNZ(operand.LabelRef(loop))
	g.Label(done)
	g.ret()
}
