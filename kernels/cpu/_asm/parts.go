package main

import (
	"github.com/mmcloughlin/avo/operand"
)

// partKind is a kind of expanded parts.
type partKind struct {
	format
	groups int
	signed bool // bytes have an offset of 128, and no mins are read
}

// partTiles generates the tiles of expanded parts.
func partTiles(g *generator) {
	for _, k := range []partKind{{"Part", 1, false}, {"Part16", 2, false}, {"PartSigned", 1, true}} {
		for _, t := range []tile{
			{rows: 8, panels: 1}, {rows: 4, panels: 1}, {rows: 2, panels: 1}, {rows: 1, panels: 1},
			{rows: 4, panels: 2, swiglu: true}, {rows: 2, panels: 2, swiglu: true}, {rows: 1, panels: 2, swiglu: true},
		} {
			t.format, t.isa, t.level = k.format, avx512, "VNNI"
			g.partTile(k, &t, []int{0})
		}
		for _, t := range []tile{
			{rows: 4, panels: 1}, {rows: 2, panels: 1}, {rows: 1, panels: 1},
			{rows: 2, panels: 2, swiglu: true}, {rows: 1, panels: 2, swiglu: true},
		} {
			if t.rows == 4 && k.groups == 2 {
				t.rows = 3 // registers do not hold more
			}
			t.format, t.isa, t.level = k.format, avx2, avx2.name
			g.partTile(k, &t, []int{0, 1})
		}
	}
}

// partTile generates a tile. With AVX2 each vector of the panel is taken along k by itself.
func (g *generator) partTile(k partKind, t *tile, halves []int) {
	g.begin(t)
	stride := g.arg("dstStride")
	for _, h := range halves {
		w, x, blocks := g.panelAddresses(t), g.xAddresses(t), g.arg("blocks")
		s := g.newHalfSums(t)
		loop, done := g.label("loop"), g.label("done")
		g.TESTQ(blocks, blocks)
		g.JZ(operand.LabelRef(done))
		g.Label(loop)
		for p := range t.panels {
			g.partProducts(k, t, s, p, h*g.bytes(), w, x)
		}
		g.advance(w, partBytes(k.groups))
		g.advance(x, q8aBytes)
		g.DECQ(blocks)
		g.JNZ(operand.LabelRef(loop))
		g.Label(done)
		g.write(t, s, stride, h*g.isa.lanes)
	}
	g.ret()
}

// partProducts adds the products of a part of panel p, of the vector that is at bytes into each 64.
func (g *generator) partProducts(k partKind, t *tile, s sums, p, at int, w, x rows) {
	d, term := g.newDots(k.signed, k.groups == 2), g.newTerm(t.rows, k.signed)
	each := partWords / k.groups
	for i := range k.groups {
		a := d.accumulators(t.rows)
		d.start(a, x)
		for j := i * each; j < (i+1)*each; j++ {
			u := g.vec()
			g.VMOVUPS(w.at(p, 64*j+at), u)
			d.word(a, j, u, x)
		}
		scale := w.at(p, partScales+i*vectorSize+at)
		low := w.at(p, partMins(k.groups)+i*vectorSize+at)
		for r, acc := range d.result(a) {
			term.add(r, i, k.groups, acc, scale, low, x)
		}
	}
	for r := range t.rows {
		term.finish(r, s[r][p][0], x)
	}
}
