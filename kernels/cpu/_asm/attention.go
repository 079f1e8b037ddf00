package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// generateAttention makes the two inner products of attention with a cache of f32 or f16
// rows. Lengths of rows are any with AVX-512 and multiples of 8 with AVX2.
func generateAttention(g *generator) {
	for _, i := range []isa{avx2, avx512} {
		g.isa = i
		for _, f := range []format{formatF32, formatF16} {
			g.attentionScores(f)
			g.attentionMix(f)
		}
		g.decodeQ8()
	}
}

// elementBytes is the size of a cache's element.
func (f format) elementBytes() int {
	if f == formatF32 {
		return 4
	}
	return 2
}

// loadCache loads a vector of a cache's row as float32.
func (g *generator) loadCache(f format, m operand.Mem, k *mask, v reg.VecVirtual) {
	switch {
	case f == formatF32:
		g.load(m, k, v)
	case k != nil:
		g.VCVTPH2PS_Z(m, k.k, v)
	default:
		g.VCVTPH2PS(m, v)
	}
}

// attentionScores takes four positions at a time, so that their sums are reduced together.
func (g *generator) attentionScores(f format) {
	name := fmt.Sprintf("scores%s%s", f, g.isa.name)
	g.function(name, []string{name + " sets s[p] to scale times q·k[p] for m rows of d elements of k, kRow bytes apart."}, nil,
		pointers("s", "q", "k"), integers("m", "d", "kRow"), singles("scale"))
	s, m, scale := g.arg("s"), g.arg("m"), g.XMM()
	g.VBROADCASTSS(g.paramAt("scale"), scale)
	k, kRow := g.arg("k"), g.arg("kRow")

	four, single, done := g.label("four"), g.label("single"), g.label("done")
	g.SUBQ(operand.U8(4), m)
	g.JL(operand.LabelRef(single))
	g.Label(four)
	sums := g.dotRows(f, k, kRow, 4)
	total := g.reduceFour(sums)
	g.VMULPS(scale, total.AsX(), total.AsX())
	g.VMOVUPS(total.AsX(), operand.Mem{Base: s})
	g.ADDQ(operand.U8(16), s)
	g.LEAQ(operand.Mem{Base: k, Index: kRow, Scale: 4}, k)
	g.SUBQ(operand.U8(4), m)
	g.JGE(operand.LabelRef(four))

	g.Label(single)
	g.ADDQ(operand.U8(4), m)
	g.JZ(operand.LabelRef(done))
	one := g.label("one")
	g.Label(one)
	sums = g.dotRows(f, k, kRow, 1)
	total = g.reduce(sums[0], func(a, b, to reg.Register) { g.VADDPS(a, b, to) })
	g.VMULSS(scale, total.AsX(), total.AsX())
	g.VMOVSS(total.AsX(), operand.Mem{Base: s})
	g.ADDQ(operand.U8(4), s)
	g.ADDQ(kRow, k)
	g.DECQ(m)
	g.JNZ(operand.LabelRef(one))
	g.Label(done)
	g.ret()
}

// dotRows returns the products of q with n rows of k, not yet added across lanes.
func (g *generator) dotRows(f format, k, kRow reg.GPVirtual, n int) []reg.VecVirtual {
	q, d, first := g.arg("q"), g.arg("d"), g.GP64()
	g.MOVQ(k, first)
	at := g.newRows(first, kRow, n)
	sums := g.vecs(n)
	g.zero(sums...)
	g.overRow(f, d, func(k *mask) {
		x := g.vec()
		g.load(operand.Mem{Base: q}, k, x)
		for i := range sums {
			y := g.vec()
			g.loadCache(f, at.at(i, 0), k, y)
			g.VFMADD231PS(x, y, sums[i])
		}
	}, func() {
		g.ADDQ(operand.U8(uint8(g.bytes())), q)
		g.advance(at, g.isa.lanes*f.elementBytes())
	})
	return sums
}

// overRow runs body for d elements and step between. With AVX2 d is a multiple of 8: there
// are no masked loads of 16-bit elements.
func (g *generator) overRow(f format, d reg.GPVirtual, body func(k *mask), step func()) {
	loop, rest, done := g.label("loop"), g.label("rest"), g.label("done")
	g.SUBQ(operand.U8(uint8(g.isa.lanes)), d)
	g.JL(operand.LabelRef(rest))
	g.Label(loop)
	body(nil)
	step()
	g.SUBQ(operand.U8(uint8(g.isa.lanes)), d)
	g.JGE(operand.LabelRef(loop))
	g.Label(rest)
	if !g.wide() {
		return
	}
	g.ADDQ(operand.U8(uint8(g.isa.lanes)), d)
	g.JZ(operand.LabelRef(done))
	k := g.firstLanes(d)
	body(&k)
	g.Label(done)
}

