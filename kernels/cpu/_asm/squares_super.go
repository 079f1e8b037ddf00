package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Superblocks have integer scales. Expanding multiplies the elements of a panel by those of their groups, and stores the
// products as two planes of bytes. The integer sum of a row and a column of a block is
//
//	Σ scale·u·q = Σ low·q + 2^shift·Σ high·q
//
// so that integers leave tile registers once for a block. An expanded block is its low plane, unsigned, then the high
// one, then the corrections and what blockEnd uses.
const (
	planeBytes  = superLen * panelRows
	squareDepth = 64 // of k, in one instruction
)

// superSquareKind is a kind of expanded blocks.
type superSquareKind struct {
	name string
	superLayout
	shift  uint8 // between planes
	signed bool  // the high plane is
}

// Scales of formats with mins are unsigned and have 6 bits, their elements 5 at most: so products with either half of a
// scale fit a byte.
var superSquareKinds = []superSquareKind{
	{"Mins", superLayout{groups: 1, mins: true}, 3, false},   // q4_k, q5_k
	{"Mins16", superLayout{groups: 2, mins: true}, 3, false}, // q2_k
	{"Signed", superLayout{groups: 1}, 8, true},              // iq4_xs, iq2x, iq3x, iq3sx
	{"Signed16", superLayout{groups: 2}, 8, true},            // q3_k, q6_k, iq2x16
}

// superSquare is what the code of a product with a superblock uses. There is one block: it does not read the argument
// blocks.
type superSquare struct {
	*squares
	kind *superSquareKind

	// before is the rows whose integers are in memory: x is after the bytes of the block.
	before struct{ x, sums, ints reg.GPVirtual }
}

// sum is the register of the sums of a plane of a panel.
func (b *superSquare) sum(panel, plane int) tmm { return tmm(2*panel + plane) }

// superSquare generates the products of a kind.
func (g *generator) superSquare(k *superSquareKind) {
	b := &superSquare{squares: g.beginSquares("super"+k.name+levelAMX, fullTiles()), kind: k}
	b.before.x, b.before.sums, b.before.ints = g.GP64(), g.GP64(), g.GP64()
	scale, loop, last := b.newScaling(), b.label("square"), b.label("last")
	b.ask()
	b.multiply(nil)
	b.store()
	b.nextRows(last)
	b.Label(loop)
	b.ask()
	b.multiply(scale)
	b.store()
	b.nextRows(last)
	b.JMP(operand.LabelRef(loop))
	b.Label(last)
	b.eachDepth(func() {
		for range rowsOfDepth {
			scale.row()
		}
		scale.advance()
	})
	b.endSquares()
}

// eachDepth is a loop over the depths of a block.
func (b *superSquare) eachDepth(each func()) {
	left, loop := b.GP64(), b.label("depth")
	b.MOVQ(operand.U32(superLen/squareDepth), left)
	b.Label(loop)
	each()
	b.DECQ(left)
	b.JNZ(operand.LabelRef(loop))
}

// rowsOfDepth is how many rows are scaled while a depth is multiplied: one after each product.
const rowsOfDepth = tileRows * squareDepth / superLen

// multiply computes the integer sums of sixteen rows, and scales those before if scale is not nil: a row after each
// product.
func (b *superSquare) multiply(scale *superScaling) {
	const x, weights tmm = 4, 5 // and the next two
	at, first := b.GP64(), b.GP64()
	b.firstRow(at)
	b.MOVQ(b.w, first)
	second := b.second(b.w)
	b.clearSums()
	b.eachDepth(func() {
		b.loadTile(x, at, b.xStride, 0)
		for p, w := range []reg.GPVirtual{first, second} {
			for plane := range 2 {
				u := weights + tmm((2*p+plane)%3)
				b.loadTile(u, w, b.line, plane*planeBytes)
				if plane == 1 && b.kind.signed {
					b.multiplySignedWeights(b.sum(p, plane), x, u)
				} else {
					b.multiplyUnsignedWeights(b.sum(p, plane), x, u)
				}
				if scale != nil {
					scale.row()
				}
			}
		}
		for _, w := range []reg.GPVirtual{first, second} {
			b.ADDQ(operand.I32(squareDepth*panelRows), w)
		}
		b.ADDQ(operand.U8(squareDepth), at)
		if scale != nil {
			scale.advance()
		}
	})
}

// store stores what multiply has computed.
func (b *superSquare) store() {
	b.storeSums()
	b.firstRow(b.before.x)
	b.ADDQ(operand.I32(superLen), b.before.x)
	b.MOVQ(b.sums, b.before.sums)
	b.MOVQ(b.ints, b.before.ints)
}

