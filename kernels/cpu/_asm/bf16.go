package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// generateBF16 makes what turns rows of float32 to bfloat16 and back. It does whole
// registers only, as toF16 does.
func generateBF16(g *generator) {
	for _, i := range []isa{avx2, avx512} {
		g.isa = i
		g.toBF16()
		g.fromBF16()
		g.normBF16()
		g.panelToBF16()
	}
}

func (g *generator) toBF16() {
	name := "f32ToBF16" + g.isa.name
	g.function(name, []string{name + " converts n elements to bfloat16, n a multiple of a register's lanes."}, nil,
		pointers("dst", "x"), integers("n"))
	dst, x := stream{g.arg("dst"), 2}, stream{g.arg("x"), 4}
	c := g.bf16Constants()
	g.whole(g.arg("n"), []stream{dst, x}, func() {
		v := g.vec()
		g.VMOVUPS(x.mem(), v)
		g.storeBF16(c, v, dst.mem())
	})
}

func (g *generator) fromBF16() {
	name := "bf16ToF32" + g.isa.name
	g.function(name, []string{name + " converts n elements from bfloat16, n a multiple of a register's lanes."}, nil,
		pointers("dst", "x"), integers("n"))
	dst, x := stream{g.arg("dst"), 4}, stream{g.arg("x"), 2}
	g.whole(g.arg("n"), []stream{dst, x}, func() {
		v := g.vec()
		g.VPMOVZXWD(x.mem(), v)
		g.VPSLLD(operand.U8(16), v, v)
		g.VMOVUPS(v, dst.mem())
	})
}

func (g *generator) normBF16() {
	name := "normBF16" + g.isa.name
	g.function(name, []string{name + " converts x*scale*w for n elements, a multiple of a register's lanes, to bfloat16."}, nil,
		pointers("dst", "x", "w"), integers("n"), singles("scale"))
	dst, x, w := stream{g.arg("dst"), 2}, stream{g.arg("x"), 4}, stream{g.arg("w"), 4}
	scale, c := g.argVec("scale"), g.bf16Constants()
	g.whole(g.arg("n"), []stream{dst, x, w}, func() {
		v := g.vec()
		g.VMULPS(x.mem(), scale, v)
		g.VMULPS(w.mem(), v, v)
		g.storeBF16(c, v, dst.mem())
	})
}

// panelToBF16 rounds what tiles have written to a buffer. The buffer's rows follow each other, those of the
// result do not.
func (g *generator) panelToBF16() {
	name := "panelToBF16" + g.isa.name
	g.function(name, []string{name + " converts rows rows of 16 elements to bfloat16, at distances of stride bytes. rows is positive."}, nil,
		pointers("dst", "x"), integers("rows", "stride"))
	dst, x, rows, stride, loop := g.arg("dst"), g.arg("x"), g.arg("rows"), g.arg("stride"), g.label("loop")
	c := g.bf16Constants()
	g.Label(loop)
	for at := 0; at < panelRows; at += g.isa.lanes {
		v := g.vec()
		g.VMOVUPS(operand.Mem{Base: x, Disp: at * 4}, v)
		g.storeBF16(c, v, operand.Mem{Base: dst, Disp: at * 2})
	}
	g.ADDQ(operand.U8(panelRows*4), x)
	g.ADDQ(stride, dst)
	g.DECQ(rows)
	g.JNZ(operand.LabelRef(loop))
	g.ret()
}

// bf16Constants are what rounding takes: the lowest bit that is kept, less than half of it,
// and the bit that makes a NaN quiet.
type bf16Constants struct{ one, nearHalf, quiet reg.VecVirtual }

func (g *generator) bf16Constants() bf16Constants {
	c := bf16Constants{g.vec(), g.vec(), g.vec()}
	g.VMOVUPS(g.word("lowestBit", 1), c.one)
	g.VMOVUPS(g.word("belowHalf", 0x7fff), c.nearHalf)
	g.VMOVUPS(g.word("quietBit", 0x40), c.quiet)
	return c
}

// storeBF16 writes v as bfloat16, with the bits of dtype.F32ToBF16: VCVTNEPS2BF16 would
// turn denormals to zero. It uses v up.
func (g *generator) storeBF16(c bf16Constants, v reg.VecVirtual, m operand.Mem) {
	upper, rounded := g.vec(), g.vec()
	g.VPSRLD(operand.U8(16), v, upper)
	if g.wide() {
		g.VPANDD(c.one, upper, rounded)
	} else {
		g.VPAND(c.one, upper, rounded)
	}
	g.VPADDD(c.nearHalf, rounded, rounded)
	g.VPADDD(v, rounded, rounded)
	g.VPSRLD(operand.U8(16), rounded, rounded)
	const unordered = 3
	if g.wide() {
		nan := g.K()
		g.VCMPPS(operand.U8(unordered), v, v, nan)
		g.VPORD(c.quiet, upper, nan, rounded)
		g.VPMOVDW(rounded, m)
		return
	}
	g.VCMPPS(operand.U8(unordered), v, v, v)
	g.VPOR(c.quiet, upper, upper)
	g.VBLENDVPS(v, upper, rounded, rounded)
	g.VPACKUSDW(rounded, rounded, rounded) // within 128-bit lanes: words 0 to 3 are in both halves
	g.VPERMQ(operand.U8(0x08), rounded, rounded)
	g.VMOVDQU(rounded.AsX(), m)
}
