package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// avx512FloatTiles and avx2FloatTiles are the tiles of float formats.
var (
	avx512FloatTiles = []tile{
		{rows: 8, panels: 2}, {rows: 4, panels: 2}, {rows: 2, panels: 2}, {rows: 1, panels: 2},
		{rows: 8, panels: 1}, {rows: 4, panels: 1}, {rows: 2, panels: 1}, {rows: 1, panels: 1},
		{rows: 1, panels: 4},
		{rows: 8, panels: 2, swiglu: true}, {rows: 4, panels: 2, swiglu: true},
		{rows: 2, panels: 2, swiglu: true}, {rows: 1, panels: 2, swiglu: true},
		{rows: 1, panels: 4, swiglu: true},
	}
	avx2FloatTiles = []tile{
		{rows: 4, panels: 1}, {rows: 2, panels: 1}, {rows: 1, panels: 1},
		{rows: 1, panels: 4}, {rows: 1, panels: 2},
		{rows: 2, panels: 2, swiglu: true}, {rows: 1, panels: 2, swiglu: true},
		{rows: 1, panels: 4, swiglu: true},
	}
)

// floatTiles generates the tiles of a float format: tiles of several rows, which use weights again, and
// tiles of several panels for one row of x, whose independent sums hide the latency of
// additions.
func floatTiles(f format) func(*generator) {
	return func(g *generator) {
		for _, t := range avx512FloatTiles {
			t.format, t.isa, t.level = f, avx512, avx512.name
			g.floatTile(&t)
		}
		for _, t := range avx2FloatTiles {
			t.format, t.isa, t.level = f, avx2, avx2.name
			g.floatTile(&t)
		}
	}
}

// floatTile holds all partial sums in registers and walks along k once. Each step loads a vector of
// each panel and one element of each row of x.
func (g *generator) floatTile(t *tile) {
	g.begin(t)
	w, x, k, next := g.panelAddresses(t), g.xAddresses(t), g.arg("blocks"), g.newAsk(t)
	s := g.newSums(t)
	totals := g.newTotals(s.all(), g.spareRegisters(t))
	totals.inParts(k, g.partOf(k), func(k reg.GPVirtual) { g.floatPart(t, s, w, x, k, next) })
	g.finish(t, s)
}

// spareRegisters is how many registers a tile leaves: a step takes those of its sums, of a vector of each panel, or
// with one row of one, and of an element of x.
func (g *generator) spareRegisters(t *tile) int {
	vectors := panelRows / g.isa.lanes
	used := t.rows*t.panels*vectors + 1
	if t.rows == 1 {
		used++
	} else {
		used += t.panels * vectors
	}
	return 2*g.isa.lanes - used // 16 of 256 bits, 32 of 512
}

// floatPart sets the sums to the products of k steps.
func (g *generator) floatPart(t *tile, s sums, w, x rows, k, next reg.GPVirtual) {
	const unroll = 4
	loop, rest, done, few := g.label("loop"), g.label("rest"), g.label("done"), g.label("few")
	prefetch := g.newPrefetchHalves(t, w, unroll*t.panelStep())
	steps := func(first product) {
		prefetch()
		g.ask(t, next, w, unroll*t.panelStep())
		g.floatStep(t, s, w, x, 0, first)
		for i := 1; i < unroll; i++ {
			g.floatStep(t, s, w, x, i, g.multiplyAdd)
		}
		g.advance(w, unroll*t.panelStep())
		g.advance(x, unroll*4)
		g.SUBQ(operand.U8(unroll), k)
	}
	g.SUBQ(operand.U8(unroll), k)
	g.JL(operand.LabelRef(few))
	steps(g.multiply)
	g.JL(operand.LabelRef(rest))
	g.Label(loop)
	steps(g.multiplyAdd)
	g.JGE(operand.LabelRef(loop))

	g.Label(rest)
	g.ADDQ(operand.U8(unroll), k)
	g.JZ(operand.LabelRef(done))
	single := g.label("single")
	g.Label(single)
	g.floatStep(t, s, w, x, 0, g.multiplyAdd)
	g.advance(w, t.panelStep())
	g.advance(x, 4)
	g.DECQ(k)
	g.JNZ(operand.LabelRef(single))
	g.JMP(operand.LabelRef(done))

	g.Label(few)
	g.zero(s.all()...)
	g.JMP(operand.LabelRef(rest))
	g.Label(done)
}

// newPrefetchHalves returns what prefetches bytes bytes of each panel of 16-bit weights for a single row of x. Weights of f32
// are faster without it.
func (g *generator) newPrefetchHalves(t *tile, w rows, bytes int) func() {
	if t.rows > 1 || t.format == formatF32 {
		return func() {}
	}
	prefetch := g.prefetchAhead(w, bytes)
	return func() {
		for p := range t.panels {
			prefetch(p)
		}
	}
}

// panelStep is the bytes of a panel for one k.
func (t *tile) panelStep() int {
	if t.format == formatF32 {
		return panelRows * 4
	}
	return panelRows * 2
}

// floatStep adds the products of step i after the current addresses, as add does.
func (g *generator) floatStep(t *tile, s sums, w, x rows, i int, add product) {
	if t.rows == 1 {
		g.floatStepSingle(t, s[0], w, x, i, add)
		return
	}
	weights := make([][]reg.VecVirtual, t.panels)
	for p := range weights {
		for v := range s[0][p] {
			weights[p] = append(weights[p], g.loadWeights(t, w, p, v, i))
		}
	}
	for r := range s {
		one := g.vec()
		g.VBROADCASTSS(x.at(r, 4*i), one)
		for p := range weights {
			for v, weight := range weights[p] {
				add(one, weight, s[r][p][v])
			}
		}
	}
}

// floatStepSingle does so for one row. It needs no weight twice, so many panels leave
// registers free.
func (g *generator) floatStepSingle(t *tile, s [][]reg.VecVirtual, w, x rows, i int, add product) {
	one := g.vec()
	g.VBROADCASTSS(x.at(0, 4*i), one)
	for p := range s {
		for v := range s[p] {
			add(one, g.loadWeights(t, w, p, v, i), s[p][v])
		}
	}
}

// loadWeights returns vector v of panel p at step i as float32.
func (g *generator) loadWeights(t *tile, w rows, p, v, i int) reg.VecVirtual {
	to := g.vec()
	m := w.at(p, i*t.panelStep()+v*t.isa.lanes*t.panelStep()/panelRows)
	switch t.format {
	case formatF32:
		g.VMOVUPS(m, to)
	case formatF16:
		g.VCVTPH2PS(m, to)
	}
	return to
}
