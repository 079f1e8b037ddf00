package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// levelDot is the suffix of tiles that use VDPBF16PS.
const levelDot = "DOT"

// bf16Tiles generates the tiles of bfloat16: x has this format as well, and panels hold
// pairs of k (see tile.PackPanel), so that a 32-bit lane is two elements of a row. All tiles add
// the product of the odd k first and then that of the even one, as VDPBF16PS does. Products of
// bfloat16 are exact in float32, so that all instructions yield the same bits, except for
// denormals.
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
		if t.rows > 1 {
			continue // see widenedTile
		}
		t.format, t.isa, t.level = formatBF16, avx2, avx2.name
		g.bf16Tile(&t)
	}
	for _, rows := range []int{6, 4, 2} {
		g.widenedTile(&tile{format: formatBF16, isa: avx2, level: avx2.name, rows: rows, panels: 1, widened: true})
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
	g.bf16Loop(t, s, w, x, k, next)
	g.finish(t, s)
}

// widenedTile adds to sums in memory. Its x is float32, which the caller has widened once for
// several panels: each element is a broadcast from memory, without a mask or a shift. 6 rows take
// all 16 registers: 12 sums, 2 of weights, one of x and the mask. Their loop has 29 instructions
// for each row and 8 of k, the one of f16 with 4 rows has 32.
func (g *generator) widenedTile(t *tile) {
	g.isa = t.isa
	g.function(t.name(), []string{fmt.Sprintf("%s adds the products of %d rows of x with a panel of w to sums. See widenedFunc.", t.name(), t.rows)}, nil,
		pointers("sums", "x", "w"), integers("sumStride", "xStride", "blocks"), addresses("next"))
	w, x, k, next := g.panelAddresses(t), g.xAddresses(t), g.arg("blocks"), g.newAsk(t)
	s, at := make(sums, t.rows), g.newRows(g.arg("sums"), g.arg("sumStride"), t.rows)
	for r := range s {
		s[r] = [][]reg.VecVirtual{g.vecs(panelRows / t.isa.lanes)}
	}
	g.eachSum(s, func(v reg.VecVirtual, r, disp int) { g.VMOVUPS(at.at(r, disp), v) })
	g.bf16Loop(t, s, w, x, k, next)
	to := g.newRows(g.arg("sums"), g.arg("sumStride"), t.rows)
	g.eachSum(s, func(v reg.VecVirtual, r, disp int) { g.VMOVUPS(v, to.at(r, disp)) })
	g.ret()
}

// eachSum calls f for each vector of sums of one panel, with its row and its distance in bytes
// from the row's first.
func (g *generator) eachSum(s sums, f func(v reg.VecVirtual, r, disp int)) {
	for r := range s {
		for i, v := range s[r][0] {
			f(v, r, i*g.bytes())
		}
	}
}

// bf16Loop adds the products of all k to the sums.
func (g *generator) bf16Loop(t *tile, s sums, w, x rows, k, next reg.GPVirtual) {
	upper := g.upperHalves(t)
	loop, rest, last, done := g.label("loop"), g.label("rest"), g.label("last"), g.label("done")
	prefetch := g.newPrefetchHalves(t, w, pairsOnce*lineBytes)
	g.SUBQ(operand.U8(2*pairsOnce), k)
	g.JL(operand.LabelRef(rest))
	g.Label(loop)
	prefetch()
	g.ask(t, next, w, pairsOnce*lineBytes)
	for i := range pairsOnce {
		g.bf16Pair(t, s, w, x, upper, i)
	}
	g.advance(w, pairsOnce*lineBytes)
	g.advance(x, pairsOnce*t.xPairBytes())
	g.SUBQ(operand.U8(2*pairsOnce), k)
	g.JGE(operand.LabelRef(loop))

	g.Label(rest)
	g.ADDQ(operand.U8(2*pairsOnce-2), k)
	g.JL(operand.LabelRef(last))
	single := g.label("single")
	g.Label(single)
	g.bf16Pair(t, s, w, x, upper, 0)
	g.advance(w, lineBytes)
	g.advance(x, t.xPairBytes())
	g.SUBQ(operand.U8(2), k)
	g.JGE(operand.LabelRef(single))

	g.Label(last)
	g.ADDQ(operand.U8(2), k)
	g.JZ(operand.LabelRef(done))
	g.bf16Last(t, s, w, x)
	g.Label(done)
}

