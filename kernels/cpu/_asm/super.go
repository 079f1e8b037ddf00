package main

import (
	"strconv"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Formats with superblocks multiply activations of which 256 share a scale (dtype.Q8A_K). So the sums of a block are
// integers until its end:
//
//	Σ scale·Σ q·u, over groups of 32 or of 16, and Σ c·Σ q
//
// u are unsigned bytes. c is the group's min, or minus its scale times the offset of its bytes, which then is a part of
// the first sum. What a block adds to the float32 sum of a row and a column is
//
//	d·(D·float(Σ scale·Σ q·u) - M·float(Σ c·Σ q))
//
// by these steps in all tiles, so that they all give the same bits. As an example, a part of q4_k takes 8 VPDPBUSD with
// VNNI, and then a multiplication and an addition of integers; with AVX2 8 VPMADDUBSW whose results are added in 16
// bits, and then VPMADDWD with the scale. Σ q is stored with the activations, as 16 bits, so that an instruction
// multiplies those of two groups.

const superParts = superLen / subLen

// layout returns how blocks are expanded. Tiles that read them as they are stored do the same at the end of a block.
func (b *blockSource) layout() superLayout {
	return superLayout{groups: b.groups(), mins: b.mins, magnitudes: b.signed() && b.isa == avx2}
}

// correction returns c of groups 2i and 2i+1 of vector h of panel p, as 16 bits each. b.w is after the parts of the
// block.
func (b *blockSource) correction(p, h, i int) reg.VecVirtual {
	from := b.scalesAt()
	if b.mins {
		from = b.minsAt()
	}
	group := func(i int) reg.VecVirtual {
		part := i/b.groups() - superParts
		return b.smallInts(b.w.at(p, part*b.sub()+from+i%b.groups()*panelRows+h*b.isa.lanes))
	}
	low, high := group(2*i), group(2*i+1)
	b.VPSLLD(operand.U8(16), high, high)
	if b.wide() {
		b.VPANDD(b.word("lowWords", 0xffff), low, low)
		b.VPORD(low, high, high)
	} else {
		b.VPBLENDW(operand.U8(oddWords), high, low, high)
	}
	if !b.mins {
		minus := uint32(uint16(-b.byteOffset()))
		b.VPMULLW(b.word("minus"+strconv.Itoa(b.byteOffset()), minus|minus<<16), high, high)
	}
	return high
}

// oddWords takes every second word of 16 bits from the second operand.
const oddWords = 0xaa

// smallInts returns signed bytes as integers of 32 bits.
func (b *blockSource) smallInts(at operand.Mem) reg.VecVirtual {
	s := b.vec()
	b.VPMOVSXBD(at, s)
	return s
}

// scalePairs returns the scales of a group of vector h of panel p, twice as 16 bits. b.w is at the part.
func (b *blockSource) scalePairs(p, h, group int) reg.VecVirtual {
	s := b.smallInts(b.scaleAt(p, h, group))
	b.VPSHUFB(b.generator.table("twice", 16, func(i int) uint32 { return 0x01000100 + 0x04040404*uint32(i%4) }), s, s)
	return s
}

// scaleAt is where the scales of a group of vector h of panel p are. b.w is at the part.
func (b *blockSource) scaleAt(p, h, group int) operand.Mem {
	return b.w.at(p, b.scalesAt()+group*panelRows+h*b.isa.lanes)
}

// blockEnd makes float32 of the integer sums of a block, for rows rows of x and vectors vectors each.
type blockEnd struct {
	*generator
	superLayout
	x             rows // after the bytes of the block
	rows, vectors int
	ints          [][]reg.VecVirtual         // the sums
	stored        func(r, h int) operand.Mem // where they are, if registers do not hold them
	correction    func(h, i int) operand.Op
	d, m          func(h int) operand.Op // D; M if there are mins
}

// add adds what a block gives to sums.
func (e *blockEnd) add(sum func(r, h int) operand.Op) {
	others := e.ints // the sums with c, or those that they are added to
	fresh := e.mins || e.ints == nil
	if fresh {
		others = make([][]reg.VecVirtual, e.rows)
		for r := range others {
			others[r] = e.vecs(e.vectors)
		}
	}
	for i := range e.pairs() {
		e.correct(others, i, fresh && i == 0)
	}
	d, m := make([]operand.Op, e.vectors), make([]operand.Op, e.vectors)
	for r := range e.rows {
		row := make([]reg.VecVirtual, e.vectors)
		for h := range row {
			if r == 0 { // not before the loop: one row has no registers for all vectors at once
				d[h] = e.d(h)
			}
			row[h] = e.floats(r, h, others[r][h])
			e.VMULPS(d[h], row[h], row[h])
			if !e.mins {
				continue
			}
			if r == 0 {
				m[h] = e.m(h)
			}
			e.VCVTDQ2PS(others[r][h], others[r][h])
			e.VFNMADD231PS(m[h], others[r][h], row[h])
		}
		e.addRow(r, row, sum)
	}
}

// floats returns the integer sums of vector h of row r as float32. Without mins other has been added to them, or is
// added here.
func (e *blockEnd) floats(r, h int, other reg.VecVirtual) reg.VecVirtual {
	if e.ints != nil {
		e.VCVTDQ2PS(e.ints[r][h], e.ints[r][h])
		return e.ints[r][h]
	}
	if !e.mins {
		e.VPADDD(e.stored(r, h), other, other)
		e.VCVTDQ2PS(other, other)
		return other
	}
	v := e.vec()
	e.VCVTDQ2PS(e.stored(r, h), v)
	return v
}

// correct adds the products of pair i to the sums, or begins them.
func (e *blockEnd) correct(sums [][]reg.VecVirtual, i int, first bool) {
	c := make([]operand.Op, e.vectors)
	for r := range sums {
		at := e.x.at(r, e.sumsAt()+4*i-superLen)
		x := e.vec()
		if !e.wide() {
			e.VPBROADCASTD(at, x)
		}
		for h, v := range sums[r] {
			if r == 0 {
				c[h] = e.correction(h, i)
			}
			switch {
			case e.wide():
				if first {
					e.clear(v)
				}
				e.dotPairs(at, c[h].(reg.VecVirtual), v)
			case first:
				e.VPMADDWD(c[h], x, v)
			default:
				product := e.vec()
				e.VPMADDWD(c[h], x, product)
				e.VPADDD(product, v, v)
			}
		}
	}
}

// addRow adds the scale of the activations times the vectors of row r to sums in registers or in memory.
func (e *blockEnd) addRow(r int, row []reg.VecVirtual, sum func(r, h int) operand.Op) {
	d := e.vec()
	e.VBROADCASTSS(e.x.at(r, q8akScale-superLen), d)
	for h, v := range row {
		switch to := sum(r, h).(type) {
		case operand.Mem:
			e.VFMADD213PS(to, d, v)
			e.VMOVUPS(v, to)
		case reg.VecVirtual:
			e.VFMADD231PS(d, v, to)
		}
	}
}

// dotPairs adds to each 32-bit lane of acc the products of its two signed words in c with two at x, which serve all
// lanes. avo does not know VPDPWSSD.
func (g *generator) dotPairs(x operand.Mem, c, acc reg.VecVirtual) {
	g.Instruction(&ir.Instruction{
		Opcode:   "VPDPWSSD",
		Suffixes: []string{"BCST"},
		Operands: []operand.Op{x, c, acc},
		Inputs:   []operand.Op{x, c, acc},
		Outputs:  []operand.Op{acc},
		ISA:      []string{"AVX512VNNI"},
	})
}

// clear sets registers to zero. Unlike with zero, the allocator does not take them for registers that are read, which
// would be in use before.
func (g *generator) clear(vs ...reg.VecVirtual) {
	for _, v := range vs {
		opcode := "VPXOR"
		if g.wide() {
			opcode = "VPXORD"
		}
		g.Instruction(&ir.Instruction{Opcode: opcode, Operands: []operand.Op{v, v, v}, Outputs: []operand.Op{v}})
	}
}

// eachBlock makes code for each block: a loop around each.
func (g *generator) eachBlock(each func()) {
	blocks, loop, done := g.arg("blocks"), g.label("block"), g.label("done")
	g.TESTQ(blocks, blocks)
	g.JZ(operand.LabelRef(done))
	g.Label(loop)
	each()
	g.DECQ(blocks)
	g.JNZ(operand.LabelRef(loop))
	g.Label(done)
}

// overSuperParts makes code for each part of a block: a loop around each, which moves on in w and x.
func (g *generator) overSuperParts(w rows, bytes int, x rows, each func()) {
	part, left := g.label("part"), g.GP64()
	g.MOVQ(operand.U32(superParts), left)
	g.Label(part)
	each()
	g.advance(w, bytes)
	g.advance(x, subLen)
	g.DECQ(left)
	g.JNZ(operand.LabelRef(part))
}
