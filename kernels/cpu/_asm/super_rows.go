package main

import (
	"slices"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// mixed are the formats of most files, which have tiles with AVX-VNNI.
var mixed = []format{"Q4K", "Q5K", "Q6K"}

// superTiles generates what each format with superblocks has: tiles that read panels as they are stored, with AVX2 of
// one row and of few, and with AVX2 a function that expands panels for more. With AVX-VNNI some formats have tiles of
// one row and of few, and a function of their own where AVX2 expands magnitudes.
func superTiles(g *generator) {
	for i := range schemes {
		s := &schemes[i]
		if !s.super {
			continue
		}
		g.isa = avxVNNI
		if s.signed() {
			g.expandSuper(s)
		}
		if s.signed() || slices.Contains(mixed, s.format) {
			for _, rows := range []int{4, 2} {
				g.superRow(s, &tile{format: s.format, isa: avxVNNI, level: avxVNNI.name, rows: rows, panels: 1})
			}
			if s.groups() == 1 { // with two groups one row has 0.9 of the speed
				g.superRow(s, &tile{format: s.format, isa: avxVNNI, level: avxVNNI.name, rows: 1, panels: 1})
				g.superRow(s, &tile{format: s.format, isa: avxVNNI, level: avxVNNI.name, rows: 1, panels: 2})
			}
		}
		g.isa = avx2
		g.expandSuper(s)
		for _, rows := range []int{4, 2, 1} {
			if rows == 1 || s.groups() == 1 && !s.signed() {
				g.superRow(s, &tile{format: s.format, isa: avx2, level: avx2.name, rows: rows, panels: 1})
			}
		}
		g.superRow(s, &tile{format: s.format, isa: avx2, level: avx2.name, rows: 1, panels: 2})
		g.isa = avx512
		for _, rows := range []int{12, 8, 4, 2, 1} {
			g.superRow(s, &tile{format: s.format, isa: avx512, level: "VNNI", rows: rows, panels: 1})
		}
		for _, panels := range []int{2, 4} {
			g.superRow(s, &tile{format: s.format, isa: avx512, level: "VNNI", rows: 1, panels: panels})
		}
	}
}

// superRow generates a tile. Registers hold the integer sums of a block: see atOnce. The frame holds the float32 sums of
// several rows.
func (g *generator) superRow(s *scheme, t *tile) {
	g.begin(t)
	b := &superRow{blockSource: g.newBlockSource(s, g.panelAddresses(t)), tile: t, x: g.xAddresses(t)}
	if t.rows == 1 {
		b.sums = g.newSums(t)
	} else {
		b.reserve()
	}
	b.prefetch = func(p int) { g.prefetchPart(t, b.blockSource, p) }
	if g.wide() {
		b.keepMasks()
		if t.rows == 1 {
			b.keepHigh()
		}
	} else if g.isa == avxVNNI && len(s.planes()) == 1 {
		b.keepMasks()
	} else if g.isa == avx2 && s.signed() {
		g.VMOVUPS(g.valueTable(s, "signed", byte(s.offset)), b.table)
	}
	if t.rows == 1 {
		b.prefetch = g.prefetchAhead(b.w, b.sub())
	}
	g.eachBlock(b.block)
	b.finish()
}

// superRow is what the code for a block uses. Names that tile has too are those of tile.
type superRow struct {
	*blockSource
	*tile
	x        rows
	sums     sums          // of one row
	frame    reg.GPVirtual // address of those of several rows; see framed
	prefetch func(p int)   // what is read after the current part of panel p
}

// mostFrame is the bytes of the frame that functions have that do not check the stack, less what the call takes.
const mostFrame = 640

// framed reports whether the frame holds the integer sums of a block too: registers hold sums of 16 bits of both vectors
// of a panel, so that a word of x is loaded once for 16 columns.
func (b *superRow) framed() bool { return b.generator.isa == avx2 && b.rows > 2 }

// reserve makes room for sums in the frame and clears it.
func (b *superRow) reserve() {
	size := b.panels * b.rows * vectorSize
	if b.framed() {
		size *= 2
	}
	if size > mostFrame {
		b.Attributes(0) // the stack may have to grow
	}
	b.frame = b.GP64()
	b.LEAQ(b.local(size), b.frame)
	zero := b.vec()
	b.clear(zero)
	for at := 0; at < size; at += b.bytes() {
		b.VMOVUPS(zero, operand.Mem{Base: b.frame, Disp: at})
	}
}

// sum is where the sum of vector h of panel p and row r is.
func (b *superRow) sum(p, r, h int) operand.Op {
	if b.sums != nil {
		return b.sums[r][p][h]
	}
	return b.frameSum(p, r, h)
}

// spot is a vector of a panel.
type spot struct{ panel, vector int }

// atOnce returns the vectors of which the products of a block are added at once, one list after the other: registers
// hold their integer sums. One or two rows take a part of all vectors before the next part, so that weights come from
// memory at an even rate. More rows take one vector after the other, unless the frame holds their sums.
func (b *superRow) atOnce() (all [][]spot) {
	for p := range b.panels {
		for h := range b.halves() {
			if len(all) == 0 || b.rows > 2 && !b.framed() {
				all = append(all, nil)
			}
			last := &all[len(all)-1]
			*last = append(*last, spot{p, h})
		}
	}
	return all
}

// block adds the products of a block of each panel.
func (b *superRow) block() {
	b.advance(b.w, b.head())
	all := b.atOnce()
	for i, spots := range all {
		b.vectors(spots)
		if i < len(all)-1 {
			b.advance(b.w, -superParts*b.sub())
			b.advance(b.x, -superLen)
		}
	}
	b.advance(b.x, q8akBytes-superLen)
}

// vectors adds the products of a block for some vectors.
func (b *superRow) vectors(spots []spot) {
	ints := b.clearInts(len(spots))
	b.overSuperParts(b.w, b.sub(), b.x, func() {
		if b.framed() {
			b.prefetch(0)
			b.framedPart()
			return
		}
		for i, s := range spots {
			sums := make([]reg.VecVirtual, b.rows)
			for r := range sums {
				sums[r] = ints[r][i]
			}
			if s.vector == 0 {
				b.prefetch(s.panel)
			}
			switch {
			case b.wide() && b.rows == 1:
				b.wideRow(s.panel, sums[0])
			case b.wide() || b.generator.isa == avxVNNI:
				b.dotRows(s.panel, s.vector, sums)
			case b.signed() && s.vector == 0:
				b.signedPart(s.panel, ints[0][i:i+2])
			case !b.signed():
				b.narrowPart(s.panel, s.vector, sums)
			}
		}
	})
	heads := func(at int) func(i int) operand.Op {
		return func(i int) operand.Op { return b.headFloats(spots[i].panel, at+spots[i].vector*b.isa.lanes*2) }
	}
	end := &blockEnd{
		generator: b.generator, superLayout: b.layout(), x: b.x, rows: b.rows, vectors: len(spots), ints: ints, stored: b.frameInts,
		correction: func(i, pair int) operand.Op { return b.correction(spots[i].panel, spots[i].vector, pair) },
		d:          heads(0), m: heads(2 * panelRows),
	}
	end.add(func(r, i int) operand.Op { return b.sum(spots[i].panel, r, spots[i].vector) })
}

// clearInts begins the integer sums of a block, and returns those in registers.
func (b *superRow) clearInts(vectors int) [][]reg.VecVirtual {
	if b.framed() {
		zero := b.vec()
		b.clear(zero)
		for r := range b.rows {
			for h := range vectors {
				b.VMOVDQU(zero, b.frameInts(r, h))
			}
		}
		return nil
	}
	ints := make([][]reg.VecVirtual, b.rows)
	for r := range ints {
		ints[r] = b.vecs(vectors)
		b.clear(ints[r]...)
	}
	return ints
}

// framedPart adds the products of a part for both vectors of the panel. As many words as cannot overflow are added in 16
// bits.
func (b *superRow) framedPart() {
	sums := make([][]reg.VecVirtual, b.rows)
	for r := range sums {
		sums[r] = b.vecs(2)
	}
	n, atOnce := 0, min(atOnce(b.most()), partWords)
	b.bytesOfBoth(func(j int, u []reg.VecVirtual) {
		for r, v := range sums {
			b.narrowWords(v, b.x.at(r, 4*j), u, n == 0)
		}
		if n++; n < atOnce {
			return
		}
		n = 0
		for h := range 2 {
			scales := b.scalePairs(0, h, 0)
			for r := range sums {
				v := sums[r][h]
				b.VPMADDWD(scales, v, v)
				b.VPADDD(b.frameInts(r, h), v, v)
				b.VMOVDQU(v, b.frameInts(r, h))
			}
		}
	})
}

// wideRow adds the products of a part for one row with VNNI. There are two sums, as each product waits for the one
// before.
func (b *superRow) wideRow(p int, sum reg.VecVirtual) {
	acc := b.vecs(2)
	b.clear(acc...)
	b.bytesOf(p, 0, func(j int, u reg.VecVirtual) { b.dot(b.x.at(0, 4*j), u, acc[2*j/partWords]) })
	if b.scheme.groups() == 1 {
		if b.kept.high != nil {
			b.VPSRAD(operand.U8(4), acc[1], acc[1])
		}
		b.VPADDD(acc[1], acc[0], acc[0])
		acc = acc[:1]
	}
	for i, v := range acc {
		b.VPMULLD(b.smallInts(b.scaleAt(p, 0, i)), v, v)
		b.VPADDD(v, sum, sum)
	}
}

// dotRows adds the products of a part for vector h with VNNI or AVX-VNNI. With two groups words come in order, so that
// registers hold the sums of one group at a time.
func (b *superRow) dotRows(p, h int, sums []reg.VecVirtual) {
	each, words := partWords/b.scheme.groups(), b.bytesOf
	if each < partWords {
		words = b.bytesInOrder
	}
	var acc []reg.VecVirtual
	n := 0
	words(p, h, func(j int, u reg.VecVirtual) {
		if n%each == 0 {
			acc = b.vecs(b.rows)
			b.clear(acc...)
		}
		for r, v := range acc {
			b.dot(b.broadcast(b.x.at(r, 4*j)), u, v)
		}
		if n++; n%each > 0 {
			return
		}
		s := b.smallInts(b.scaleAt(p, h, j/each))
		for r, v := range acc {
			b.VPMULLD(s, v, v)
			b.VPADDD(v, sums[r], sums[r])
		}
	})
}

// narrowPart adds the products of a part for vector h with AVX2. As many words as cannot overflow are added in 16 bits.
func (b *superRow) narrowPart(p, h int, ints []reg.VecVirtual) {
	type narrow struct {
		words int
		sums  []reg.VecVirtual
	}
	atOnce, all := atOnce(b.most()), make([]narrow, b.scheme.groups())
	b.bytesOf(p, h, func(j int, u reg.VecVirtual) {
		group := j * b.scheme.groups() / partWords
		n := &all[group]
		if n.words == 0 {
			n.sums = b.vecs(b.rows)
		}
		for r, v := range n.sums {
			product := v
			if n.words > 0 {
				product = b.vec()
			}
			b.VPBROADCASTD(b.x.at(r, 4*j), product)
			b.VPMADDUBSW(product, u, product)
			if n.words > 0 {
				b.VPADDW(product, v, v)
			}
		}
		if n.words++; n.words < min(atOnce, partWords/b.scheme.groups()) {
			return
		}
		s := b.scalePairs(p, h, group)
		for r, v := range n.sums {
			b.VPMADDWD(s, v, v)
			b.VPADDD(v, ints[r], ints[r])
		}
		n.words = 0
	})
}

// signedPart adds the products of a part of one row for both vectors of a panel with AVX2, for values whose offset of
// 128 the table does not have.
func (b *superRow) signedPart(p int, ints []reg.VecVirtual) {
	scales := make([]operand.Op, len(ints))
	for h := range scales {
		scales[h] = b.scalePairs(p, h, 0)
	}
	b.signedWords(b.x, p, scales, ints)
}

// finish writes the sums.
func (b *superRow) finish() {
	if b.sums == nil && !b.wide() {
		(&pairBlock{generator: b.generator, tile: b.tile, scratch: b.frame}).write()
		b.ret()
		return
	}
	if b.sums == nil {
		b.sums = b.loadSums()
	}
	b.generator.finish(b.tile, b.sums)
}

// frameInts is where integer sums of vector h of row r are in the frame, after those of float32.
func (b *superRow) frameInts(r, h int) operand.Mem {
	return operand.Mem{Base: b.frame, Disp: (b.panels*b.rows+r)*vectorSize + h*b.bytes()}
}

// frameSum is the sum of vector h of panel p and row r in the frame.
func (b *superRow) frameSum(p, r, h int) operand.Mem {
	return operand.Mem{Base: b.frame, Disp: (p*b.rows+r)*vectorSize + h*b.bytes()}
}

// loadSums loads the sums of whole panels into registers.
func (b *superRow) loadSums() sums {
	s := make(sums, b.rows)
	for r := range s {
		for p := range b.panels {
			s[r] = append(s[r], []reg.VecVirtual{b.loaded(b.frameSum(p, r, 0))})
		}
	}
	return s
}
