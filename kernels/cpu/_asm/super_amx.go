package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Tile registers multiply bytes and add up 32-bit integers, sixteen rows of x by a panel at once. What they give leaves
// them through memory, so that it has to be rare. For superblocks it is once in a block: expanding multiplies the
// elements of a panel by the integer scales of their groups, and stores the products as two planes of bytes. The integer
// sum of a row and a column of a block is
//
//	Σ scale·u·q = Σ low·q + 2^shift·Σ high·q
//
// which is exact, as are the sums of other tiles, so that results have the same bits.
//
// Products are made a block at a time. Two panels of it are expanded and stay in the first-level cache, and rows of x
// pass by, sixteen at once, each of whose bytes meets four planes. Sums of all rows are in memory. (Squares of 32 rows by
// one panel, along all of k, wait for the second-level cache, from which they read four times as many bytes.)
//
//	tile registers          vector registers
//	multiply rows 0 to 15
//	multiply rows 16 to 31  scale rows 0 to 15
//	multiply rows 32 to 47  scale rows 16 to 31 …
//
// An expanded block is its low plane, unsigned, then the high one, then the corrections and what blockEnd uses.
const (
	amxPlane  = superLen * panelRows // bytes of a plane
	amxDepth  = 64                   // of k, in one instruction
	amxPanels = 2
	amxLine   = amxPanels * tileLine // bytes of a row of sums

	// amxInts is the bytes of integers of sixteen rows, before the panels: two planes of each panel.
	amxInts = 2 * amxPanels * tileRows * tileLine
)

// superAMXKind is a kind of expanded blocks.
type superAMXKind struct {
	name string
	superLayout
	shift  uint8 // between planes
	signed bool  // the high plane is
}

// Scales of formats with mins are unsigned and have 6 bits, their elements 5 at most: so products with either half of a
// scale fit a byte.
var superAMXKinds = []superAMXKind{
	{"Mins", superLayout{groups: 1, mins: true}, 3, false},   // q4_k, q5_k
	{"Mins16", superLayout{groups: 2, mins: true}, 3, false}, // q2_k
	{"Plain", superLayout{groups: 1}, 8, true},               // iq4_xs, iq2x, iq3x, iq3sx
	{"Plain16", superLayout{groups: 2}, 8, true},             // q3_k, q6_k, iq2x16
}

// superAMXTiles generates the products, and for each format the function that expands panels.
func superAMXTiles(g *generator) {
	g.isa = avx512
	for i := range superAMXKinds {
		g.superAMX(&superAMXKinds[i])
	}
	g.writeSquares()
	for i := range schemes {
		if schemes[i].super {
			g.expandSuperAMX(&schemes[i])
		}
	}
}

// superAMX is what the code of a product uses. next is in memory.
type superAMX struct {
	*generator
	kind           *superAMXKind
	line           reg.GPVirtual // bytes of a line of a panel and of integers
	xStride, apart reg.GPVirtual // from a row to the next, from a panel to the next
	ints, w        reg.GPVirtual
	x, sums, left  reg.GPVirtual // rows that are next, and how many
	before         amxRows
}

// amxRows is sixteen rows whose integers are in memory.
type amxRows struct{ x, sums reg.GPVirtual } // of the first; x is after the bytes of the block

// sum is the register of the sums of a plane of a panel.
func (b *superAMX) sum(panel, plane int) tmm { return tmm(2*panel + plane) }

// Registers of what is multiplied.
const (
	amxX     tmm = 4
	amxBytes tmm = 5 // and the next two
)

