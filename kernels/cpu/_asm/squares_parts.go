package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Blocks of 32 have a float16 scale each, so that integers leave tile registers for every 32 of k. Two blocks are
// multiplied before they do, so that sums in memory are read and written once for both. An expanded block is its bytes,
// signed or with mins unsigned, then its scales, then an eighth of its mins.
const squareBlocks = 2 // at once

// partSquareKind is a kind of expanded blocks.
type partSquareKind struct {
	name  string
	plain bool // integers are multiplied by the scale of x first: q8_0 and q4_0
	mins  bool
}

var partSquareKinds = []partSquareKind{{name: "Plain", plain: true}, {name: "Scaled"}, {name: "Mins", mins: true}}

// bytes is those of an expanded block.
func (k *partSquareKind) bytes() int {
	if k.mins {
		return partBytes
	}
	return partMins
}

// partSquare is what the code of a product uses.
type partSquare struct {
	*squares
	kind   *partSquareKind
	x, w   reg.GPVirtual                      // the next blocks
	left   reg.GPVirtual                      // how many times two of the rows
	before struct{ x, w, sums reg.GPVirtual } // of what is in memory
}

// sum is the register of the sums of a block of a panel.
func (b *partSquare) sum(panel, block int) tmm { return tmm(2*panel + block) }

// partSquare generates the products of a kind.
func (g *generator) partSquare(k *partSquareKind) {
	sizes := make([]tileSize, 8)
	for i := range sizes {
		switch {
		case i < 4:
			sizes[i] = tileSize{tileRows, tileLine}
		case i < 6: // x
			sizes[i] = tileSize{tileRows, subLen}
		default:
			sizes[i] = tileSize{partWords, tileLine}
		}
	}
	b := &partSquare{squares: g.beginSquares("parts"+k.name+levelAMX, sizes), kind: k, x: g.GP64(), w: g.GP64(), left: g.GP64()}
	b.before.x, b.before.w, b.before.sums = g.GP64(), g.GP64(), g.GP64()
	loop, last := b.label("blocks"), b.label("last")
	b.begin()
	b.multiply(func() {})
	b.store()
	b.next(last)
	b.Label(loop)
	b.multiply(b.newScaling().rows)
	b.store()
	b.next(last)
	b.JMP(operand.LabelRef(loop))
	b.Label(last)
	scale := b.newScaling()
	for range tileRows / rowsBetween {
		scale.rows()
	}
	b.endSquares()
}

// begin begins the next sixteen rows.
func (b *partSquare) begin() {
	b.ask()
	b.firstRow(b.x)
	b.MOVQ(b.squares.w, b.w)
	b.MOVQ(b.paramAt("blocks"), b.left)
	b.SHRQ(operand.U8(1), b.left)
}

// multiply computes the integer sums of two blocks of sixteen rows. It makes the code of between after each of four
// products.
func (b *partSquare) multiply(between func()) {
	const x, weights tmm = 4, 6
	second := b.second(b.w)
	b.clearSums()
	for i := range squareBlocks {
		b.loadTile(x+tmm(i), b.x, b.xStride, i*q8aBytes)
		for p, w := range []reg.GPVirtual{b.w, second} {
			u := weights + tmm(p)
			b.loadTile(u, w, b.line, i*b.kind.bytes())
			if b.kind.mins {
				b.multiplyUnsignedWeights(b.sum(p, i), x+tmm(i), u)
			} else {
				b.multiplySignedWeights(b.sum(p, i), x+tmm(i), u)
			}
			between()
		}
	}
}

// store stores what multiply has computed.
func (b *partSquare) store() {
	b.storeSums()
	b.MOVQ(b.x, b.before.x)
	b.MOVQ(b.w, b.before.w)
	b.MOVQ(b.sums, b.before.sums)
}

// next goes to the next two blocks, those of the next rows after the last, or to last.
func (b *partSquare) next(last string) {
	more := b.label("more")
	b.ADDQ(operand.I32(squareBlocks*q8aBytes), b.x)
	b.ADDQ(operand.I32(int32(squareBlocks*b.kind.bytes())), b.w)
	b.DECQ(b.left)
	b.JNZ(operand.LabelRef(more))
	b.nextRows(last)
	b.begin()
	b.Label(more)
}

// rowsBetween is how many rows are scaled after a product.
const rowsBetween = tileRows / (squareBlocks * squarePanels)

// partScaling scales the integers in memory, some rows at a time.
type partScaling struct {
	*partSquare
	scales, mins [squarePanels][squareBlocks]reg.VecVirtual
	magic        reg.VecVirtual // startBits
	at           int            // the row
}

