package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pairKind is a kind of expanded parts for AVX2. A part is 32 k of a panel.
//
// Bytes are taken in one of two ways. Small ones are unsigned, and products of atOnce words are added in 16 bits.
// Others are stored as magnitudes of at most 127 and as signs, 0 or -1, which are combined with x: x xor -1 is -x-1. So
// each negative weight makes the sum smaller by its magnitude, which a sum for each row of w takes out. A pair of
// products is at least -2·128·128, which 16 bits hold. (VPSIGNB would take no sum, but the ports of products.)
type pairKind struct {
	format
	atOnce int // words that are added in 16 bits; 0 if there are magnitudes
	tail   pairTail
	stored int // lines of a part as it is stored, at most
}

// pairTail is how the sums of a part's products are scaled.
type pairTail int

const (
	tailMins    pairTail = iota // d·(s·products - m·Σ x)
	tailScales                  // d·(s·products), with magnitudes
	tailOffset                  // (s·d)·(products - 8·Σ x)
	tailShifted                 // d·(s·(products - offset·Σ x))
)

// Products of a word are at most 2·127·most in 16 bits: 8 words of at most 15, 4 of at most 31, 2 of at most 63, and
// one of at most 127 stay below 2^15.
var pairKinds = []pairKind{
	{"Nibbles", 8, tailMins, 5},
	{"Bytes", 4, tailMins, 6},
	{"Shifted", 4, tailShifted, 6},
	{"Signed", 0, tailScales, 5},
	{"PairQ4", 8, tailOffset, 5},
}

// Parts with magnitudes have these after the signs, then what takes the signs' error out, then scales.
const (
	magnitudes   = partScales
	negatives    = 2 * partScales
	signedScales = negatives + vectorSize
)

// scalesAt and minsAt are offsets in a part, bytes its size.
func (k *pairKind) scalesAt() int {
	if k.atOnce == 0 {
		return signedScales
	}
	return partScales
}
func (k *pairKind) minsAt() int { return k.scalesAt() + vectorSize }
func (k *pairKind) bytes() int {
	if k.tail == tailMins || k.tail == tailShifted {
		return k.minsAt() + vectorSize
	}
	return k.minsAt()
}

// mostRows is the rows of x for which registers hold what a tile needs.
func (k *pairKind) mostRows() int {
	if k.atOnce == 0 {
		return 4
	}
	return mostPairRows
}

// Scratch memory of a tile is before its panels: sums of both panels of swiglu, then what registers do not hold of a
// part. See tileScratch of package cpu.
const (
	pairScratch  = 2048
	mostPairRows = 6 // at most
	pairStash    = 2 * mostPairRows * vectorSize
)

// pairTiles generates the tiles for AVX2 of expanded parts. Those of two weights are for q4_0 alone: others take
// one weight after the other with 0.96 to 1.03 of the speed, and 35 KB less.
func pairTiles(g *generator) {
	g.isa = avx2
	for i := range pairKinds {
		k := &pairKinds[i]
		for _, rows := range []int{k.mostRows(), 2, 1} {
			g.pairTile(k, &tile{format: k.format, isa: avx2, level: avx2.name, rows: rows, panels: 1})
			if k.tail == tailOffset {
				g.pairTile(k, &tile{format: k.format, isa: avx2, level: avx2.name, rows: rows, panels: 2, swiglu: true})
			}
		}
	}
	g.expandQ4()
}

// pairTile generates a tile whose rows of x meet both vectors of a panel, so that a word of x is loaded once for 16
// columns. Registers hold the integer sums of one part of one panel. With each part it prefetches a stored part of what
// is expanded next: see following of package cpu.
func (g *generator) pairTile(k *pairKind, t *tile) {
	g.begin(t)
	b := &pairBlock{generator: g, tile: t, kind: k, scratch: g.GP64()}
	b.w, b.x = g.panelAddresses(t), g.xAddresses(t)
	g.LEAQ(operand.Mem{Base: b.w.bases[0], Disp: -pairScratch}, b.scratch)
	b.clearSums()
	if k.atOnce == 0 {
		b.ones = g.vec()
		g.VMOVDQU(g.word("ones16", 0x00010001), b.ones)
	}
	blocks, next, other := g.arg("blocks"), g.arg("next"), reg.GPVirtual(nil)
	if t.swiglu {
		other = g.arg("panelBytes")
	}
	loop, done := g.label("loop"), g.label("done")
	g.TESTQ(blocks, blocks)
	g.JZ(operand.LabelRef(done))
	g.Label(loop)
	g.askFor(next, other, k.stored)
	for p := range t.panels {
		b.part(p)
	}
	g.advance(b.w, k.bytes())
	g.advance(b.x, q8aBytes)
	g.DECQ(blocks)
	g.JNZ(operand.LabelRef(loop))
	g.Label(done)
	b.write()
	g.ret()
}

