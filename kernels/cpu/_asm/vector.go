package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// generateVectors makes the inner loops over rows of float32.
func generateVectors(g *generator) {
	for _, i := range []isa{avx2, avx512} {
		g.isa = i
		g.binary("add", "a + b", func(a, b reg.VecVirtual) { g.VADDPS(b, a, a) })
		g.binary("sub", "a - b", func(a, b reg.VecVirtual) { g.VSUBPS(b, a, a) })
		g.binary("mul", "a * b", func(a, b reg.VecVirtual) { g.VMULPS(b, a, a) })
		g.binary("swiglu", "silu(a) * b", func(a, b reg.VecVirtual) {
			g.silu(a)
			g.VMULPS(b, a, a)
		})
		g.unary("silu", "x / (1 + e^-x)", g.silu)
		g.unary("sigmoid", "1 / (1 + e^-x)", g.sigmoid)
		g.unary("gelu", "the tanh form of GELU of x", g.gelu)
		g.unary("exp", "e^x", g.exp)
		g.scaleRow()
		g.blendRow()
		g.mulScale()
		g.toF16()
		g.fromF16()
		g.sumSquares()
		g.maxRow()
		g.expSum()
	}
}

// stream is a pointer that a loop moves along, by bytes for each element.
type stream struct {
	at    reg.GPVirtual
	bytes int
}

func (s stream) mem() operand.Mem { return operand.Mem{Base: s.at} }

// overElements runs body for all n elements, a register's lanes at a time, the rest with a
// mask. n is used up.
func (g *generator) overElements(n reg.GPVirtual, streams []stream, body func(k *mask)) {
	loop, rest, done := g.label("loop"), g.label("rest"), g.label("done")
	g.SUBQ(operand.U8(uint8(g.isa.lanes)), n)
	g.JL(operand.LabelRef(rest))
	g.Label(loop)
	body(nil)
	for _, s := range streams {
		g.ADDQ(operand.U8(uint8(s.bytes*g.isa.lanes)), s.at)
	}
	g.SUBQ(operand.U8(uint8(g.isa.lanes)), n)
	g.JGE(operand.LabelRef(loop))
	g.Label(rest)
	g.ADDQ(operand.U8(uint8(g.isa.lanes)), n)
	g.JZ(operand.LabelRef(done))
	k := g.firstLanes(n)
	body(&k)
	g.Label(done)
}

// binary makes a rowBinary; op leaves its result in a.
func (g *generator) binary(name, doc string, op func(a, b reg.VecVirtual)) {
	name += g.isa.name
	g.function(name, []string{name + " sets n elements of dst to " + doc + "."}, nil,
		pointers("dst", "a", "b"), integers("n"))
	dst, a, b := stream{g.arg("dst"), 4}, stream{g.arg("a"), 4}, stream{g.arg("b"), 4}
	g.overElements(g.arg("n"), []stream{dst, a, b}, func(k *mask) {
		x, y := g.vec(), g.vec()
		g.load(a.mem(), k, x)
		g.load(b.mem(), k, y)
		op(x, y)
		g.store(x, k, dst.mem())
	})
	g.ret()
}

// unary makes a rowUnary; op replaces x.
func (g *generator) unary(name, doc string, op func(x reg.VecVirtual)) {
	name += g.isa.name
	g.function(name, []string{name + " sets n elements of dst to " + doc + "."}, nil,
		pointers("dst", "x"), integers("n"))
	dst, x := stream{g.arg("dst"), 4}, stream{g.arg("x"), 4}
	g.overElements(g.arg("n"), []stream{dst, x}, func(k *mask) {
		v := g.vec()
		g.load(x.mem(), k, v)
		op(v)
		g.store(v, k, dst.mem())
	})
	g.ret()
}

// sigmoid replaces x by 1/(1+e^-x).
func (g *generator) sigmoid(x reg.VecVirtual) {
	e := g.vec()
	g.onePlusExpNeg(x, e)
	g.VMOVUPS(g.word("one", 0x3f800000), x)
	g.VDIVPS(e, x, x)
}

// gelu replaces x by x·sigmoid(2√(2/π)·(x + 0.044715x³)).
func (g *generator) gelu(x reg.VecVirtual) {
	twice := 2 * math.Sqrt(2/math.Pi)
	u, e := g.vec(), g.vec()
	g.VMULPS(x, x, u)
	g.VMULPS(g.float("geluCube", 0.044715*twice), u, u)
	g.VADDPS(g.float("geluLinear", twice), u, u)
	g.VMULPS(x, u, u)
	g.onePlusExpNeg(u, e)
	g.VDIVPS(e, x, x)
}

