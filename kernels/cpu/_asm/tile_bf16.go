package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// levelDot is the suffix of tiles that use VDPBF16PS.
const levelDot = "DOT"

// bf16Tiles generates the tiles of bfloat16: x has this format as well, and panels hold
// pairs of k (see tile.PackPanel), so that a 32-bit lane is two elements of a row. All add
// the product of the odd k first, then that of the even one, as VDPBF16PS does, and
// products of bfloat16 are exact in float32: sums are the same bits whatever the
// instructions, but where something is denormal.
func bf16Tiles(g *generator) {
	// VDPBF16PS has a latency of 6 at two a cycle on Zen 5: 8 sums would leave it idle a third
	// of the time.
	for _, t := range []tile{{rows: 12, panels: 2}, {rows: 16, panels: 1}, {rows: 12, panels: 2, swiglu: true}} {
		t.format, t.isa, t.level = formatBF16, avx512, levelDot
		g.bf16Tile(&t)
	}
	for _, level := range []string{levelDot, avx512.name} {
		for _, t := range avx512FloatTiles {
			t.format, t.isa, t.level = formatBF16, avx512, level
			g.bf16Tile(&t)
		}
	}
	for _, t := range avx2FloatTiles {
		t.format, t.isa, t.level = formatBF16, avx2, avx2.name
		g.bf16Tile(&t)
	}
}

const (
	pairBytes = 4             // of a row of x
	lastBytes = lineBytes / 2 // of a panel, for a k without a partner; pairs take a line
	pairsOnce = 4             // taken at once
)

// bf16Tile holds all sums in registers and walks along k once, two at a time.
func (g *generator) bf16Tile(t *tile) {
	g.begin(t)
	w, x, k, next := g.panelAddresses(t), g.xAddresses(t), g.arg("blocks"), g.newAsk(t)
	s := g.newSums(t)
	upper := g.upperHalves(t)

	loop, rest, last, done := g.label("loop"), g.label("rest"), g.label("last"), g.label("done")
	g.SUBQ(operand.U8(2*pairsOnce), k)
	g.JL(operand.LabelRef(rest))
	g.Label(loop)
	g.prefetchPairs(t, w)
	g.ask(t, next, w, pairsOnce*lineBytes)
	for i := range pairsOnce {
		g.bf16Pair(t, s, w, x, upper, i)
	}
	g.advance(w, pairsOnce*lineBytes)
	g.advance(x, pairsOnce*pairBytes)
	g.SUBQ(operand.U8(2*pairsOnce), k)
	g.JGE(operand.LabelRef(loop))

	g.Label(rest)
	g.ADDQ(operand.U8(2*pairsOnce-2), k)
	g.JL(operand.LabelRef(last))
	single := g.label("single")
	g.Label(single)
	g.bf16Pair(t, s, w, x, upper, 0)
	g.advance(w, lineBytes)
	g.advance(x, pairBytes)
	g.SUBQ(operand.U8(2), k)
	g.JGE(operand.LabelRef(single))

	g.Label(last)
	g.ADDQ(operand.U8(2), k)
	g.JZ(operand.LabelRef(done))
	g.bf16Last(t, s, w, x)
	g.Label(done)
	g.finish(t, s)
}

// upperHalves returns a register with the upper half of each lane set, where the tile needs
// one.
func (g *generator) upperHalves(t *tile) reg.VecVirtual {
	if t.level == levelDot {
		return nil
	}
	upper := g.vec()
	g.VMOVUPS(g.word("upperHalf", 0xffff0000), upper)
	return upper
}

func (g *generator) prefetchPairs(t *tile, w rows) {
	if t.rows > 1 {
		return
	}
	for p := range t.panels {
		for i := range pairsOnce {
			g.PREFETCHT0(w.at(p, aheadHalves+i*lineBytes))
		}
	}
}

// bf16Pair adds the products of pair i after the current addresses.
func (g *generator) bf16Pair(t *tile, s sums, w, x rows, upper reg.VecVirtual, i int) {
	line := func(p, v int) operand.Mem { return w.at(p, i*lineBytes+v*g.bytes()) }
	pair := func(r int) operand.Mem { return x.at(r, i*pairBytes) }
	if t.level == levelDot {
		g.products(s, func(p, v int) reg.VecVirtual {
			both := g.vec()
			g.VMOVUPS(line(p, v), both)
			return both
		}, func(r int) reg.VecVirtual {
			both := g.vec()
			g.VPBROADCASTD(pair(r), both)
			return both
		}, g.dotBF16)
		return
	}
	g.bf16Halves(s, s, w, x, upper, i)
}