// askFor prefetches lines of what is expanded next, and as many at a distance of other if that is not nil, and advances:
// half of them where next is odd. It does nothing where next is 0.
func (g *generator) askFor(next, other reg.GPVirtual, lines int) {
	nothing, half := g.label("nothingNext"), g.label("half")
	ask := func(n int) {
		for i := range n {
			g.PREFETCHT1(operand.Mem{Base: next, Disp: i * lineBytes})
			if other != nil {
				g.PREFETCHT1(operand.Mem{Base: next, Index: other, Scale: 1, Disp: i * lineBytes})
			}
		}
		g.ADDQ(operand.I32(int32(n*lineBytes)), next)
	}
	g.TESTQ(next, next)
	g.JZ(operand.LabelRef(nothing))
	g.TESTQ(operand.U32(1), next)
	g.JNZ(operand.LabelRef(half))
	ask(lines / 2)
	g.Label(half)
	ask((lines + 1) / 2)
	g.Label(nothing)
}

// pairBlock is what the code for a part uses.
type pairBlock struct {
	*generator
	*tile
	kind    *pairKind
	w, x    rows
	scratch reg.GPVirtual
	ones    reg.VecVirtual
}

// part adds the products of a part of panel p.
func (b *pairBlock) part(p int) {
	acc := b.products(p)
	t := b.newTail()
	for r := range acc {
		t.widen(r, acc[r])
		t.scale(p, r, acc[r])
	}
}

// tailBlock is what scales the sums of a group of all rows. Words of weights and x have left registers for constants.
type tailBlock struct {
	*pairBlock
	ones16, start operand.Op
}

func (b *pairBlock) newTail() *tailBlock {
	t := &tailBlock{b, b.word("ones16", 0x00010001), b.word("start", startBits)}
	if b.kind.atOnce == 0 {
		return t // registers are full
	}
	constants := []*operand.Op{&t.ones16, &t.start}
	if b.kind.tail == tailShifted {
		constants = constants[:1] // of integers
	}
	for _, at := range constants {
		v := b.vec()
		b.VMOVDQU(*at, v)
		*at = v
	}
	return t
}

// widen makes sums of 32 bits of the last ones of 16 of row r, and adds those before.
func (t *tailBlock) widen(r int, acc []reg.VecVirtual) {
	if t.kind.atOnce == 0 {
		return
	}
	for h, v := range acc {
		t.VPMADDWD(t.ones16, v, v)
		if t.kind.atOnce < partWords {
			t.VPADDD(t.stash(r, h), v, v)
		}
	}
}

// sum is where vector h of the sums of row r and panel p is.
func (b *pairBlock) sum(p, r, h int) operand.Mem {
	return operand.Mem{Base: b.scratch, Disp: (p*b.rows+r)*vectorSize + h*b.generator.bytes()}
}

// stash is where vector h of row r is kept for a while.
func (b *pairBlock) stash(r, h int) operand.Mem {
	return operand.Mem{Base: b.scratch, Disp: pairStash + r*vectorSize + h*b.generator.bytes()}
}

// clearSums sets all sums to zero.
func (b *pairBlock) clearSums() {
	zero := b.vec()
	b.zero(zero)
	for p := range b.panels {
		for r := range b.rows {
			for h := range 2 {
				b.VMOVUPS(zero, b.sum(p, r, h))
			}
		}
	}
}

// products returns the sums of products of panel p: two vectors for each row, of 32 bits with magnitudes and otherwise
// of the last words in 16 bits, while those before are stashed.
func (b *pairBlock) products(p int) [][]reg.VecVirtual {
	acc := make([][]reg.VecVirtual, b.rows)
	for r := range acc {
		acc[r] = b.vecs(2)
	}
	for j := range partWords {
		if b.kind.atOnce == 0 {
			b.signedWord(acc, p, j)
			continue
		}
		b.narrowWord(acc, p, j, j%b.kind.atOnce == 0)
		if j+1 < partWords && (j+1)%b.kind.atOnce == 0 {
			b.stashSums(acc, j+1 == b.kind.atOnce)
		}
	}
	return acc
}