func (g *generator) scaleRow() {
	name := "scale" + g.isa.name
	g.function(name, []string{name + " sets n elements of dst to x*scale + bias, rounded twice."}, nil,
		pointers("dst", "x"), integers("n"), singles("scale", "bias"))
	dst, x := stream{g.arg("dst"), 4}, stream{g.arg("x"), 4}
	scale, bias := g.argVec("scale"), g.argVec("bias")
	g.overElements(g.arg("n"), []stream{dst, x}, func(k *mask) {
		v := g.vec()
		g.load(x.mem(), k, v)
		g.VMULPS(scale, v, v)
		g.VADDPS(bias, v, v)
		g.store(v, k, dst.mem())
	})
	g.ret()
}

func (g *generator) blendRow() {
	name := "blend" + g.isa.name
	g.function(name, []string{name + " sets n elements of dst to dst*keep + x*add; the sum is rounded once, the first product before."}, nil,
		pointers("dst", "x"), integers("n"), singles("keep", "add"))
	dst, x := stream{g.arg("dst"), 4}, stream{g.arg("x"), 4}
	keep, add := g.argVec("keep"), g.argVec("add")
	g.overElements(g.arg("n"), []stream{dst, x}, func(k *mask) {
		v, u := g.vec(), g.vec()
		g.load(dst.mem(), k, v)
		g.load(x.mem(), k, u)
		g.VMULPS(keep, v, v)
		g.VFMADD231PS(add, u, v)
		g.store(v, k, dst.mem())
	})
	g.ret()
}

func (g *generator) mulScale() {
	name := "mulScale" + g.isa.name
	g.function(name, []string{name + " sets n elements of dst to x*scale*w."}, nil,
		pointers("dst", "x", "w"), integers("n"), singles("scale"))
	dst, x, w := stream{g.arg("dst"), 4}, stream{g.arg("x"), 4}, stream{g.arg("w"), 4}
	scale := g.argVec("scale")
	g.overElements(g.arg("n"), []stream{dst, x, w}, func(k *mask) {
		v, u := g.vec(), g.vec()
		g.load(x.mem(), k, v)
		g.load(w.mem(), k, u)
		g.VMULPS(scale, v, v)
		g.VMULPS(u, v, v)
		g.store(v, k, dst.mem())
	})
	g.ret()
}

// toF16 and fromF16 do whole registers only: 16-bit elements have no masked forms in AVX2.
// Their callers do the rest in Go, whose results are the same bits.
func (g *generator) toF16() {
	name := "f32ToF16" + g.isa.name
	g.function(name, []string{name + " converts n elements to float16, n a multiple of a register's lanes."}, nil,
		pointers("dst", "x"), integers("n"))
	dst, x := stream{g.arg("dst"), 2}, stream{g.arg("x"), 4}
	g.whole(g.arg("n"), []stream{dst, x}, func() {
		v := g.vec()
		g.VMOVUPS(x.mem(), v)
		g.VCVTPS2PH(operand.U8(0), v, dst.mem())
	})
}

func (g *generator) fromF16() {
	name := "f16ToF32" + g.isa.name
	g.function(name, []string{name + " converts n elements from float16, n a multiple of a register's lanes."}, nil,
		pointers("dst", "x"), integers("n"))
	dst, x := stream{g.arg("dst"), 4}, stream{g.arg("x"), 2}
	g.whole(g.arg("n"), []stream{dst, x}, func() {
		v := g.vec()
		g.VCVTPH2PS(x.mem(), v)
		g.VMOVUPS(v, dst.mem())
	})
}

// whole runs body for n elements, a multiple of a register's lanes, and returns.
func (g *generator) whole(n reg.GPVirtual, streams []stream, body func()) {
	loop, done := g.label("loop"), g.label("done")
	g.TESTQ(n, n)
	g.JZ(operand.LabelRef(done))
	g.Label(loop)
	body()
	for _, s := range streams {
		g.ADDQ(operand.U8(uint8(s.bytes*g.isa.lanes)), s.at)
	}
	g.SUBQ(operand.U8(uint8(g.isa.lanes)), n)
	g.JNZ(operand.LabelRef(loop))
	g.Label(done)
	g.ret()
}

// sumSquares adds in float64, where squares are exact, each half of a register by itself: the order of additions
// depends on n only.
func (g *generator) sumSquares() {
	name := "sumSquares" + g.isa.name
	g.function(name, []string{name + " returns the sum of the squares of n elements."},
		doubles("sum"), pointers("x"), integers("n"))
	x := stream{g.arg("x"), 4}
	low, high := g.vec(), g.vec()
	g.zero(low, high)
	g.overElements(g.arg("n"), []stream{x}, func(k *mask) {
		v, first, second := g.vec(), g.vec(), g.vec()
		g.load(x.mem(), k, v)
		g.VCVTPS2PD(g.half(v), first)
		if g.wide() {
			g.VEXTRACTF64X4(operand.U8(1), v, v.AsY())
		} else {
			g.VEXTRACTF128(operand.U8(1), v, v.AsX())
		}
		g.VCVTPS2PD(g.half(v), second)
		g.VFMADD231PD(first, first, low)
		g.VFMADD231PD(second, second, high)
	})
	g.VADDPD(high, low, low)
	sum := g.reduceHalves(low, func(a, b, to reg.Register) { g.VADDPD(a, b, to) })
	g.VPERMILPD(operand.U8(1), sum.AsX(), high.AsX())
	g.VADDPD(high.AsX(), sum.AsX(), sum.AsX())
	g.returnLane(g.VMOVSD, "sum", sum)
}

