package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// intTiles generates the tiles of a quantized format.
func intTiles(f format) func(*generator) {
	return func(g *generator) {
		for _, t := range []tile{
			{rows: 6, panels: 2}, {rows: 4, panels: 2}, {rows: 2, panels: 2}, {rows: 1, panels: 2},
			{rows: 8, panels: 1}, {rows: 4, panels: 1}, {rows: 2, panels: 1}, {rows: 1, panels: 1},
			{rows: 8, panels: 2, swiglu: true}, {rows: 6, panels: 2, swiglu: true}, {rows: 4, panels: 2, swiglu: true},
			{rows: 2, panels: 2, swiglu: true}, {rows: 1, panels: 2, swiglu: true},
			{rows: 1, panels: 4}, {rows: 1, panels: 4, swiglu: true},
		} {
			t.format, t.isa, t.level = f, avx512, "VNNI"
			g.vnniTile(&t)
		}
		for _, t := range []tile{
			{rows: 1, panels: 1}, {rows: 1, panels: 4}, {rows: 1, panels: 2},
			{rows: 1, panels: 2, swiglu: true}, {rows: 1, panels: 4, swiglu: true},
		} {
			t.format, t.isa, t.level = f, avx2, avx2.name
			g.narrowTile(&t)
		}
		if g.isa = avx2; f != formatQ8 {
			g.narrowFewTiles(f)
		}
		g.dotTiles(f)
	}
}

// dotTiles generates the tiles of a format with AVX-VNNI, which all read panels as they are stored.
func (g *generator) dotTiles(f format) {
	g.isa = avxVNNI
	for _, t := range []tile{
		{rows: 1, panels: 1}, {rows: 1, panels: 4}, {rows: 1, panels: 2},
		{rows: 1, panels: 2, swiglu: true}, {rows: 1, panels: 4, swiglu: true},
	} {
		t.format, t.isa, t.level = f, avxVNNI, avxVNNI.name
		g.narrowTile(&t)
	}
	g.narrowFewTiles(f)
}

// prefetches reports whether the tile prefetches weights as far ahead as its caller says. With a single row of x, memory
// limits the speed, and the processor's own prefetching stops at each page. Panels follow each other, so that the
// prefetches at the end of a panel are of the next one; a prefetch of an address that does not exist has no effect.
// q8_0 with VNNI gains from it where tiles have four panels.
func (t *tile) prefetches() bool {
	return t.rows == 1 && (t.isa.lanes == avx2.lanes || t.format == formatQ4 || t.panels == 4)
}

// start is where in a block of x the sum of integer products begins: what undoes the offset
// of 8 or 128 that stored weights have, plus startBits.
func (t *tile) start() int {
	if t.format == formatQ4 {
		return q8aStart4
	}
	return q8aStart8
}

// startBits are the bits of 1.5·2^23 as float32, whose last bit counts ones: a sum that
// begins there is, read as float32, 1.5·2^23 too large. Subtracting that is exact, and
// takes one instruction on ports that the products leave free.
const startBits = 0x4b400000

// groups is the groups of 64 bytes in a block of a panel; its scales follow them.
func (t *tile) groups() int {
	if t.format == formatQ4 {
		return 4
	}
	return 8
}

func (t *tile) blockBytes() int { return t.groups()*64 + panelRows*2 }

