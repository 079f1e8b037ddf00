package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Tile registers multiply bytes and add up 32-bit integers, sixteen rows of x by a panel at once. What they give leaves
// them through memory, and takes as long to scale as to multiply. So both have to happen at once:
//
//	tile registers          vector registers
//	multiply rows 0 to 15
//	multiply rows 16 to 31  scale rows 0 to 15
//	multiply rows 32 to 47  scale rows 16 to 31 …
//
// A core does not look ahead past many instructions of tile registers that wait for each other, so code that scales is
// interleaved with them.
//
// Two panels are expanded for a short part of k, and stay in the first-level cache while rows of x pass by, each of whose
// bytes meets both. Sums of all rows are in memory.
//
// Integers are exact and are scaled by the steps of other tiles, so that results have the same bits.
const (
	squarePanels = 2
	squareLine   = squarePanels * tileLine // bytes of a row of sums

	// squareInts is the bytes of integers of sixteen rows, before the panels: of four tile registers.
	squareInts = 4 * tileRows * tileLine
)

// generateSquares generates the products, what writes their sums, and for each format the function that expands panels.
func generateSquares(g *generator) {
	g.isa = avx512
	for i := range superSquareKinds {
		g.superSquare(&superSquareKinds[i])
	}
	for i := range partSquareKinds {
		g.partSquare(&partSquareKinds[i])
	}
	g.writeSquares()
	for i := range schemes {
		if schemes[i].super {
			g.expandSuperSquare(&schemes[i])
		} else {
			g.expandPartSquare(&schemes[i])
		}
	}
	g.expandQ8Square()
	g.expandQ4Square()
}

// squares is what the code of a product uses. The arguments x, where the next sixteen rows begin, and rows, how many are
// left, change in memory, as next does.
type squares struct {
	*generator
	line                 reg.GPVirtual // bytes of a line of a panel and of integers
	xStride, panelStride reg.GPVirtual
	ints, w              reg.GPVirtual
	sums                 reg.GPVirtual // of the next rows
}

// beginSquares begins a function.
func (g *generator) beginSquares(name string, sizes []tileSize) *squares {
	g.function(name, []string{name + " adds products of rows rows of x with two expanded panels of w to sums. See squareFunc."}, nil,
		pointers("sums", "x", "w"), integers("rows", "xStride", "panelBytes", "blocks"), addresses("next"), integers("ask"))
	s := &squares{generator: g, line: g.GP64(), xStride: g.arg("xStride"), panelStride: g.arg("panelBytes"), ints: g.GP64(), w: g.arg("w"), sums: g.arg("sums")}
	g.configureTiles(sizes)
	g.MOVQ(operand.U32(tileLine), s.line)
	g.LEAQ(operand.Mem{Base: s.w, Disp: -squareInts}, s.ints)
	return s
}

// endSquares ends it.
func (s *squares) endSquares() {
	s.releaseTiles()
	s.ret()
}

// second returns the address of the second panel of what is at w.
func (s *squares) second(w reg.GPVirtual) reg.GPVirtual {
	second := s.GP64()
	s.LEAQ(operand.Mem{Base: w, Index: s.panelStride, Scale: 1}, second)
	return second
}

// of is the memory disp bytes into panel p of what is at w.
func (s *squares) of(w reg.GPVirtual, p, disp int) operand.Mem {
	m := operand.Mem{Base: w, Disp: disp}
	if p > 0 {
		m.Index, m.Scale = s.panelStride, 1
	}
	return m
}

// ask prefetches ask bytes, a positive multiple of a line, from next on, unless next is 0, and advances next.
func (s *squares) ask() {
	at, loop, none := s.GP64(), s.label("ask"), s.label("asked")
	s.MOVQ(s.paramAt("next"), at)
	s.TESTQ(at, at)
	s.JZ(operand.LabelRef(none))
	s.ADDQ(s.paramAt("ask"), at)
	s.Label(loop)
	s.SUBQ(operand.U8(lineBytes), at)
	s.PREFETCHT1(operand.Mem{Base: at})
	s.CMPQ(at, s.paramAt("next"))
	s.JHI(operand.LabelRef(loop))
	s.ADDQ(s.paramAt("ask"), at)
	s.MOVQ(at, s.paramAt("next"))
	s.Label(none)
}

// firstRow sets to to the first of the next sixteen rows: of the last ones, if fewer are left.
func (s *squares) firstRow(to reg.GPVirtual) {
	zero := s.GP64()
	s.XORQ(zero, zero)
	s.MOVQ(s.paramAt("rows"), to)
	s.SUBQ(operand.U8(tileRows), to)
	s.CMOVQGT(zero, to)
	s.IMULQ(s.xStride, to)
	s.ADDQ(s.paramAt("x"), to)
}

// nextRows goes to the next sixteen rows, or to last if none are left.
func (s *squares) nextRows(last string) {
	each := s.GP64()
	s.MOVQ(s.xStride, each)
	s.SHLQ(operand.U8(4), each) // times tileRows
	s.ADDQ(each, s.paramAt("x"))
	s.ADDQ(operand.I32(tileRows*squareLine), s.sums)
	s.SUBQ(operand.U8(tileRows), s.paramAt("rows"))
	s.JLE(operand.LabelRef(last))
}

// clearSums clears the first four tile registers.
func (s *squares) clearSums() {
	for t := range 4 {
		s.zeroTile(tmm(t))
	}
}

// storeSums stores them.
func (s *squares) storeSums() {
	for t := range 4 {
		s.storeTile(tmm(t), s.ints, s.line, t*tileRows*tileLine)
	}
}

// intsOf is where the integers of a row of such a register are.
func intsOf(ints reg.GPVirtual, t tmm, row int) operand.Mem {
	return operand.Mem{Base: ints, Disp: (int(t)*tileRows + row) * tileLine}
}

// writeSquares generates what writes sums.
func (g *generator) writeSquares() {
	name := "writeSquares" + g.isa.name
	g.function(name, []string{name + " writes cols columns, at most 32, of rows rows of sums, plus res if not nil. See squareFunc."}, nil,
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
	g.SUBQ(operand.I32(-squareLine), sums)
	g.DECQ(left)
	g.JNZ(operand.LabelRef(loop))
}
