package main

import "github.com/mmcloughlin/avo/operand"

// generatePrefetch makes the loop that asks for the lines of a panel.
func generatePrefetch(g *generator) {
	g.isa = avx2
	g.function("prefetchLines", []string{"prefetchLines requests n lines of 64 bytes from p on for the second-level cache. n is positive."}, nil, pointers("p"), integers("n"))
	p, n, loop := g.arg("p"), g.arg("n"), g.label("loop")
	g.Label(loop)
	g.PREFETCHT1(operand.Mem{Base: p})
	g.ADDQ(operand.U8(lineBytes), p)
	g.DECQ(n)
	g.JNZ(operand.LabelRef(loop))
	g.ret()
}

const lineBytes = 64