// xPairBytes is the bytes of a pair of k in a row of x.
func (t *tile) xPairBytes() int {
	if t.widened {
		return 2 * pairBytes
	}
	return pairBytes
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
	if t.widened {
		g.widenedPair(t, s, w, x, upper, i)
		return
	}
	g.bf16Halves(s, s, w, x, upper, i)
}

// widenedPair is bf16Halves for rows of float32.
func (g *generator) widenedPair(t *tile, s sums, w, x rows, upper reg.VecVirtual, i int) {
	add := func(of func(m operand.Mem, upper reg.VecVirtual, from operandForm) reg.VecVirtual, element int) {
		g.products(s, func(p, v int) reg.VecVirtual { return of(w.at(p, i*lineBytes+v*g.bytes()), upper, vector) },
			func(r int) reg.VecVirtual { return g.element(x.at(r, i*t.xPairBytes()+element*4)) }, g.multiplyAdd)
	}
	add(g.oddHalf, 1)
	add(g.evenHalf, 0)
}

// element returns the float32 at m in all lanes.
func (g *generator) element(m operand.Mem) reg.VecVirtual {
	all := g.vec()
	g.VBROADCASTSS(m, all)
	return all
}

// bf16Halves adds the products of odd k of pair i to odd, then those of even k to even.
func (g *generator) bf16Halves(odd, even sums, w, x rows, upper reg.VecVirtual, i int) {
	type halfOf func(m operand.Mem, upper reg.VecVirtual, from operandForm) reg.VecVirtual
	add := func(s sums, of halfOf) {
		g.products(s, func(p, v int) reg.VecVirtual { return of(w.at(p, i*lineBytes+v*g.bytes()), upper, vector) },
			func(r int) reg.VecVirtual { return of(x.at(r, i*pairBytes), upper, broadcast) }, g.multiplyAdd)
	}
	add(odd, g.oddHalf)
	add(even, g.evenHalf)
}

// bf16Last adds the products of the last k of an odd number. It reads no byte after it.
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
		if t.widened {
			return g.element(x.at(r, 0))
		}
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

// operandForm is how many pairs of bfloat16 an operand in memory has.
type operandForm uint8

const (
	vector    operandForm = iota // one for each lane
	broadcast                    // one for all lanes
)

// oddHalf returns the odd element of each pair at m as float32. upper has the upper half of each lane
// set.
func (g *generator) oddHalf(m operand.Mem, upper reg.VecVirtual, from operandForm) reg.VecVirtual {
	to := g.vec()
	switch {
	case g.wide() && from == broadcast:
		g.VPANDD_BCST(m, upper, to)
	case g.wide():
		g.VPANDD(m, upper, to)
	case from == broadcast:
		g.VPBROADCASTD(m, to)
		g.VPAND(to, upper, to)
	default:
		g.VPAND(m, upper, to)
	}
	return to
}

// evenHalf returns the even elements; it does not need upper.
func (g *generator) evenHalf(m operand.Mem, _ reg.VecVirtual, from operandForm) reg.VecVirtual {
	to := g.vec()
	switch {
	case g.wide() && from == broadcast:
		g.VPSLLD_BCST(operand.U8(16), m, to)
		return to
	case g.wide():
		g.VPSLLD(operand.U8(16), m, to)
		return to
	case from == broadcast:
		g.VPBROADCASTD(m, to)
	default:
		g.VMOVDQU(m, to)
	}
	g.VPSLLD(operand.U8(16), to, to)
	return to
}
