package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// scores multiplies a few queries with keys, 32 positions at a time with AVX-512, 8 with AVX2. Keys are
// transposed in registers, so that each score is the sum over one lane, in the order of the tiles of matrix products:
// the totals of partial sums are the scores themselves.
func (g *generator) scores(f format, heads int) {
	name := fmt.Sprintf("scores%s%sx%d", f, g.isa.name, heads)
	doc := []string{
		fmt.Sprintf("%s sets s[i][p] to q[i]·k[p] for %d rows of q and m rows of k, at distances of kRow bytes, all of d elements.", name, heads),
		"The distance of rows of s is a chunk. It prefetches what is ahead bytes after k.",
	}
	g.function(name, doc, nil, pointers("s", "q", "k"), integers("m", "d", "kRow", "ahead"))
	b := scoreBlock{format: f, heads: heads, k: g.arg("k"), s: g.arg("s"), m: g.arg("m"), sums: [][]reg.VecVirtual{g.vecs(heads)}}
	if g.wide() {
		b.sums = append(b.sums, g.vecs(heads))
	}
	positions := len(b.sums) * g.isa.lanes
	loop, rest, done := g.label("loop"), g.label("rest"), g.label("done")
	g.SUBQ(operand.U8(uint8(positions)), b.m)
	g.JL(operand.LabelRef(rest))
	g.Label(loop)
	g.scoreBlock(&b, nil)
	kRow := g.arg("kRow")
	g.SHLQ(operand.U8(uint8(log2(positions))), kRow)
	g.ADDQ(kRow, b.k)
	g.ADDQ(operand.I32(int32(positions*4)), b.s)
	g.SUBQ(operand.U8(uint8(positions)), b.m)
	g.JGE(operand.LabelRef(loop))
	g.Label(rest)
	g.ADDQ(operand.U8(uint8(positions)), b.m)
	g.JZ(operand.LabelRef(done))
	g.scoreBlock(&b, b.m)
	g.Label(done)
	g.ret()
}

// scoreBlock is the positions that scores handles at once.
type scoreBlock struct {
	format  format
	heads   int
	s, k, m reg.GPVirtual
	sums    [][]reg.VecVirtual // by lanes of positions, then head
}

// scoreBlock computes a block; with left only so many of its positions exist.
func (g *generator) scoreBlock(b *scoreBlock, left reg.GPVirtual) {
	zero := g.vec()
	g.zero(zero)
	b.each(g, func(_ reg.VecVirtual, score operand.Mem) { g.VMOVUPS(zero, score) })
	d, qRow, k := g.arg("d"), g.arg("d"), g.GP64()
	g.SHLQ(operand.U8(2), qRow)
	q := g.newRows(g.arg("q"), qRow, b.heads)
	g.MOVQ(b.k, k)
	loop, fold := g.label("elements"), g.label("fold")
	g.Label(loop)
	for at := 0; at < partLen; at += g.isa.lanes {
		first := g.multiply
		if at > 0 {
			g.JZ(operand.LabelRef(fold))
			first = g.multiplyAdd
		}
		g.addSquares(b, q, k, left, first)
		g.ADDQ(operand.U8(uint8(g.isa.lanes*b.format.elementBytes())), k)
		g.advance(q, g.isa.lanes*4)
		g.SUBQ(operand.U8(uint8(g.isa.lanes)), d)
	}
	g.Label(fold)
	b.each(g, func(sum reg.VecVirtual, score operand.Mem) {
		g.VADDPS(score, sum, sum)
		g.VMOVUPS(sum, score)
	})
	g.TESTQ(d, d)
	g.JNZ(operand.LabelRef(loop))
}

// each calls f for each sum, with where its scores are.
func (b *scoreBlock) each(g *generator, f func(sum reg.VecVirtual, score operand.Mem)) {
	for i := range b.sums {
		for h, v := range b.sums[i] {
			f(v, operand.Mem{Base: b.s, Disp: 4 * (h*chunkLen + i*g.isa.lanes)})
		}
	}
}

// addSquares adds the products of as many elements as there are lanes, those of the first as add does.
func (g *generator) addSquares(b *scoreBlock, q rows, k, left reg.GPVirtual, add product) {
	l := g.newRowLoader(k, left)
	for _, sums := range b.sums {
		square := g.vecs(g.isa.lanes)
		for _, v := range square {
			g.loadCache(b.format, l.next(), v)
		}
		for i, column := range g.transpose(square) {
			if i == 0 {
				g.addColumn(q, i, column, sums, add)
			} else {
				g.addColumn(q, i, column, sums, g.multiplyAdd)
			}
		}
	}
}

// addColumn adds the products of element i of q with a column, as add does.
func (g *generator) addColumn(q rows, i int, column reg.VecVirtual, sums []reg.VecVirtual, add product) {
	for h, sum := range sums {
		if g.wide() {
			add(q.at(h, 4*i), column, sum)
			continue
		}
		one := g.vec()
		g.VBROADCASTSS(q.at(h, 4*i), one)
		add(one, column, sum)
	}
}

// rowLoader yields the address of one row after the other and prefetches what is ahead.
type rowLoader struct {
	*generator
	row, kRow  reg.GPVirtual
	given      int
	three, far reg.GPVirtual // three rows; the distance from row to what is prefetched
	left, zero reg.GPVirtual // rows that exist from here on; nil if all do
}

// newRowLoader begins at k; with left so many rows exist, of which at least one, and nothing is asked for.
func (g *generator) newRowLoader(k, left reg.GPVirtual) *rowLoader {
	l := &rowLoader{generator: g, row: g.GP64(), kRow: g.arg("kRow")}
	g.MOVQ(k, l.row)
	if left != nil {
		l.left, l.zero = g.GP64(), g.GP64()
		g.MOVQ(left, l.left)
		g.XORQ(l.zero, l.zero)
		return l
	}
	l.three, l.far = g.GP64(), g.arg("ahead")
	g.ADDQ(k, l.far)
	g.LEAQ(operand.Mem{Base: l.kRow, Index: l.kRow, Scale: 2}, l.three)
	return l
}

// next returns where the next row is, or the last one again.
func (l *rowLoader) next() operand.Mem {
	i := l.given
	l.given++
	if l.left != nil {
		if i > 0 {
			l.DECQ(l.left)
			l.CMOVQEQ(l.zero, l.kRow)
			l.ADDQ(l.kRow, l.row)
		}
		return operand.Mem{Base: l.row}
	}
	if i > 0 && i%3 == 0 {
		l.ADDQ(l.three, l.row)
		l.ADDQ(l.three, l.far)
	}
	near := operand.Mem{Base: l.row}
	if i%3 > 0 {
		near.Index, near.Scale = l.kRow, uint8(i%3)
	}
	far := near
	far.Base = l.far
	l.PREFETCHT0(far)
	return near
}