// vnniTile takes integer products of unsigned bytes of weights and signed ones of x: 4 of k
// in each lane and instruction, exact. With a single panel, or a single row of x, a whole
// block of weights is in registers and bytes of x come from memory with each product.
// With two panels and several rows both would load more than two operands a cycle, so that
// a register of x is loaded once for two products, and weights are unpacked in quarters,
// which leaves registers for the sums of 6 rows.
func (g *generator) vnniTile(t *tile) {
	g.begin(t)
	w, x, blocks := g.panelAddresses(t), g.xAddresses(t), g.arg("blocks")
	var next reg.GPVirtual
	if !t.few() {
		next = g.newAsk(t)
	}
	b := &vnniBlock{generator: g, tile: t, w: w, x: x, s: g.newSums(t), start: g.vec(), prefetch: g.newPrefetch(t, w)}
	g.VMOVUPS(g.word("start", startBits), b.start)
	if t.format == formatQ4 {
		b.nibbles = g.vec()
		g.VMOVUPS(g.word("nibbles", 0x0f0f0f0f), b.nibbles)
	}

	loop, done := g.label("loop"), g.label("done")
	g.TESTQ(blocks, blocks)
	g.JZ(operand.LabelRef(done))
	g.Label(loop)
	if t.few() {
		for p := range t.panels {
			g.prefetchFew(w, p, t.blockBytes())
		}
	} else {
		g.ask(t, next, w, t.blockBytes())
	}
	switch {
	case t.panels == 2 && t.rows == 8:
		b.wordByWord()
	case t.panels == 2 && t.rows > 1:
		b.pair()
	default:
		b.inTurn()
	}
	g.advance(w, t.blockBytes())
	g.advance(x, q8aBytes)
	g.DECQ(blocks)
	g.JNZ(operand.LabelRef(loop))
	g.Label(done)
	g.finish(t, b.s)
}

// vnniBlock is what the code for one block of k uses.
type vnniBlock struct {
	*generator
	*tile
	w, x           rows
	s              sums
	start, nibbles reg.VecVirtual
	prefetch       func(p int)
}

// pair adds the products of a block of two panels.
func (b *vnniBlock) pair() {
	acc := make([][]reg.VecVirtual, b.rows)
	for r := range acc {
		acc[r] = b.vecs(2)
		b.VBROADCASTSS(b.x.at(r, b.tile.start()), acc[r][0])
		b.VMOVAPS(acc[r][0], acc[r][1])
	}
	for j := range b.groups() {
		first, second := b.unpack(0, j), b.unpack(1, j)
		for half := range first {
			for r := range acc {
				x := b.vec()
				b.VBROADCASTSS(b.x.at(r, 4*j+16*half), x)
				b.dot(x, first[half], acc[r][0])
				b.dot(x, second[half], acc[r][1])
			}
		}
	}
	for p := range b.panels {
		scale := b.scales(p)
		for r := range acc {
			b.add(acc[r][p], scale, r, p)
		}
	}
}

// inTurn adds the products of a block of each panel. Several rows, or two halves of one,
// are interleaved, as each addition waits for the one before.
func (b *vnniBlock) inTurn() {
	for p := range b.panels {
		b.prefetch(p)
		var low, high []reg.VecVirtual
		for j := range b.groups() {
			u := b.unpack(p, j)
			low, high = append(low, u[0]), append(high, u[1:]...)
		}
		b.oneByOne(p, append(low, high...), b.scales(p))
	}
}

// wordByWord adds the products of a block of each panel, one after the other. It has one word of weights in registers
// at a time, as the sums of 8 rows and two panels leave no room for a block.
func (b *vnniBlock) wordByWord() {
	for p := range b.panels {
		acc := b.vecs(b.rows)
		for r := range acc {
			b.VBROADCASTSS(b.x.at(r, b.tile.start()), acc[r])
		}
		for j := range b.groups() {
			for half, u := range b.unpack(p, j) {
				for r := range acc {
					b.dot(b.x.at(r, 4*j+16*half), u, acc[r])
				}
			}
		}
		scale := b.scales(p)
		for r := range acc {
			b.add(acc[r], scale, r, p)
		}
	}
}

// oneByOne adds the products of panel p: word j of x goes with register j of weights.
func (b *vnniBlock) oneByOne(p int, weights []reg.VecVirtual, scale reg.VecVirtual) {
	acc := b.vecs(b.rows)
	for r := range acc {
		b.VBROADCASTSS(b.x.at(r, b.tile.start()), acc[r])
	}
	second := acc
	if b.rows == 1 {
		second = b.vecs(1)
		b.zero(second...)
	}
	for j, u := range weights {
		for r := range acc {
			to := acc[r]
			if j%2 == 1 {
				to = second[r]
			}
			b.dot(b.x.at(r, 4*j), u, to)
		}
	}
	if b.rows == 1 {
		b.VPADDD(second[0], acc[0], acc[0])
	}
	for r := range acc {
		b.add(acc[r], scale, r, p)
	}
}