func (b *partSquare) newScaling() *partScaling {
	s := &partScaling{partSquare: b}
	for p := range squarePanels {
		for i := range squareBlocks {
			s.scales[p][i] = b.loaded(b.of(b.before.w, p, i*b.kind.bytes()+partScales))
			if b.kind.mins {
				s.mins[p][i] = b.loaded(b.of(b.before.w, p, i*b.kind.bytes()+partMins))
			}
		}
	}
	if b.kind.mins {
		s.magic = b.loaded(b.word("start", startBits))
	}
	return s
}

// rows scales the next rows. The steps are those of vnniBlock.add, or of term.
func (s *partScaling) rows() {
	for range rowsBetween {
		s.row()
	}
}

// row adds what the integers of a row give to its sums.
func (s *partScaling) row() {
	sums := make([]reg.VecVirtual, squarePanels)
	at := func(p int) operand.Mem { return operand.Mem{Base: s.before.sums, Disp: s.at*squareLine + p*tileLine} }
	for p := range sums {
		sums[p] = s.loaded(at(p))
	}
	for i := range squareBlocks {
		for p, sum := range sums {
			s.add(p, i, sum)
		}
	}
	for p, sum := range sums {
		s.VMOVUPS(sum, at(p))
	}
	s.ADDQ(s.xStride, s.before.x)
	s.at++
}

// add adds what block i of panel p gives to a sum.
func (s *partScaling) add(p, i int, sum reg.VecVirtual) {
	v := s.vec()
	s.VCVTDQ2PS(intsOf(s.ints, s.sum(p, i), s.at), v)
	x := func(field int) operand.Mem { return operand.Mem{Base: s.before.x, Disp: i*q8aBytes + field} }
	if s.kind.plain {
		s.VMULPS_BCST(x(q8aScale), v, v)
		s.VFMADD231PS(s.scales[p][i], v, sum)
		return
	}
	s.VMULPS(s.scales[p][i], v, v)
	if s.kind.mins {
		c := s.vec()
		s.VSUBPS_BCST(x(q8aStart4), s.magic, c)
		s.VFNMADD231PS(s.mins[p][i], c, v)
	}
	s.VFMADD231PS_BCST(x(q8aScale), v, sum)
}

// expandPartSquare generates the function that expands blocks of a format with a scheme.
func (g *generator) expandPartSquare(s *scheme) {
	k := &partSquareKind{mins: s.mins}
	name := "expand" + string(s.format) + levelAMX
	g.function(name, []string{name + " expands blocks of a panel. See expandFunc."}, nil,
		pointers("dst", "panel"), integers("blocks"))
	dst := g.arg("dst")
	to := func(disp int) operand.Mem { return operand.Mem{Base: dst, Disp: disp} }
	b := g.newBlockSource(s, g.newRows(g.arg("panel"), nil, 1))
	b.overParts(func() {
		b.bytesOf(0, 0, func(j int, u reg.VecVirtual) {
			if !s.mins {
				b.VPSUBB(b.word("bytes"+string(s.format), uint32(b.byteOffset())*0x01010101), u, u)
			}
			b.VMOVUPS(u, to(64*j))
		})
		scale := b.scale(0, 0)
		b.VMOVUPS(scale, to(partScales))
		if s.mins {
			b.VMOVUPS(b.min(0, 0, scale), to(partMins))
		}
		g.ADDQ(operand.I32(int32(k.bytes())), dst)
	})
	g.ret()
}

// expandQ8Square generates the function that expands blocks of q8_0, expandQ4Square that of q4_0.
func (g *generator) expandQ8Square() {
	g.expandPlain("expandQ8"+levelAMX, 8*64, partScales, func(dst, from reg.GPVirtual, _ int) {
		for j := range partWords {
			u := g.loaded(operand.Mem{Base: from, Disp: 64 * j})
			g.VPXORD(g.word("flip", 0x80808080), u, u)
			g.VMOVDQU32(u, operand.Mem{Base: dst, Disp: 64 * j})
		}
	})
}

func (g *generator) expandQ4Square() {
	g.expandPlain("expandQ4"+levelAMX, 4*64, partScales, func(dst, from reg.GPVirtual, _ int) {
		for j := range partWords / 2 {
			low, high := g.loaded(operand.Mem{Base: from, Disp: 64 * j}), g.vec()
			g.VPSRLW(operand.U8(4), low, high)
			for i, u := range []reg.VecVirtual{low, high} {
				g.VPANDD(g.word("nibbles", 0x0f0f0f0f), u, u)
				g.VPSUBB(g.word("bytesQ4", 0x08080808), u, u)
				g.VMOVDQU32(u, operand.Mem{Base: dst, Disp: 64 * (j + 4*i)})
			}
		}
	})
}
