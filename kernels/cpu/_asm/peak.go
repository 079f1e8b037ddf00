package main

import "github.com/mmcloughlin/avo/operand"

// peakChains is the independent chains of a probe: enough for a latency of 4 at 2 a cycle
// twice over on 16 registers.
const peakChains = 12

// generatePeak makes loops that do nothing but arithmetic or reading, for the limits that
// other speeds are compared with.
func generatePeak(g *generator) {
	for _, i := range []isa{avx2, avx512} {
		g.isa = i
		g.peakFMA()
		g.peakRead()
	}
	g.isa = avx512
	g.peakDot()
	g.peakDotBF16()
	g.peakTile("BF16", "TDPBF16PS", g.multiplyBF16)
	g.peakTile("Int8", "TDPBSSD", g.multiplySignedWeights)
}

// peakLoop repeats body n times.
func (g *generator) peakLoop(body func()) {
	n, loop := g.arg("n"), g.label("loop")
	g.Label(loop)
	body()
	g.DECQ(n)
	g.JNZ(operand.LabelRef(loop))
	g.ret()
}

func (g *generator) peakFMA() {
	name := "peakFMA" + g.isa.name
	g.function(name, []string{name + " does n times 12 multiply-adds of full registers."}, nil, integers("n"))
	acc := g.vecs(peakChains)
	g.zero(acc...)
	one := g.vec()
	g.zero(one)
	g.peakLoop(func() {
		for _, a := range acc {
			g.VFMADD231PS(one, one, a)
		}
	})
}

func (g *generator) peakDot() {
	g.function("peakDotVNNI", []string{"peakDotVNNI does n times 12 VPDPBUSD of full registers."}, nil, integers("n"))
	acc := g.vecs(peakChains)
	g.zero(acc...)
	one := g.vec()
	g.zero(one)
	g.peakLoop(func() {
		for _, a := range acc {
			g.dot(one, one, a)
		}
	})
}

func (g *generator) peakDotBF16() {
	g.function("peakDotBF16", []string{"peakDotBF16 does n times 24 VDPBF16PS of full registers."}, nil, integers("n"))
	acc := g.vecs(2 * peakChains) // its latency is longer
	g.zero(acc...)
	one := g.vec()
	g.zero(one)
	g.peakLoop(func() {
		for _, a := range acc {
			g.dotBF16(one, one, a)
		}
	})
}

// peakTile is for products of tile registers: four sums of two tiles by two.
func (g *generator) peakTile(kind, instruction string, multiply func(acc, x, w tmm)) {
	name := "peakTile" + kind
	g.function(name, []string{name + " does n times 4 " + instruction + " of full tile registers."}, nil, integers("n"))
	g.configureTiles(fullTiles())
	n, loop := g.arg("n"), g.label("loop")
	g.Label(loop)
	for i := range tmm(4) {
		multiply(i, 4+i%2, 6+i/2)
	}
	g.DECQ(n)
	g.JNZ(operand.LabelRef(loop))
	g.releaseTiles()
	g.ret()
}

func (g *generator) peakRead() {
	name := "peakRead" + g.isa.name
	g.function(name, []string{name + " reads n times 512 bytes from p on."}, nil, pointers("p"), integers("n"))
	p := g.arg("p")
	acc := g.vecs(4)
	g.zero(acc...)
	g.peakLoop(func() {
		for i := 0; i < 512; i += g.bytes() {
			a := acc[i/g.bytes()%4]
			g.VORPS(operand.Mem{Base: p, Disp: i}, a, a)
		}
		g.ADDQ(operand.U32(512), p)
	})
}