// scales returns those of a block of panel p.
func (b *vnniBlock) scales(p int) reg.VecVirtual {
	scale := b.vec()
	b.VCVTPH2PS(b.w.at(p, b.groups()*64), scale)
	return scale
}

// add scales the sum of products of a block and adds it to that of row r and panel p.
func (b *vnniBlock) add(acc, scale reg.VecVirtual, r, p int) {
	b.VSUBPS(b.start, acc, acc)
	b.VMULPS_BCST(b.x.at(r, q8aScale), acc, acc)
	b.VFMADD231PS(scale, acc, b.s[r][p][0])
}

// unpack returns the bytes of group j of a block: k = 4j to 4j+3 of each row, for q4_0 also
// k = 16+4j to 16+4j+3.
func (b *vnniBlock) unpack(p, j int) []reg.VecVirtual {
	u := b.vec()
	b.VMOVUPS(b.w.at(p, 64*j), u)
	if b.format == formatQ8 {
		return []reg.VecVirtual{u}
	}
	high := b.vec()
	b.VPSRLW(operand.U8(4), u, high)
	b.VPANDD(b.nibbles, u, u)
	b.VPANDD(b.nibbles, high, high)
	return []reg.VecVirtual{u, high}
}

// newPrefetch returns what prefetches a block of a panel, one request a cache line, if the tile does so.
func (g *generator) newPrefetch(t *tile, w rows) func(p int) {
	if !t.prefetches() {
		return func(int) {}
	}
	return g.prefetchAhead(w, t.blockBytes())
}

// inNibbles reports whether products of nibbles are added in 16 bits.
func (t *tile) inNibbles() bool { return t.format == formatQ4 && t.isa == avx2 }

// narrowTile does the same for one row with 16-bit products, or with AVX-VNNI. A panel is two vectors of 8 rows. Several
// rows are for signsTiles, pairTiles and plainFewTile.
func (g *generator) narrowTile(t *tile) {
	g.begin(t)
	w, x, blocks := g.panelAddresses(t), g.xAddresses(t), g.arg("blocks")
	s, prefetch := g.newSums(t), g.newPrefetch(t, w)
	loop, done := g.label("loop"), g.label("done")
	g.TESTQ(blocks, blocks)
	g.JZ(operand.LabelRef(done))
	g.Label(loop)
	for p := range t.panels {
		prefetch(p)
		for half := range s[0][p] {
			g.narrowBlock(t, s[0][p][half], p, half, w, x)
		}
	}
	g.advance(w, t.blockBytes())
	g.advance(x, q8aBytes)
	g.DECQ(blocks)
	g.JNZ(operand.LabelRef(loop))
	g.Label(done)
	g.finish(t, s)
}

// narrowBlock adds the products of one block of half a panel. The integers are multiplied by the scale of x and rounded first: that is
// one step of signsTiles.
func (g *generator) narrowBlock(t *tile, sum reg.VecVirtual, p, half int, w, x rows) {
	acc, other := g.vec(), g.vec() // each product waits for the one before
	var unsigned func(from operand.Mem) []reg.VecVirtual
	if t.isa == avxVNNI {
		unsigned = g.newUnsigned(t.format)
		g.VPBROADCASTD(x.at(0, t.start()), acc)
		g.clear(other)
	}
	for j := range t.groups() {
		switch {
		case t.isa == avxVNNI:
			for i, u := range unsigned(w.at(p, 64*j+32*half)) {
				v, to := g.vec(), acc
				g.VPBROADCASTD(x.at(0, 4*j+16*i), v)
				if (i+j)%2 > 0 {
					to = other
				}
				g.dot(v, u, to)
			}
		case t.format == formatQ4:
			g.avx2Nibbles(acc, p, half, j, w, x)
		default:
			g.avx2Bytes(acc, p, half, j, w, x)
		}
	}
	switch {
	case t.isa == avxVNNI:
		g.VPADDD(other, acc, acc)
		g.VSUBPS(g.word("start", startBits), acc, acc)
	case t.format == formatQ4:
		g.avx2Widen(acc, x.at(0, t.start()))
	default:
		g.VCVTDQ2PS(acc, acc)
	}
	scale, d := g.vec(), g.vec()
	g.VCVTPH2PS(w.at(p, t.groups()*64+half*16), scale)
	g.VBROADCASTSS(x.at(0, q8aScale), d)
	g.VMULPS(d, acc, acc)
	g.VFMADD231PS(scale, acc, sum)
}

