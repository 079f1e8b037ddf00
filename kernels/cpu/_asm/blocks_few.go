package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// fewTiles generates the tiles of a few rows of x for formats with a scheme and without superblocks. They read panels as they are stored: what
// is unpacked is used for all rows and goes through no memory.
func fewTiles(g *generator) {
	for i := range schemes {
		if s := &schemes[i]; !s.super && !s.signed() {
			for _, rows := range []int{4, 2} {
				g.narrowFewTile(s, &tile{format: s.format, isa: avx2, level: avx2.name, rows: rows, panels: 1})
				g.narrowFewTile(s, &tile{format: s.format, isa: avx2, level: avx2.name, rows: rows, panels: 2, swiglu: true})
			}
		}
	}
	g.isa = avx512
	for i := range schemes {
		s := &schemes[i]
		if s.super {
			continue
		}
		for _, rows := range []int{8, 4, 2} {
			g.fewTile(s, &tile{format: s.format, isa: avx512, level: "VNNI", rows: rows, panels: 1})
			g.fewTile(s, &tile{format: s.format, isa: avx512, level: "VNNI", rows: rows, panels: 2, swiglu: true})
		}
	}
}

// fewTile generates a tile. Prefetches are those of prefetchPart: with prefetchFew, which only brings weights into the
// second-level cache, 2 to 8 rows from memory had 0.7 to 0.9 of the speed on Zen 4.
func (g *generator) fewTile(s *scheme, t *tile) {
	g.begin(t)
	b := &fewBlock{blockSource: g.newBlockSource(s, g.panelAddresses(t)), tile: t, x: g.xAddresses(t), s: g.newSums(t), magic: g.vec()}
	g.VMOVUPS(g.word("start", startBits), b.magic)
	if s.integral() && b.byteOffset() != partOffset {
		b.eighth = g.vec()
		g.VMOVUPS(b.eighthOfOffset(), b.eighth)
	}
	b.overParts(func() {
		for p := range t.panels {
			g.prefetchPart(t, b.blockSource, p)
			b.add(p)
		}
		g.advance(b.x, q8aBytes)
	})
	g.finish(t, b.s)
}

// fewBlock is what the code for a part uses.
type fewBlock struct {
	*blockSource
	*tile
	x      rows
	s      sums
	magic  reg.VecVirtual // startBits
	eighth reg.VecVirtual // see kept.offset
}

// add adds the products of a part of panel p.
func (b *fewBlock) add(p int) {
	integral := b.integral()
	d := b.newDots(integral, vnniMost)
	d.offset = offsetVectors{magic: b.magic, eighth: b.eighth}
	acc := b.accumulators()
	d.start(acc, b.x)
	b.bytesOf(p, 0, func(j int, u reg.VecVirtual) { d.word(acc, j, u, b.x) })
	t, scale := b.newTerm(b.rows, integral, b.magic), b.scale(p, 0)
	var low reg.VecVirtual
	if !integral {
		low = b.min(p, 0, scale)
	}
	for r, v := range d.result(acc) {
		t.add(r, v, scale, low, b.x)
		t.finish(r, b.s[r][p][0], b.x)
	}
}

// accumulators returns sums that begin at zero where they have no start. They are cleared by an instruction that reads
// another register: to the allocator, one that reads its own is in use before.
func (b *fewBlock) accumulators() *accumulator {
	a := &accumulator{wide: b.vecs(b.rows)}
	if !b.integral() {
		for _, v := range a.wide {
			b.VPXORD(b.magic, b.magic, v)
		}
	}
	return a
}

// narrowFewTile generates a tile for AVX2 and a format without signs. Registers hold the integer sums of a
// part of half a panel, and the frame those of float32, as in avx2FewTile. Prefetches are those of one row: with
// prefetchFew 2 rows from memory had 0.5 to 0.6 of the speed on Zen 4.
func (g *generator) narrowFewTile(s *scheme, t *tile) {
	g.begin(t)
	b := &narrowFewBlock{g.newBlockSource(s, g.panelAddresses(t)), &pairBlock{generator: g, tile: t, scratch: g.GP64()}}
	b.sums.x = g.xAddresses(t)
	g.LEAQ(g.local(t.panels*t.rows*vectorSize+vectorSize).Offset(vectorSize-1), b.sums.scratch)
	g.ANDQ(operand.I8(-vectorSize), b.sums.scratch)
	b.sums.clearSums()
	b.overParts(func() {
		for p := range t.panels {
			g.prefetchPart(t, b.blockSource, p)
			for h := range g.halves() {
				b.add(p, h)
			}
		}
		g.advance(b.sums.x, q8aBytes)
	})
	b.sums.write()
	g.ret()
}

// narrowFewBlock is what the code for a part uses.
type narrowFewBlock struct {
	*blockSource
	sums *pairBlock
}

// add adds the products of a part of half h of panel p.
func (b *narrowFewBlock) add(p, h int) {
	x := b.sums.x
	d := b.newDots(false, b.most())
	acc := d.accumulators(b.sums.rows)
	b.bytesOf(p, h, func(j int, u reg.VecVirtual) { d.word(acc, j, u, x) })
	t, s := b.newTerm(b.sums.rows, b.shifted(), nil), b.scale(p, h)
	var low reg.VecVirtual
	if !t.integral {
		low = b.min(p, h, s)
	}
	for r, v := range d.result(acc) {
		if t.integral {
			b.VPADDD(b.lostOffset(x, r, b.offsetPairs()), v, v)
		}
		t.add(r, v, s, low, x)
		sum := b.vec()
		b.VMOVUPS(b.sums.sum(p, r, h), sum)
		t.finish(r, sum, x)
		b.VMOVUPS(sum, b.sums.sum(p, r, h))
	}
}
