package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// partKind is a kind of expanded parts.
type partKind struct {
	format
	groups int
	offset bool // bytes have an offset of 128, which integer sums lose, and no mins are read
}

// partTiles generates the tiles of expanded parts with VNNI; those for AVX2 are pairTiles.
func partTiles(g *generator) {
	for _, k := range []partKind{{"Part", 1, false}, {"Part16", 2, false}, {"PartOffset", 1, true}, {"PartOffset16", 2, true}} {
		for _, t := range []tile{
			{rows: 6, panels: 2}, {rows: 4, panels: 2}, {rows: 2, panels: 2}, {rows: 1, panels: 2},
			{rows: 8, panels: 1}, {rows: 4, panels: 1}, {rows: 2, panels: 1}, {rows: 1, panels: 1},
			{rows: 6, panels: 2, swiglu: true}, {rows: 4, panels: 2, swiglu: true}, {rows: 2, panels: 2, swiglu: true},
			{rows: 1, panels: 2, swiglu: true},
		} {
			if t.rows == 6 && k.groups == 2 {
				continue // registers do not hold more than 4
			}
			t.format, t.isa, t.level = k.format, avx512, "VNNI"
			g.partTile(k, &t)
		}
	}
}

// partTile generates a tile.
func (g *generator) partTile(k partKind, t *tile) {
	g.begin(t)
	b := &partBlock{generator: g, kind: k, tile: t, magic: g.vec()}
	b.w, b.x, b.s = g.panelAddresses(t), g.xAddresses(t), g.newSums(t)
	g.VMOVUPS(g.word("start", startBits), b.magic)
	if k.offset && k.groups == 2 {
		b.times = g.vec()
		g.VMOVUPS(g.word("times16", 4<<23), b.times)
	}
	blocks := g.arg("blocks")
	loop, done := g.label("loop"), g.label("done")
	g.TESTQ(blocks, blocks)
	g.JZ(operand.LabelRef(done))
	g.Label(loop)
	if t.panels == 2 {
		b.products(0, 1)
	} else {
		b.products(0)
	}
	g.advance(b.w, partBytes(k.groups))
	g.advance(b.x, q8aBytes)
	g.DECQ(blocks)
	g.JNZ(operand.LabelRef(loop))
	g.Label(done)
	g.finish(t, b.s)
}

// vnniMost is the largest byte: VNNI adds products of all of them in 32 bits.
const vnniMost = 255

// partBlock is what the code for a part uses.
type partBlock struct {
	*generator
	*tile
	kind  partKind
	w, x  rows
	s     sums
	magic reg.VecVirtual // startBits
	times reg.VecVirtual // see offsetVectors
}

// products adds the products of a part of some panels. A word of x is loaded once for two of them.
func (b *partBlock) products(panels ...int) {
	d := b.newDots(b.kind.offset, vnniMost)
	d.offset = offsetVectors{magic: b.magic, times: b.times}
	terms := make([]*term, len(panels))
	for i := range terms {
		terms[i] = b.newTerm(b.rows, b.kind.offset, b.magic)
	}
	each := partWords / b.kind.groups
	for i := range b.kind.groups {
		acc := make([]*accumulator, len(panels))
		for n := range panels {
			acc[n] = d.accumulators(b.rows)
		}
		d.start(acc[0], i, b.kind.groups, b.x)
		for _, a := range acc[1:] {
			d.startLike(a, acc[0])
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
		b.VMOVUPS(b.w.at(p, 64*j), u[n])
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
	scale, low := b.vec(), b.vec()
	b.VMOVUPS(b.w.at(p, partScales+i*vectorSize), scale)
	if !b.kind.offset {
		b.VMOVUPS(b.w.at(p, partMins(b.kind.groups)+i*vectorSize), low)
	}
	for r := range acc {
		t.add(r, i, b.kind.groups, acc[r], scale, low, b.x)
	}
}
