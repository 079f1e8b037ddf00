package main

import (
	"github.com/mmcloughlin/avo/reg"
)

// partKind is a kind of expanded parts.
type partKind struct {
	format
	offset bool // bytes have an offset of 128, which integer sums lose, and no mins are read
}

// partTileShapes are the tiles of expanded parts and of expanded superblocks with VNNI.
var partTileShapes = []tile{
	{rows: 6, panels: 2}, {rows: 4, panels: 2}, {rows: 2, panels: 2}, {rows: 1, panels: 2},
	{rows: 8, panels: 1}, {rows: 4, panels: 1}, {rows: 2, panels: 1}, {rows: 1, panels: 1},
	{rows: 6, panels: 2, swiglu: true}, {rows: 4, panels: 2, swiglu: true}, {rows: 2, panels: 2, swiglu: true},
	{rows: 1, panels: 2, swiglu: true},
}

// partTiles generates the tiles of expanded parts with VNNI; those for AVX2 are pairTiles.
func partTiles(g *generator) {
	for _, k := range []partKind{{"Part", false}, {"PartOffset", true}} {
		for _, t := range partTileShapes {
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
	g.eachBlock(func() {
		b.products()
		g.advance(b.w, partBytes)
		g.advance(b.x, q8aBytes)
	})
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
}

// products adds the products of a part of all panels. A word of x is loaded once for two of them.
func (b *partBlock) products() {
	d := b.newDots(b.kind.offset, vnniMost)
	d.offset = offsetVectors{magic: b.magic}
	acc := make([]*accumulator, b.panels)
	for p := range acc {
		acc[p] = d.accumulators(b.rows)
	}
	d.start(acc[0], b.x)
	for _, a := range acc[1:] {
		d.startLike(a, acc[0])
	}
	for j := range partWords {
		b.words(d, acc, j)
	}
	for p, a := range acc {
		b.terms(p, d.result(a))
	}
}

// words adds the products of word j of each panel.
func (b *partBlock) words(d *dots, acc []*accumulator, j int) {
	u := b.vecs(b.panels)
	for p := range u {
		b.VMOVUPS(b.w.at(p, 64*j), u[p])
	}
	if b.panels == 1 {
		d.word(acc[0], j, u[0], b.x)
		return
	}
	for r := range b.rows {
		x := b.vec()
		b.VBROADCASTSS(b.x.at(r, 4*j), x)
		for p := range u {
			b.dot(x, u[p], acc[p].wide[r])
		}
	}
}

// terms adds what a part of panel p gives to the sums of the rows.
func (b *partBlock) terms(p int, acc []reg.VecVirtual) {
	t, scale, low := b.newTerm(b.rows, b.kind.offset, b.magic), b.vec(), b.vec()
	b.VMOVUPS(b.w.at(p, partScales), scale)
	if !b.kind.offset {
		b.VMOVUPS(b.w.at(p, partMins), low)
	}
	for r := range acc {
		t.add(r, acc[r], scale, low, b.x)
		t.finish(r, b.s[r][p][0], b.x)
	}
}