// superAMX generates the products of a kind.
func (g *generator) superAMX(k *superAMXKind) {
	name := "super" + k.name + levelAMX
	g.function(name, []string{name + " adds the products of rows rows of x, at least 16, with a block of two expanded panels of w. See superFunc."}, nil,
		pointers("sums", "x", "w"), integers("rows", "xStride", "panelBytes"), addresses("next"), integers("ask"))
	b := &superAMX{generator: g, kind: k, line: g.GP64(), xStride: g.arg("xStride"), apart: g.arg("panelBytes"), ints: g.GP64(), w: g.arg("w")}
	b.x, b.sums, b.left = g.arg("x"), g.arg("sums"), g.arg("rows")
	b.before = amxRows{g.GP64(), g.GP64()}
	sizes := make([]tileSize, 8)
	for i := range sizes {
		sizes[i] = tileSize{tileRows, tileLine}
	}
	b.configureTiles(sizes)
	g.MOVQ(operand.U32(tileLine), b.line)
	g.LEAQ(operand.Mem{Base: b.w, Disp: -amxInts}, b.ints)
	scale, loop, last := b.newScaling(), b.label("square"), b.label("last")
	b.multiply(func() {})
	b.store()
	b.next(last)
	b.Label(loop)
	b.ask()
	scale.at = 0
	b.multiply(scale.row)
	b.store()
	b.next(last)
	b.JMP(operand.LabelRef(loop))
	b.Label(last)
	scale.at = 0
	for range tileRows {
		scale.row()
	}
	g.releaseTiles()
	g.ret()
}

// ask prefetches the next ask bytes from next on.
func (b *superAMX) ask() {
	at, loop, none := b.GP64(), b.label("ask"), b.label("asked")
	b.MOVQ(b.paramAt("next"), at)
	b.TESTQ(at, at)
	b.JZ(operand.LabelRef(none))
	b.ADDQ(b.paramAt("ask"), at)
	b.Label(loop)
	b.SUBQ(operand.U8(lineBytes), at)
	b.PREFETCHT1(operand.Mem{Base: at})
	b.CMPQ(at, b.paramAt("next"))
	b.JHI(operand.LabelRef(loop))
	b.ADDQ(b.paramAt("ask"), at)
	b.MOVQ(at, b.paramAt("next"))
	b.Label(none)
}

// multiply computes the integer sums of sixteen rows of a block: of the last ones, if fewer are left. It makes the code
// of between after each of sixteen products. Processors begin few instructions ahead of those of tile registers that
// wait for each other, so that other work has to be among them.
func (b *superAMX) multiply(between func()) {
	at, second := b.GP64(), b.GP64()
	b.firstOf(at)
	b.LEAQ(operand.Mem{Base: b.w, Index: b.apart, Scale: 1}, second)
	for t := range 2 * amxPanels {
		b.zeroTile(tmm(t))
	}
	for i := range superLen / amxDepth {
		b.loadTile(amxX, at, b.xStride, i*amxDepth)
		for p, w := range []reg.GPVirtual{b.w, second} {
			for plane := range 2 {
				bytes := amxBytes + tmm((4*i+2*p+plane)%3)
				b.loadTile(bytes, w, b.line, plane*amxPlane+i*amxDepth*panelRows)
				if plane == 1 && b.kind.signed {
					b.multiplySigned(b.sum(p, plane), amxX, bytes)
				} else {
					b.multiplyUnsigned(b.sum(p, plane), amxX, bytes)
				}
				between()
			}
		}
	}
}

// intsAt is where the integers of a row of a panel's plane are.
func intsAt(panel, plane, row int) int { return ((2*panel+plane)*tileRows + row) * tileLine }

// store stores the integers that multiply has computed, and makes their rows the ones before.
func (b *superAMX) store() {
	for p := range amxPanels {
		for plane := range 2 {
			b.storeTile(b.sum(p, plane), b.ints, b.line, intsAt(p, plane, 0))
		}
	}
	b.firstOf(b.before.x)
	b.ADDQ(operand.I32(superLen), b.before.x)
	b.MOVQ(b.sums, b.before.sums)
}

// next goes to the next rows, or to last.
func (b *superAMX) next(last string) {
	each := b.GP64()
	b.MOVQ(b.xStride, each)
	b.SHLQ(operand.U8(4), each) // times tileRows
	b.ADDQ(each, b.x)
	b.ADDQ(operand.I32(tileRows*amxLine), b.sums)
	b.SUBQ(operand.U8(tileRows), b.left)
	b.JLE(operand.LabelRef(last))
}

// firstOf sets to to the first of sixteen rows: of the last ones, if fewer are left.
func (b *superAMX) firstOf(to reg.GPVirtual) {
	zero := b.GP64()
	b.XORQ(zero, zero)
	b.MOVQ(b.left, to)
	b.SUBQ(operand.U8(tileRows), to)
	b.CMOVQGT(zero, to)
	b.IMULQ(b.xStride, to)
	b.ADDQ(b.x, to)
}