// signedWord adds word j, or begins the sums with what takes the signs' error out.
func (b *pairBlock) signedWord(acc [][]reg.VecVirtual, p, j int) {
	b.magnitudeWord(p, j, func(h int) operand.Op { return b.ones }, func(r, h int, product reg.VecVirtual) {
		from := operand.Op(acc[r][h])
		if j == 0 {
			from = b.w.at(p, negatives+h*b.generator.bytes())
		}
		b.VPADDD(from, product, acc[r][h])
	})
}

// magnitudeWord calls add with the products of word j times scales of 16 bits.
func (b *pairBlock) magnitudeWord(p, j int, scale func(h int) operand.Op, add func(r, h int, product reg.VecVirtual)) {
	sign, magnitude := b.vecs(2), b.vecs(2)
	for h := range sign {
		at := 64*j + h*b.generator.bytes()
		b.VMOVDQU(b.w.at(p, at), sign[h])
		b.VMOVDQU(b.w.at(p, magnitudes+at), magnitude[h])
	}
	for r := range b.rows {
		x := b.vec()
		b.VPBROADCASTD(b.x.at(r, 4*j), x)
		for h := range sign {
			product := b.vec()
			b.VPXOR(sign[h], x, product)
			b.VPMADDUBSW(product, magnitude[h], product)
			b.VPMADDWD(scale(h), product, product)
			add(r, h, product)
		}
	}
}

// narrowWord adds word j in 16 bits, or begins the sums.
func (b *pairBlock) narrowWord(acc [][]reg.VecVirtual, p, j int, first bool) {
	u := b.vecs(2)
	for h := range u {
		b.VMOVDQU(b.w.at(p, 64*j+h*b.generator.bytes()), u[h])
	}
	for r := range acc {
		x := b.vec()
		b.VPBROADCASTD(b.x.at(r, 4*j), x)
		for h := range u {
			if first {
				b.VPMADDUBSW(x, u[h], acc[r][h])
				continue
			}
			product := b.vec()
			b.VPMADDUBSW(x, u[h], product)
			b.VPADDW(product, acc[r][h], acc[r][h])
		}
	}
}

// stashSums makes sums of 32 bits of those of 16, adds those before, and stashes them.
func (b *pairBlock) stashSums(acc [][]reg.VecVirtual, first bool) {
	for r := range acc {
		for h, v := range acc[r] {
			b.VPMADDWD(b.word("ones16", 0x00010001), v, v)
			if !first {
				b.VPADDD(b.stash(r, h), v, v)
			}
			b.VMOVDQU(v, b.stash(r, h))
		}
	}
}

// scale adds what the products of a part give for row r to its sums. The steps are those of term.add, of narrowBlock for
// q8_0 and q4_0.
func (b *tailBlock) scale(p, r int, acc []reg.VecVirtual) {
	b.toFloats(p, r, acc)
	d := b.vec()
	switch b.kind.tail {
	case tailOffset:
		b.VBROADCASTSS(b.x.at(r, q8aScale), d)
		for h, v := range acc {
			sum := b.vec()
			b.VMULPS(d, v, v)
			b.VMOVUPS(b.sum(p, r, h), sum)
			b.VFMADD231PS(b.w.at(p, b.kind.scalesAt()+h*b.generator.bytes()), v, sum)
			b.VMOVUPS(sum, b.sum(p, r, h))
		}
		return
	case tailMins:
		b.scaleWithMins(p, r, acc)
	case tailScales, tailShifted:
		for h, v := range acc {
			b.VMULPS(b.w.at(p, b.kind.scalesAt()+h*b.generator.bytes()), v, v)
		}
	}
	b.VBROADCASTSS(b.x.at(r, q8aScale), d)
	for h, v := range acc {
		b.VFMADD213PS(b.sum(p, r, h), d, v)
		b.VMOVUPS(v, b.sum(p, r, h))
	}
}