// superScaling scales the integers in memory, one row at a time.
type superScaling struct {
	*superSquare
	corrections [squarePanels][]reg.VecVirtual
	d, m        [squarePanels]reg.VecVirtual
	at          int // the row, from those of before on
}

func (b *superSquare) newScaling() *superScaling {
	s := &superScaling{superSquare: b}
	end := func(p, at int) reg.VecVirtual { return b.loaded(b.of(b.w, p, 2*planeBytes+at)) }
	for p := range squarePanels {
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
func (s *superScaling) row() {
	ints := s.vecs(squarePanels)
	for p, v := range ints {
		high := s.vec()
		s.VPSLLD(operand.U8(s.kind.shift), intsOf(s.before.ints, s.sum(p, 1), s.at), high)
		s.VPADDD(intsOf(s.before.ints, s.sum(p, 0), s.at), high, v)
	}
	e := &blockEnd{
		generator: s.generator, superLayout: s.kind.superLayout, x: rows{bases: []reg.GPVirtual{s.before.x}},
		rows: 1, vectors: squarePanels, ints: [][]reg.VecVirtual{ints},
		correction: func(p, i int) operand.Op { return s.corrections[p][i] },
		d:          func(p int) operand.Op { return s.d[p] }, m: func(p int) operand.Op { return s.m[p] },
	}
	e.add(func(_, p int) operand.Op {
		return operand.Mem{Base: s.before.sums, Disp: s.at*squareLine + p*tileLine}
	})
	s.ADDQ(s.xStride, s.before.x)
	s.at++
}

// advance makes the next row the first.
func (s *superScaling) advance() {
	s.ADDQ(operand.I32(int32(s.at*squareLine)), s.before.sums)
	s.ADDQ(operand.I32(int32(s.at*tileLine)), s.before.ints)
	s.at = 0
}

// expandSuperSquare generates the function that expands blocks of a panel.
func (g *generator) expandSuperSquare(s *scheme) {
	name := "expand" + string(s.format) + levelAMX
	g.function(name, []string{name + " expands blocks of a panel. See expandFunc."}, nil,
		pointers("dst", "panel"), integers("blocks"))
	b := g.newBlockSource(s, g.newRows(g.arg("panel"), nil, 1))
	b.keepMasks()
	e := &planeExpansion{blockSource: b, layout: superLayout{groups: b.groups(), mins: b.mins}, dst: g.arg("dst")}
	if !b.mins {
		e.even = g.loaded(g.word("evenBytes", 0x00ff00ff))
	}
	g.eachBlock(e.block)
	g.ret()
}

// planeExpansion is what the code for a block uses.
type planeExpansion struct {
	*blockSource
	layout superLayout
	dst    reg.GPVirtual
	even   reg.VecVirtual // mask of every second byte
}

func (e *planeExpansion) to(disp int) operand.Mem { return operand.Mem{Base: e.dst, Disp: disp} }

// block expands a block.
func (e *planeExpansion) block() {
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
		e.ADDQ(operand.I32(planeBytes/superParts), e.dst)
	})
	end := planeBytes // of the high bytes, from those of the last part on
	for i := range e.layout.pairs() {
		e.VMOVDQU32(e.correction(0, 0, i), e.to(end+e.layout.correctionAt(i)))
	}
	e.VMOVUPS(e.headFloats(0, 0), e.to(end+e.layout.dAt()))
	if e.layout.mins {
		e.VMOVUPS(e.headFloats(0, 2*panelRows), e.to(end+e.layout.mAt()))
	}
	e.ADDQ(operand.I32(int32(planeBytes+e.layout.endBytes())), e.dst)
}

// scales returns the scales of a group, twice as 16 bits: if there are mins, their lowest three bits, then the others.
func (e *planeExpansion) scales(group int) []reg.VecVirtual {
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
func (e *planeExpansion) split(j int, u reg.VecVirtual, scales []reg.VecVirtual) {
	for plane, s := range scales {
		product := e.vec()
		e.VPMULLW(s, u, product)
		e.VMOVDQU32(product, e.to(plane*planeBytes+64*j))
	}
}

// whole stores the low and the high bytes of the products of word j with scales.
func (e *planeExpansion) whole(j int, u, scale reg.VecVirtual) {
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
	e.VMOVDQU32(odd, e.to(planeBytes+64*j))
}

// choose replaces the bits of to that mask has by those of from.
func (g *generator) choose(mask, from, to reg.VecVirtual) {
	const choice = 0xb8 // of a destination, a mask and another: the other where the mask has a bit
	g.VPTERNLOGD(operand.U8(choice), from, mask, to)
}