// bf16Halves adds the products of odd k of pair i to odd, then those of even k to even.
func (g *generator) bf16Halves(odd, even sums, w, x rows, upper reg.VecVirtual, i int) {
	type half func(m operand.Mem, upper reg.VecVirtual, broadcast bool) reg.VecVirtual
	add := func(s sums, of half) {
		g.products(s, func(p, v int) reg.VecVirtual { return of(w.at(p, i*lineBytes+v*g.bytes()), upper, false) },
			func(r int) reg.VecVirtual { return of(x.at(r, i*pairBytes), upper, true) }, g.multiplyAdd)
	}
	add(odd, g.oddHalf)
	add(even, g.evenHalf)
}

// bf16Last adds the products of the last k of an odd number. It reads not a byte behind it.
func (g *generator) bf16Last(t *tile, s sums, w, x rows) {
	add := g.multiplyAdd
	if t.level == levelDot { // a pair of which the odd one is zero
		add = g.dotBF16
	}
	widen := func(v reg.VecVirtual) reg.VecVirtual {
		if t.level != levelDot {
			g.VPSLLD(operand.U8(16), v, v)
		}
		return v
	}
	g.products(s, func(p, v int) reg.VecVirtual {
		half := g.vec()
		g.VPMOVZXWD(w.at(p, v*lastBytes/len(s[0][p])), half)
		return widen(half)
	}, func(r int) reg.VecVirtual {
		one, all := g.GP32(), g.vec()
		g.MOVWLZX(x.at(r, 0), one)
		g.VMOVD(one, all.AsX())
		g.VPBROADCASTD(all.AsX(), all)
		return widen(all)
	}, add)
}

// products adds to each sum what add makes of a row's and a panel's operand. Several rows
// load those of the panels once.
func (g *generator) products(s sums, weight func(p, v int) reg.VecVirtual, row func(r int) reg.VecVirtual, add func(x operand.Op, w, sum reg.VecVirtual)) {
	if len(s) > 1 {
		weight = loadOnce(s[0], weight)
	}
	for r := range s {
		x := row(r)
		for p := range s[r] {
			for v, sum := range s[r][p] {
				add(x, weight(p, v), sum)
			}
		}
	}
}

// loadOnce loads the operands of all panels and returns what finds them.
func loadOnce(panels [][]reg.VecVirtual, load func(p, v int) reg.VecVirtual) func(p, v int) reg.VecVirtual {
	loaded := make([][]reg.VecVirtual, len(panels))
	for p := range panels {
		for v := range panels[p] {
			loaded[p] = append(loaded[p], load(p, v))
		}
	}
	return func(p, v int) reg.VecVirtual { return loaded[p][v] }
}

func (g *generator) multiplyAdd(x operand.Op, w, sum reg.VecVirtual) { g.VFMADD231PS(x, w, sum) }

// oddHalf returns the odd element of each pair at m as float32; with broadcast of the one
// pair there, in all lanes. upper has the upper half of each lane set.
func (g *generator) oddHalf(m operand.Mem, upper reg.VecVirtual, broadcast bool) reg.VecVirtual {
	to := g.vec()
	switch {
	case g.wide() && broadcast:
		g.VPANDD_BCST(m, upper, to)
	case g.wide():
		g.VPANDD(m, upper, to)
	case broadcast:
		g.VPBROADCASTD(m, to)
		g.VPAND(to, upper, to)
	default:
		g.VPAND(m, upper, to)
	}
	return to
}

// evenHalf returns the even elements; it does not need upper.
func (g *generator) evenHalf(m operand.Mem, _ reg.VecVirtual, broadcast bool) reg.VecVirtual {
	to := g.vec()
	switch {
	case g.wide() && broadcast:
		g.VPSLLD_BCST(operand.U8(16), m, to)
		return to
	case g.wide():
		g.VPSLLD(operand.U8(16), m, to)
		return to
	case broadcast:
		g.VPBROADCASTD(m, to)
	default:
		g.VMOVDQU(m, to)
	}
	g.VPSLLD(operand.U8(16), to, to)
	return to
}