// newUnsigned returns what loads the unsigned bytes of a vector of a group of a panel: k = 4j to 4j+3 of each row, for q4_0
// also 16+4j to 16+4j+3.
func (g *generator) newUnsigned(f format) func(from operand.Mem) []reg.VecVirtual {
	load := func(from operand.Mem) reg.VecVirtual {
		u := g.vec()
		g.VMOVDQU(from, u)
		return u
	}
	if f == formatQ8 {
		return func(from operand.Mem) []reg.VecVirtual { return []reg.VecVirtual{load(from)} }
	}
	mask := load(g.word("nibbles", 0x0f0f0f0f))
	return func(from operand.Mem) []reg.VecVirtual {
		low, high := load(from), g.vec()
		g.VPSRLW(operand.U8(4), low, high)
		g.VPAND(mask, low, low)
		g.VPAND(mask, high, high)
		return []reg.VecVirtual{low, high}
	}
}

// avx2Nibbles adds a group of q4_0 in 16 bits: 16 products of at most 15·127 stay below
// 2^15, so that a block needs widening once.
func (g *generator) avx2Nibbles(acc reg.VecVirtual, p, half, j int, w, x rows) {
	low, high, mask := g.vec(), g.vec(), g.vec()
	g.VMOVDQU(g.word("nibbles", 0x0f0f0f0f), mask)
	g.VMOVDQU(w.at(p, 64*j+32*half), low)
	g.VPSRLW(operand.U8(4), low, high)
	g.VPAND(mask, low, low)
	g.VPAND(mask, high, high)
	for i, u := range []reg.VecVirtual{low, high} {
		product := g.vec()
		g.VPBROADCASTD(x.at(0, 4*j+16*i), product)
		g.VPMADDUBSW(product, u, product)
		if j == 0 && i == 0 {
			g.VMOVDQA(product, acc)
		} else {
			g.VPADDW(product, acc, acc)
		}
	}
}

// avx2Widen adds pairs of 16-bit sums, and what undoes the offset of the weights: the result
// is float32.
func (g *generator) avx2Widen(acc reg.VecVirtual, start operand.Mem) {
	from := g.vec()
	g.VPMADDWD(g.word("ones16", 0x00010001), acc, acc)
	g.VPBROADCASTD(start, from)
	g.VPADDD(from, acc, acc)
	g.VSUBPS(g.word("start", startBits), acc, acc)
}

// avx2Bytes adds a group of q8_0. The unsigned operand is the magnitude of the weight, at
// most 128; its sign goes to x. A pair is at most 2·128·127, below 2^15, where unsigned
// weights with an offset would saturate.
func (g *generator) avx2Bytes(acc reg.VecVirtual, p, half, j int, w, x rows) {
	weight, magnitude, product := g.vec(), g.vec(), g.vec()
	g.VMOVDQU(w.at(p, 64*j+32*half), weight)
	g.VPXOR(g.word("flip", 0x80808080), weight, weight)
	g.VPABSB(weight, magnitude)
	g.VPBROADCASTD(x.at(0, 4*j), product)
	g.VPSIGNB(weight, product, product)
	g.VPMADDUBSW(product, magnitude, product)
	g.VPMADDWD(g.word("ones16", 0x00010001), product, product)
	if j == 0 {
		g.VMOVDQA(product, acc)
	} else {
		g.VPADDD(product, acc, acc)
	}
}
