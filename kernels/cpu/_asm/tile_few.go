package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// narrowFewTiles generates the tiles of a few rows of x for 256 bits and q8_0 or q4_0, which read panels as they are
// stored; for AVX2 and q8_0 there are signsTiles. The room for sums, in the frame, does not suffice for 8 rows and two
// weights: functions without a check of the stack have 800 bytes.
func (g *generator) narrowFewTiles(f format) {
	for _, rows := range []int{8, 4, 2} {
		g.plainFewTile(&tile{format: f, isa: g.isa, level: g.isa.name, rows: rows, panels: 1})
		if rows < 8 {
			g.plainFewTile(&tile{format: f, isa: g.isa, level: g.isa.name, rows: rows, panels: 2, swiglu: true})
		}
	}
}

// plainFewTile generates a tile. Registers hold the integer sums of some rows and a whole panel. It prefetches panels that
// follow its own unless next is 0.
func (g *generator) plainFewTile(t *tile) {
	g.begin(t)
	b := &pairBlock{generator: g, tile: t, scratch: g.GP64()}
	b.w, b.x = g.panelAddresses(t), g.xAddresses(t)
	size := t.panels * t.rows * vectorSize
	g.LEAQ(g.local(size+vectorSize).Offset(vectorSize-1), b.scratch)
	g.ANDQ(operand.I8(-vectorSize), b.scratch)
	b.clearSums()
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
		for first := 0; first < t.rows; first += mostRowsAtOnce {
			b.addRows(p, first, min(mostRowsAtOnce, t.rows-first))
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

// mostRowsAtOnce is the rows of x that meet both vectors of a panel at once. More would fit registers, but 8 are divided
// evenly.
const mostRowsAtOnce = 4

// addRows adds the products of a block of panel p for some rows of x from the first on. The steps for an element are
// those of narrowBlock.
func (b *pairBlock) addRows(p, first, rows int) {
	acc := make([][]reg.VecVirtual, rows)
	for r := range acc {
		acc[r] = b.vecs(2)
	}
	if b.inNibbles() {
		b.addNibbles(acc, p, first)
	} else {
		b.addDots(acc, p, first)
	}
	scale, start := b.vecs(2), b.vec()
	b.VMOVDQU(b.word("start", startBits), start)
	for h, s := range scale {
		b.VCVTPH2PS(b.w.at(p, b.groups()*64+h*16), s)
	}
	for r := range acc {
		d := b.vec()
		b.VBROADCASTSS(b.x.at(first+r, q8aScale), d)
		for h, v := range acc[r] {
			b.VSUBPS(start, v, v)
			b.VMULPS(d, v, v)
			b.VFMADD213PS(b.sum(p, first+r, h), scale[h], v)
			b.VMOVUPS(v, b.sum(p, first+r, h))
		}
	}
}

// addDots sets sums to where they begin plus the products of bytes, with AVX-VNNI.
func (b *pairBlock) addDots(acc [][]reg.VecVirtual, p, first int) {
	for r := range acc {
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
}

// addNibbles sets sums to where they begin plus the products of nibbles, which are added in 16 bits.
func (b *pairBlock) addNibbles(acc [][]reg.VecVirtual, p, first int) {
	unsigned := b.newUnsigned(b.format)
	for j := range b.groups() {
		left, right := unsigned(b.w.at(p, 64*j)), unsigned(b.w.at(p, 64*j+b.generator.bytes()))
		for i := range left {
			for r, sums := range acc {
				b.narrowWords(sums, b.x.at(first+r, 4*j+16*i), []reg.VecVirtual{left[i], right[i]}, i+j == 0)
			}
		}
	}
	for r := range acc {
		from := b.vec()
		b.VPBROADCASTD(b.x.at(first+r, b.start()), from)
		for _, v := range acc[r] {
			b.VPMADDWD(b.word("ones16", 0x00010001), v, v)
			b.VPADDD(from, v, v)
		}
	}
}

// narrowWords adds the products of a word of both vectors of a panel with a word of x in 16 bits, or begins sums with
// them. The word of x is loaded once.
func (g *generator) narrowWords(sums []reg.VecVirtual, at operand.Mem, u []reg.VecVirtual, first bool) {
	x := g.vec()
	g.VPBROADCASTD(at, x)
	if first {
		for h, v := range sums {
			g.VPMADDUBSW(x, u[h], v)
		}
		return
	}
	product := []reg.VecVirtual{g.vec(), x}
	for h, v := range product {
		g.VPMADDUBSW(x, u[h], v)
	}
	for h, v := range sums {
		g.VPADDW(product[h], v, v)
	}
}

// dotWords adds the products of a word of both vectors of a panel with what is at an offset of rows of x, from the first
// on. A word of x is loaded once for both.
func (b *pairBlock) dotWords(acc [][]reg.VecVirtual, u []reg.VecVirtual, at, first int) {
	for r := range acc {
		x := b.vec()
		b.VPBROADCASTD(b.x.at(first+r, at), x)
		for h, v := range acc[r] {
			b.dot(x, u[h], v)
		}
	}
}