// toFloats makes float32 of integer sums; those with an offset lose it.
func (b *tailBlock) toFloats(p, r int, acc []reg.VecVirtual) {
	if b.kind.tail == tailShifted {
		lost := b.lostOffset(b.x, r, b.w.at(p, b.kind.minsAt()))
		for _, v := range acc {
			b.VPADDD(lost, v, v)
		}
	}
	if b.kind.tail != tailOffset {
		for _, v := range acc {
			b.VCVTDQ2PS(v, v)
		}
		return
	}
	from := b.vec()
	b.VPBROADCASTD(b.x.at(r, q8aStart4), from)
	for _, v := range acc {
		b.VPADDD(from, v, v)
		b.VSUBPS(b.start, v, v)
	}
}

// scaleWithMins scales the sums of a part and subtracts the mins times eight times the sum of row r.
func (b *tailBlock) scaleWithMins(p, r int, acc []reg.VecVirtual) {
	c := b.vec()
	b.VBROADCASTSS(b.x.at(r, q8aStart4), c)
	b.VSUBPS(c, b.start.(reg.VecVirtual), c)
	for h, v := range acc {
		b.VMULPS(b.w.at(p, b.kind.scalesAt()+h*b.generator.bytes()), v, v)
		b.VFNMADD231PS(b.w.at(p, b.kind.minsAt()+h*b.generator.bytes()), c, v)
	}
}

// write writes the sums, or for swiglu what they give. Stores with a mask take some twenty cycles on AMD's processors,
// so that full panels have a loop of their own.
func (b *pairBlock) write() {
	partly, done := b.label("partly"), b.label("written")
	cols := b.arg("cols")
	b.CMPQ(cols, operand.U8(panelRows))
	b.JNE(operand.LabelRef(partly))
	b.writeRows([]*mask{nil, nil})
	b.JMP(operand.LabelRef(done))
	b.Label(partly)
	low, high := b.firstLanesFrom(cols, 0), b.firstLanesFrom(cols, b.generator.isa.lanes)
	b.writeRows([]*mask{&low, &high})
	b.Label(done)
}

// writeRows is a loop over rows.
func (b *pairBlock) writeRows(masks []*mask) {
	loop, left, from, dst, stride := b.label("write"), b.GP64(), b.GP64(), b.arg("dst"), b.arg("dstStride")
	b.MOVQ(operand.U32(uint32(b.rows)), left)
	b.MOVQ(b.scratch, from)
	var res reg.GPVirtual
	if !b.swiglu {
		res = b.arg("res")
	}
	b.Label(loop)
	for p := range b.results() {
		m := masks
		if p < b.results()-1 {
			m = make([]*mask, len(masks))
		}
		b.writePanel(p, from, dst, res, m)
	}
	if !b.swiglu {
		b.ADDQ(stride, res)
	}
	b.ADDQ(stride, dst)
	b.ADDQ(operand.U8(vectorSize), from)
	b.DECQ(left)
	b.JNZ(operand.LabelRef(loop))
}

// writePanel writes a row of panel p of the result.
func (b *pairBlock) writePanel(p int, from, dst, res reg.GPVirtual, masks []*mask) {
	v := b.vecs(2)
	for h := range v {
		at := p*b.rows*vectorSize + h*b.generator.bytes()
		b.VMOVUPS(operand.Mem{Base: from, Disp: at}, v[h])
		if b.swiglu {
			b.silu(v[h])
			b.VMULPS(operand.Mem{Base: from, Disp: at + b.rows*vectorSize}, v[h], v[h])
		}
	}
	if !b.swiglu {
		b.addRow(operand.Mem{Base: res, Disp: p * vectorSize}, v, masks)
	}
	for h := range v {
		b.store(v[h], masks[h], operand.Mem{Base: dst, Disp: p*vectorSize + h*b.generator.bytes()})
	}
}

// addRow adds a row of the residual, if there is one: res of the tile is nil otherwise.
func (b *pairBlock) addRow(res operand.Mem, v []reg.VecVirtual, masks []*mask) {
	none := b.label("noResidual")
	b.CMPQ(b.paramAt("res"), operand.U8(0))
	b.JEQ(operand.LabelRef(none))
	for h := range v {
		old := b.vec()
		b.load(res.Offset(h*b.generator.bytes()), masks[h], old)
		b.VADDPS(old, v[h], v[h])
	}
	b.Label(none)
}