// reduceFour returns the sums of the lanes of four registers in the lowest four lanes.
func (g *generator) reduceFour(v []reg.VecVirtual) reg.VecVirtual {
	high := g.vec()
	if g.wide() {
		for _, a := range v {
			g.VEXTRACTF64X4(operand.U8(1), a, high.AsY())
			g.VADDPS(high.AsY(), a.AsY(), a.AsY())
		}
	}
	g.horizontal(v[1], v[0])
	g.horizontal(v[3], v[2])
	g.horizontal(v[2], v[0])
	g.VEXTRACTF128(operand.U8(1), v[0].AsY(), high.AsX())
	g.VADDPS(high.AsX(), v[0].AsX(), v[0].AsX())
	return v[0]
}

// horizontal sets a to the sums of neighbours in a and b, in pairs of lanes. VHADDPS has
// no form for the upper 16 registers, and the allocator may choose those.
func (g *generator) horizontal(b, a reg.VecVirtual) {
	if !g.wide() {
		g.VHADDPS(b, a, a)
		return
	}
	odd := g.vec()
	g.VSHUFPS(operand.U8(0xdd), b.AsY(), a.AsY(), odd.AsY())
	g.VSHUFPS(operand.U8(0x88), b.AsY(), a.AsY(), a.AsY())
	g.VADDPS(odd.AsY(), a.AsY(), a.AsY())
}

// attentionMix keeps a strip of the result in registers over all positions: four vectors
// while there are as many, then one.
func (g *generator) attentionMix(f format) {
	name := fmt.Sprintf("mix%s%s", f, g.isa.name)
	g.function(name, []string{name + " adds s[p]·v[p] to dst for m rows of d elements of v, vRow bytes apart."}, nil,
		pointers("dst", "s", "v"), integers("m", "d", "vRow"))
	dst, v, d := g.arg("dst"), g.arg("v"), g.arg("d")
	for _, n := range []int{4, 1} {
		loop, less := g.label("strip"), g.label("less")
		g.SUBQ(operand.U8(uint8(n*g.isa.lanes)), d)
		g.JL(operand.LabelRef(less))
		g.Label(loop)
		g.mixStrip(f, dst, v, n, nil)
		g.ADDQ(operand.U32(uint32(n*g.bytes())), dst)
		g.ADDQ(operand.U32(uint32(n*g.isa.lanes*f.elementBytes())), v)
		g.SUBQ(operand.U8(uint8(n*g.isa.lanes)), d)
		g.JGE(operand.LabelRef(loop))
		g.Label(less)
		g.ADDQ(operand.U8(uint8(n*g.isa.lanes)), d)
	}
	if g.wide() {
		done := g.label("done")
		g.TESTQ(d, d)
		g.JZ(operand.LabelRef(done))
		k := g.firstLanes(d)
		g.mixStrip(f, dst, v, 1, &k)
		g.Label(done)
	}
	g.ret()
}

// mixStrip adds to n vectors of dst.
func (g *generator) mixStrip(f format, dst, v reg.GPVirtual, n int, k *mask) {
	s, m, vRow, row := g.arg("s"), g.arg("m"), g.arg("vRow"), g.GP64()
	g.MOVQ(v, row)
	acc := g.vecs(n)
	for i := range acc {
		g.load(operand.Mem{Base: dst, Disp: i * g.bytes()}, k, acc[i])
	}
	loop := g.label("position")
	g.Label(loop)
	weight := g.vec()
	g.VBROADCASTSS(operand.Mem{Base: s}, weight)
	for i := range acc {
		x := g.vec()
		g.loadCache(f, operand.Mem{Base: row, Disp: i * g.isa.lanes * f.elementBytes()}, k, x)
		g.VFMADD231PS(weight, x, acc[i])
	}
	g.ADDQ(operand.U8(4), s)
	g.ADDQ(vRow, row)
	g.DECQ(m)
	g.JNZ(operand.LabelRef(loop))
	for i := range acc {
		g.store(acc[i], k, operand.Mem{Base: dst, Disp: i * g.bytes()})
	}
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
	g.ADDQ(operand.U8(34), src)
	g.SUBQ(operand.I8(-128), dst) // 32 float32, in the shorter encoding
	g.SUBQ(operand.U8(32), n)
	g.JGE(operand.LabelRef(loop))
	g.Label(done)
	g.ret()
}
