package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// partKind is a kind of expanded parts.
type partKind struct {
	format
	groups int
	signed bool // bytes have an offset of 128, and no mins are read
	most   int  // the largest byte of other kinds
}

// partTiles generates the tiles of expanded parts.
func partTiles(g *generator) {
	for _, k := range []partKind{{"Part", 1, false, 31}, {"Part16", 2, false, 63}, {"PartSigned", 1, true, 255}, {"Part16Large", 2, false, 127}} {
		for _, t := range []tile{
			{rows: 6, panels: 2}, {rows: 4, panels: 2}, {rows: 2, panels: 2}, {rows: 1, panels: 2},
			{rows: 8, panels: 1}, {rows: 4, panels: 1}, {rows: 2, panels: 1}, {rows: 1, panels: 1},
			{rows: 6, panels: 2, swiglu: true}, {rows: 4, panels: 2, swiglu: true}, {rows: 2, panels: 2, swiglu: true},
			{rows: 1, panels: 2, swiglu: true},
		} {
			switch {
			case t.rows == 6 && k.groups == 2:
				continue // registers do not hold more than 4
			case k.format == "Part16Large":
				continue // products are added in 32 bits, so Part16 has the same code
			}
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
		b := &partBlock{generator: g, kind: k, tile: t, at: h * g.bytes()}
		b.w, b.x, b.s = g.panelAddresses(t), g.xAddresses(t), g.newHalfSums(t)
		if g.wide() {
			b.magic = g.vec()
			g.VMOVUPS(g.word("start", startBits), b.magic)
		}
		blocks := g.arg("blocks")
		loop, done := g.label("loop"), g.label("done")
		g.TESTQ(blocks, blocks)
		g.JZ(operand.LabelRef(done))
		g.Label(loop)
		if g.wide() && t.panels == 2 {
			b.products(0, 1)
		} else {
			for p := range t.panels {
				b.products(p)
			}
		}
		g.advance(b.w, partBytes(k.groups))
		g.advance(b.x, q8aBytes)
		g.DECQ(blocks)
		g.JNZ(operand.LabelRef(loop))
		g.Label(done)
		g.write(t, b.s, stride, h*g.isa.lanes)
	}
	g.ret()
}

// partBlock is what the code for a part uses.
type partBlock struct {
	*generator
	*tile
	kind  partKind
	at    int // of the vector in each 64 bytes
	w, x  rows
	s     sums
	magic reg.VecVirtual // startBits, with AVX-512
}

// products adds the products of a part of some panels. A word of x is loaded once for two of them.
func (b *partBlock) products(panels ...int) {
	d := b.newDots(b.kind.signed, b.kind.most)
	terms := make([]*term, len(panels))
	for i := range terms {
		terms[i] = b.newTerm(b.rows, b.kind.signed, b.magic)
	}
	each := partWords / b.kind.groups
	for i := range b.kind.groups {
		acc := make([]*accumulator, len(panels))
		for n := range panels {
			acc[n] = d.accumulators(b.rows)
			d.start(acc[n], b.x)
		}
		for j := i * each; j < (i+1)*each; j++ {
			b.words(d, acc, panels, j)
		}
		for n, p := range panels {
			b.terms(terms[n], i, p, d.result(acc[n]))
		}
	}
	for n, p := range panels {
		for r := range b.rows {
			terms[n].finish(r, b.s[r][p][0], b.x)
		}
	}
}

// words adds the products of word j of each panel.
func (b *partBlock) words(d *dots, acc []*accumulator, panels []int, j int) {
	u := b.vecs(len(panels))
	for n, p := range panels {
		b.VMOVUPS(b.w.at(p, 64*j+b.at), u[n])
	}
	if len(panels) == 1 {
		d.word(acc[0], j, u[0], b.x)
		return
	}
	for r := range b.rows {
		x := b.vec()
		b.VBROADCASTSS(b.x.at(r, 4*j), x)
		for n := range panels {
			b.dot(x, u[n], acc[n].wide[r])
		}
	}
}

// terms adds group i to the terms of the rows.
func (b *partBlock) terms(t *term, i, p int, acc []reg.VecVirtual) {
	var scale, low operand.Op = b.w.at(p, partScales+i*vectorSize+b.at), b.w.at(p, partMins(b.kind.groups)+i*vectorSize+b.at)
	if b.generator.wide() {
		s, m := b.vec(), b.vec()
		b.VMOVUPS(scale, s)
		if !b.kind.signed {
			b.VMOVUPS(low, m)
		}
		scale, low = s, m
	}
	for r := range acc {
		t.add(r, i, b.kind.groups, acc[r], scale, low, b.x)
	}
}
