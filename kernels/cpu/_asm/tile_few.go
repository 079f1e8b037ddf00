package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// narrowFewTiles generates the tiles of a few rows of x for 256 bits and q8_0 or q4_0, which read panels as they are
// stored. The room for sums, in the frame, does not suffice for 8 rows and two weights: functions without a check of the
// stack have 800 bytes.
func (g *generator) narrowFewTiles(f format) {
	for _, rows := range []int{8, 4, 2} {
		g.plainFewTile(&tile{format: f, isa: g.isa, level: g.isa.name, rows: rows, panels: 1})
		if rows < 8 {
			g.plainFewTile(&tile{format: f, isa: g.isa, level: g.isa.name, rows: rows, panels: 2, swiglu: true})
		}
	}
}

// plainFewTile generates a tile. Registers hold the integer sums of some rows and a whole panel, or of all rows and half a
// panel of nibbles. It prefetches panels that follow its own unless next is 0.
func (g *generator) plainFewTile(t *tile) {
	g.begin(t)
	b := &pairBlock{generator: g, tile: t, scratch: g.GP64()}
	b.w, b.x = g.panelAddresses(t), g.xAddresses(t)
	size := t.panels * t.rows * vectorSize
	g.LEAQ(g.local(size+vectorSize).Offset(vectorSize-1), b.scratch)
	g.ANDQ(operand.I8(-vectorSize), b.scratch)
	b.clearSums()
	if t.isa == avx2 && !t.inNibbles() {
		b.ones = g.vec()
		g.VMOVDQU(g.word("ones16", 0x00010001), b.ones)
	}
	blocks := g.arg("blocks")
	loop, done, asked := g.label("loop"), g.label("done"), g.label("asked")
	g.TESTQ(blocks, blocks)
	g.JZ(operand.LabelRef(done))
	g.Label(loop)
	g.CMPQ(g.paramAt("next"), operand.U8(0))
	g.JEQ(operand.LabelRef(asked))
	for p := range t.panels {
		g.prefetchFew(b.w, p, t.blockBytes())
	}
	g.Label(asked)
	for p := range t.panels {
		if !t.inNibbles() {
			for first := 0; first < t.rows; first += mostDotRows {
				b.addDots(p, first, min(mostDotRows, t.rows-first))
			}
			continue
		}
		for h := range g.halves() {
			b.addHalf(p, h)
		}
	}
	g.advance(b.w, t.blockBytes())
	g.advance(b.x, q8aBytes)
	g.DECQ(blocks)
	g.JNZ(operand.LabelRef(loop))
	g.Label(done)
	b.write()
	g.ret()
}

// addHalf adds the products of a block of nibbles of half h of panel p. The steps for an element are those of narrowBlock.
func (b *pairBlock) addHalf(p, h int) {
	acc := b.vecs(b.rows)
	b.halfOfNibbles(acc, p, h)
	scale := b.vec()
	b.VCVTPH2PS(b.w.at(p, b.groups()*64+h*16), scale)
	for r, v := range acc {
		product := b.vec()
		b.VBROADCASTSS(b.x.at(r, q8aScale), product)
		b.VMULPS(scale, product, product)
		b.VFMADD213PS(b.sum(p, r, h), product, v)
		b.VMOVUPS(v, b.sum(p, r, h))
	}
}

// halfOfNibbles sets sums to the products of a block of q4_0, as float32.
func (b *pairBlock) halfOfNibbles(acc []reg.VecVirtual, p, h int) {
	mask := b.vec()
	b.VMOVDQU(b.word("nibbles", 0x0f0f0f0f), mask)
	for j := range b.groups() {
		low, high := b.vec(), b.vec()
		b.VMOVDQU(b.w.at(p, 64*j+32*h), low)
		b.VPSRLW(operand.U8(4), low, high)
		b.VPAND(mask, low, low)
		b.VPAND(mask, high, high)
		for i, u := range []reg.VecVirtual{low, high} {
			b.addNibbles(acc, 4*j+16*i, u)
		}
	}
	for r, v := range acc {
		b.avx2Widen(v, b.x.at(r, b.start()))
	}
}

// addNibbles adds a word in 16 bits, or begins the sums with it.
func (b *pairBlock) addNibbles(acc []reg.VecVirtual, at int, u reg.VecVirtual) {
	for r := range acc {
		product := b.vec()
		b.VPBROADCASTD(b.x.at(r, at), product)
		if at == 0 {
			b.VPMADDUBSW(product, u, acc[r])
			continue
		}
		b.VPMADDUBSW(product, u, product)
		b.VPADDW(product, acc[r], acc[r])
	}
}

// mostDotRows is the rows of x that meet both vectors of a panel at once. More would fit registers, but 8 are divided
// evenly.
const mostDotRows = 4

// addDots adds the products of a block of panel p for some rows of x from the first on.
func (b *pairBlock) addDots(p, first, rows int) {
	acc := make([][]reg.VecVirtual, rows)
	for r := range acc {
		acc[r] = b.vecs(2)
		b.VPBROADCASTD(b.x.at(first+r, b.start()), acc[r][0])
		b.VMOVDQA(acc[r][0], acc[r][1])
	}
	unsigned := b.newUnsigned(b.format)
	for j := range b.groups() {
		left, right := unsigned(b.w.at(p, 64*j)), unsigned(b.w.at(p, 64*j+b.generator.bytes()))
		for i := range left {
			b.dotWords(acc, []reg.VecVirtual{left[i], right[i]}, 4*j+16*i, first)
		}
	}
	scale, start := b.vecs(2), b.vec()
	for h, s := range scale {
		b.VCVTPH2PS(b.w.at(p, b.groups()*64+h*16), s)
	}
	b.VMOVDQU(b.word("start", startBits), start)
	for r := range acc {
		d := b.vec()
		b.VBROADCASTSS(b.x.at(first+r, q8aScale), d)
		for h, v := range acc[r] {
			product := b.vec()
			b.VSUBPS(start, v, v)
			b.VMULPS(scale[h], d, product)
			b.VFMADD213PS(b.sum(p, first+r, h), product, v)
			b.VMOVUPS(v, b.sum(p, first+r, h))
		}
	}
}

// dotWords adds the products of a word of both vectors of a panel with what is at an offset of rows of x, from the first
// on. A word of x is loaded once for both.
func (b *pairBlock) dotWords(acc [][]reg.VecVirtual, u []reg.VecVirtual, at, first int) {
	for r := range acc {
		x := b.vec()
		b.VPBROADCASTD(b.x.at(first+r, at), x)
		for h, v := range acc[r] {
			scratch := x
			if h == 0 && b.generator.isa == avx2 {
				scratch = b.vec()
			}
			b.addDot(scratch, x, u[h], v, b.ones)
		}
	}
}