func (g *generator) maxRow() {
	name := "maxRow" + g.isa.name
	g.function(name, []string{name + " returns the largest of n elements. It may or may not see a NaN."},
		singles("most"), pointers("x"), integers("n"))
	x := stream{g.arg("x"), 4}
	most := g.vec()
	g.VMOVUPS(g.float("leastFloat", math.Inf(-1)), most)
	g.overElements(g.arg("n"), []stream{x}, func(k *mask) { g.addMax(x, k, most) })
	g.returnFloat("most", g.reduce(most, func(a, b, to reg.Register) { g.VMAXPS(a, b, to) }))
}

// addMax makes most the larger of it and x, lane by lane.
func (g *generator) addMax(x stream, k *mask, most reg.VecVirtual) {
	v := g.vec()
	g.load(x.mem(), k, v)
	switch {
	case k != nil && g.wide():
		g.VMAXPS(v, most, k.k, most)
		return
	case k != nil:
		all := g.vec()
		g.VMOVUPS(g.float("leastFloat", math.Inf(-1)), all)
		g.VBLENDVPS(k.k, v, all, v)
	}
	g.VMAXPS(v, most, most)
}

func (g *generator) expSum() {
	name := "expSum" + g.isa.name
	g.function(name, []string{name + " sets n elements of dst to e^(x-most) and returns their sum."},
		singles("sum"), pointers("dst", "x"), integers("n"), singles("most"))
	dst, x := stream{g.arg("dst"), 4}, stream{g.arg("x"), 4}
	most, sum := g.argVec("most"), g.vec()
	g.zero(sum)
	g.overElements(g.arg("n"), []stream{dst, x}, func(k *mask) { g.addExp(dst, x, most, sum, k) })
	g.returnFloat("sum", g.reduce(sum, func(a, b, to reg.Register) { g.VADDPS(a, b, to) }))
}

// addExp sets dst to e^(x-most) and adds that to sum, lane by lane.
func (g *generator) addExp(dst, x stream, most, sum reg.VecVirtual, k *mask) {
	v := g.vec()
	g.load(x.mem(), k, v)
	g.VSUBPS(most, v, v)
	g.exp(v)
	g.store(v, k, dst.mem())
	g.addLanes(v, sum, k)
}

// addLanes adds v to sum, with a mask only the lanes that it has.
func (g *generator) addLanes(v, sum reg.VecVirtual, k *mask) {
	switch {
	case k == nil:
		g.VADDPS(v, sum, sum)
	case g.wide():
		g.VADDPS(v, sum, k.k, sum)
	default:
		g.VANDPS(k.k, v, v)
		g.VADDPS(v, sum, sum)
	}
}

// reduce combines all lanes of v, halves first, and returns a register whose lowest lane
// is the result.
func (g *generator) reduce(v reg.VecVirtual, op func(a, b, to reg.Register)) reg.VecVirtual {
	high := g.vec()
	g.reduceHalves(v, op)
	for _, order := range []uint8{0x4e, 0xb1} { // swap halves, then neighbours
		g.VPERMILPS(operand.U8(order), v.AsX(), high.AsX())
		op(high.AsX(), v.AsX(), v.AsX())
	}
	return v
}

// reduceHalves combines the parts of v of 128 bits, halves first, and returns v, whose lowest part is the result.
func (g *generator) reduceHalves(v reg.VecVirtual, op func(a, b, to reg.Register)) reg.VecVirtual {
	high := g.vec()
	if g.wide() {
		g.VEXTRACTF64X4(operand.U8(1), v, high.AsY())
		op(high.AsY(), v.AsY(), v.AsY())
	}
	g.VEXTRACTF128(operand.U8(1), v.AsY(), high.AsX())
	op(high.AsX(), v.AsX(), v.AsX())
	return v
}

// returnFloat stores the lowest lane as the result, a float32.
func (g *generator) returnFloat(name string, v reg.VecVirtual) { g.returnLane(g.VMOVSS, name, v) }

// returnLane stores the lowest lane as the result.
func (g *generator) returnLane(move func(...operand.Op), name string, v reg.VecVirtual) {
	r, err := g.Return(name).Resolve()
	if err != nil {
		panic(err)
	}
	move(v.AsX(), r.Addr)
	g.ret()
}