// amxScaling scales the integers of the rows before, one row at a time.
type amxScaling struct {
	*superAMX
	corrections [amxPanels][]reg.VecVirtual
	d, m        [amxPanels]reg.VecVirtual
	at          int // the row
}

func (b *superAMX) newScaling() *amxScaling {
	s := &amxScaling{superAMX: b}
	end := func(p, at int) reg.VecVirtual {
		m := operand.Mem{Base: b.w, Disp: 2*amxPlane + at}
		if p > 0 {
			m.Index, m.Scale = b.apart, 1
		}
		return b.loaded(m)
	}
	for p := range amxPanels {
		for i := range b.kind.pairs() {
			s.corrections[p] = append(s.corrections[p], end(p, b.kind.correctionAt(i)))
		}
		s.d[p] = end(p, b.kind.dAt())
		if b.kind.mins {
			s.m[p] = end(p, b.kind.mAt())
		}
	}
	return s
}

// row adds what the integers of a row give to its sums.
func (s *amxScaling) row() {
	ints := s.vecs(amxPanels)
	for p, v := range ints {
		high := s.vec()
		s.VPSLLD(operand.U8(s.kind.shift), operand.Mem{Base: s.ints, Disp: intsAt(p, 1, s.at)}, high)
		s.VPADDD(operand.Mem{Base: s.ints, Disp: intsAt(p, 0, s.at)}, high, v)
	}
	e := &blockEnd{
		generator: s.generator, superLayout: s.kind.superLayout, x: rows{bases: []reg.GPVirtual{s.before.x}},
		rows: 1, vectors: amxPanels, ints: [][]reg.VecVirtual{ints},
		correction: func(p, i int) operand.Op { return s.corrections[p][i] },
		d:          func(p int) operand.Op { return s.d[p] }, m: func(p int) operand.Op { return s.m[p] },
	}
	e.add(func(_, p int) operand.Op {
		return operand.Mem{Base: s.before.sums, Disp: s.at*amxLine + p*tileLine}
	})
	s.ADDQ(s.xStride, s.before.x)
	s.at++
}

// writeSquares generates what writes sums.
func (g *generator) writeSquares() {
	name := "writeSquares" + g.isa.name
	g.function(name, []string{name + " writes cols columns, at most 32, of rows rows of sums, plus res if not nil. See superFunc."}, nil,
		pointers("dst", "sums", "res"), integers("rows", "stride", "cols"))
	cols, one, done := g.arg("cols"), g.label("one"), g.label("written")
	g.CMPQ(cols, operand.U8(panelRows))
	g.JLE(operand.LabelRef(one))
	g.SUBQ(operand.U8(panelRows), cols)
	last := g.firstLanes(cols)
	g.writeSquareRows([]*mask{nil, &last})
	g.JMP(operand.LabelRef(done))
	g.Label(one)
	last = g.firstLanes(cols)
	g.writeSquareRows([]*mask{&last})
	g.Label(done)
	g.ret()
}

// writeSquareRows writes panels with masks: a loop over rows.
func (g *generator) writeSquareRows(masks []*mask) {
	loop, none := g.label("write"), g.label("noResidual")
	dst, sums, res, left, stride := g.arg("dst"), g.arg("sums"), g.arg("res"), g.arg("rows"), g.arg("stride")
	g.Label(loop)
	v := g.vecs(len(masks))
	for p := range v {
		g.VMOVUPS(operand.Mem{Base: sums, Disp: p * tileLine}, v[p])
	}
	g.CMPQ(g.paramAt("res"), operand.U8(0))
	g.JEQ(operand.LabelRef(none))
	for p := range v {
		old := g.vec()
		g.load(operand.Mem{Base: res, Disp: p * tileLine}, masks[p], old)
		g.VADDPS(old, v[p], v[p])
	}
	g.ADDQ(stride, res)
	g.Label(none)
	for p := range v {
		g.store(v[p], masks[p], operand.Mem{Base: dst, Disp: p * tileLine})
	}
	g.ADDQ(stride, dst)
	g.SUBQ(operand.I32(-amxLine), sums)
	g.DECQ(left)
	g.JNZ(operand.LabelRef(loop))
}

