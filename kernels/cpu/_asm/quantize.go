package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// generateQuantize makes what turns rows of float32 to q8a.
func generateQuantize(g *generator) {
	for _, i := range []isa{avx2, avx512} {
		g.isa = i
		g.quantize()
		g.normQ8A()
	}
}

func (g *generator) quantize() {
	name := "quantize" + g.isa.name
	g.function(name, []string{name + " converts n elements, a multiple of 32, to q8a."}, nil,
		pointers("dst", "x"), integers("n"))
	dst, x := g.arg("dst"), g.arg("x")
	g.overBlocks(dst, []reg.GPVirtual{x}, func() []reg.VecVirtual { return g.loadBlock(x) })
}

func (g *generator) normQ8A() {
	name := "normQ8A" + g.isa.name
	g.function(name, []string{name + " converts x*scale*w for n elements, a multiple of 32, to q8a."}, nil,
		pointers("dst", "x", "w"), integers("n"), singles("scale"))
	dst, x, w := g.arg("dst"), g.arg("x"), g.arg("w")
	scale := g.argVec("scale")
	g.overBlocks(dst, []reg.GPVirtual{x, w}, func() []reg.VecVirtual {
		v, u := g.loadBlock(x), g.loadBlock(w)
		for i := range v {
			g.VMULPS(scale, v[i], v[i])
			g.VMULPS(u[i], v[i], v[i])
		}
		return v
	})
}

// loadBlock loads 32 elements.
func (g *generator) loadBlock(at reg.GPVirtual) []reg.VecVirtual {
	v := g.vecs(32 / g.isa.lanes)
	for i := range v {
		g.VMOVUPS(operand.Mem{Base: at, Disp: i * g.bytes()}, v[i])
	}
	return v
}

// overBlocks writes a q8a block for each 32 elements that load returns.
func (g *generator) overBlocks(dst reg.GPVirtual, src []reg.GPVirtual, load func() []reg.VecVirtual) {
	n, loop, done := g.arg("n"), g.label("loop"), g.label("done")
	g.SUBQ(operand.U8(32), n)
	g.JL(operand.LabelRef(done))
	g.Label(loop)
	g.quantizeBlock(load(), dst)
	for _, s := range src {
		g.SUBQ(operand.I8(-128), s) // 32 float32, in the shorter encoding
	}
	g.ADDQ(operand.U8(q8aBytes), dst)
	g.SUBQ(operand.U8(32), n)
	g.JGE(operand.LabelRef(loop))
	g.Label(done)
	g.ret()
}

// quantizeBlock writes one block. Its steps are those of quantizeBlock in Go, to the bit.
func (g *generator) quantizeBlock(v []reg.VecVirtual, dst reg.GPVirtual) {
	d := g.largest(v)
	seven, inverse := g.XMM(), g.XMM()
	g.VMOVSS(g.float("most8", 127), seven)
	g.VDIVSS(seven, d.AsX(), d.AsX())
	g.VMOVSS(d.AsX(), operand.Mem{Base: dst, Disp: q8aScale})

	// 1/d, or 0 where that is not finite: then id-id is NaN, unordered with itself.
	g.VMOVSS(g.word("one", 0x3f800000), inverse)
	g.VDIVSS(d.AsX(), inverse, inverse)
	g.VSUBSS(inverse, inverse, seven)
	g.VCMPSS(operand.U8(7), seven, seven, seven)
	g.VANDPS(seven, inverse, inverse)
	id := g.vec()
	g.VBROADCASTSS(inverse, id)
	for i := range v {
		g.round(v[i], id)
	}
	g.storeBytes(v, dst)
	g.storeStarts(v, dst)
}

// largest returns the largest magnitude in all of v, compared as integers so that NaN is
// above all.
func (g *generator) largest(v []reg.VecVirtual) reg.VecVirtual {
	most := g.vec()
	for i := range v {
		abs := g.vec()
		g.VANDPS(g.word("magnitude", 0x7fffffff), v[i], abs)
		if i == 0 {
			g.VMOVAPS(abs, most)
		} else {
			g.VPMAXSD(abs, most, most)
		}
	}
	return g.reduce(most, func(a, b, to reg.Register) { g.VPMAXSD(a, b, to) })
}

// round replaces v by the integer nearest to v·id, ties away from zero: what is added
// before truncation is the number just below a half, as a half itself would carry the
// number just below a half to 1.
func (g *generator) round(v, id reg.VecVirtual) {
	half := g.vec()
	g.VMULPS(id, v, v)
	g.VANDPS(g.word("sign", 1<<31), v, half)
	g.VORPS(g.word("nearHalf", 0x3effffff), half, half)
	g.VADDPS(half, v, v)
	g.VCVTTPS2DQ(v, v)
}

// storeBytes writes 32 integers as bytes.
func (g *generator) storeBytes(v []reg.VecVirtual, dst reg.GPVirtual) {
	if g.wide() {
		for i := range v {
			g.VPMOVDB(v[i], operand.Mem{Base: dst, Disp: 16 * i})
		}
		return
	}
	// Packing works within 128-bit lanes: dwords end up in the order
	// 0 2 4 6 1 3 5 7.
	low, high := g.vec(), g.vec()
	g.VPACKSSDW(v[1], v[0], low)
	g.VPACKSSDW(v[3], v[2], high)
	g.VPACKSSWB(high, low, low)
	order := g.table("packOrder", 8, func(i int) uint32 { return uint32(i/2 + i%2*4) })
	g.VMOVDQU(order, high)
	g.VPERMD(low, high, low)
	g.VMOVDQU(low, operand.Mem{Base: dst})
}

// storeStarts writes where sums of products with these 32 integers begin, and eight times the sum of the first 16.
func (g *generator) storeStarts(v []reg.VecVirtual, dst reg.GPVirtual) {
	add := func(a, b, to reg.Register) { g.VPADDD(a, b, to) }
	half := len(v) / 2
	for i := 1; i < half; i++ {
		g.VPADDD(v[i], v[0], v[0])
		g.VPADDD(v[half+i], v[half], v[half])
	}
	first, sum := g.reduce(v[0], add), g.reduce(v[half], add)
	g.VPADDD(first.AsX(), sum.AsX(), sum.AsX())
	g.VPSLLD(operand.U8(3), first.AsX(), first.AsX())
	g.VCVTDQ2PS(first.AsX(), first.AsX())
	g.VMOVSS(first.AsX(), operand.Mem{Base: dst, Disp: q8aFirst})
	for _, to := range []struct {
		shift uint8 // the binary logarithm of the offset
		at    int
	}{{3, q8aStart4}, {7, q8aStart8}} {
		start, offset := g.XMM(), g.XMM()
		g.VMOVDQU(g.word("start", startBits), start)
		g.VPSLLD(operand.U8(to.shift), sum.AsX(), offset)
		g.VPSUBD(offset, start, start)
		g.VMOVSS(start, operand.Mem{Base: dst, Disp: to.at})
	}
}