// expandSuperAMX generates the function that expands blocks of a panel.
func (g *generator) expandSuperAMX(s *scheme) {
	name := "expand" + string(s.format) + levelAMX
	g.function(name, []string{name + " expands blocks of a panel. See expandFunc."}, nil,
		pointers("dst", "panel"), integers("blocks"))
	b := g.newBlockSource(s, g.newRows(g.arg("panel"), nil, 1))
	b.keepMasks()
	e := &amxExpansion{blockSource: b, layout: superLayout{groups: b.groups(), mins: b.mins}, dst: g.arg("dst")}
	if !b.mins {
		e.even = g.loaded(g.word("evenBytes", 0x00ff00ff))
	}
	g.eachBlock(e.block)
	g.ret()
}

// amxExpansion is what the code for a block uses.
type amxExpansion struct {
	*blockSource
	layout superLayout
	dst    reg.GPVirtual
	even   reg.VecVirtual // mask of every second byte
}

func (e *amxExpansion) to(disp int) operand.Mem { return operand.Mem{Base: e.dst, Disp: disp} }

// block expands a block.
func (e *amxExpansion) block() {
	e.advance(e.w, e.head())
	e.overSuperParts(e.w, e.sub(), rows{}, func() {
		var scales [][]reg.VecVirtual
		for i := range e.groups() {
			scales = append(scales, e.scales(i))
		}
		e.bytesOf(0, 0, func(j int, u reg.VecVirtual) {
			if s := scales[j*e.groups()/partWords]; e.mins {
				e.split(j, u, s)
			} else {
				e.whole(j, u, s[0])
			}
		})
		e.ADDQ(operand.I32(partScales), e.dst)
	})
	end := amxPlane // of the high bytes, from those of the last part on
	for i := range e.layout.pairs() {
		e.VMOVDQU32(e.correction(0, 0, i), e.to(end+e.layout.correctionAt(i)))
	}
	e.VMOVUPS(e.headFloats(0, 0), e.to(end+e.layout.dAt()))
	if e.layout.mins {
		e.VMOVUPS(e.headFloats(0, 2*panelRows), e.to(end+e.layout.mAt()))
	}
	e.ADDQ(operand.I32(int32(amxPlane+e.layout.endBytes())), e.dst)
}

// scales returns the scales of a group, twice as 16 bits: if there are mins, their lowest three bits, then the others.
func (e *amxExpansion) scales(group int) []reg.VecVirtual {
	s := e.scalePairs(0, 0, group)
	if !e.mins {
		return []reg.VecVirtual{s}
	}
	low := e.vec()
	e.VPANDD(e.word("lowBits", 0x00070007), s, low)
	e.VPSRLW(operand.U8(3), s, s)
	return []reg.VecVirtual{low, s}
}

// split stores the products of word j with the halves of scales. No product of a byte is larger than 31·7, so that two
// can be multiplied as one word.
func (e *amxExpansion) split(j int, u reg.VecVirtual, scales []reg.VecVirtual) {
	for plane, s := range scales {
		product := e.vec()
		e.VPMULLW(s, u, product)
		e.VMOVDQU32(product, e.to(plane*amxPlane+64*j))
	}
}

// whole stores the low and the high bytes of the products of word j with scales.
func (e *amxExpansion) whole(j int, u, scale reg.VecVirtual) {
	odd, low, high := e.vec(), e.vec(), e.vec()
	e.VPSRLW(operand.U8(8), u, odd)
	e.VPANDD(e.even, u, u)
	e.VPMULLW(scale, u, u)
	e.VPMULLW(scale, odd, odd)
	e.VPSLLW(operand.U8(8), odd, low)
	e.VPSRLW(operand.U8(8), u, high)
	e.choose(e.even, u, low)
	e.choose(e.even, high, odd)
	e.VMOVDQU32(low, e.to(64*j))
	e.VMOVDQU32(odd, e.to(amxPlane+64*j))
}

// choose replaces the bits of to that mask has by those of from.
func (g *generator) choose(mask, from, to reg.VecVirtual) {
	const choice = 0xb8 // of a destination, a mask and another: the other where the mask has a bit
	g.VPTERNLOGD(operand.U8(choice), from, mask, to)
}
