package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A block of signed rows is a block of q8a with separate signs: 32 magnitudes, 32 bytes that are 0x80 or, where x
// is negative, 0x7f, the scale, and the sum of the magnitudes of negative elements. See signedProduct of package cpu.
const (
	signsBytes     = 72
	signsMasks     = 32
	signsScale     = 64
	signsNegatives = 68
)

// signsTiles generates the tiles of q8_0 for AVX2 and several rows of x, and the function that separates signs.
//
// VPMADDUBSW saturates unless its unsigned operand is at most 128. So that operand is the magnitude of x, and the weight
// gets the sign of x. Weights, which are stored with an offset of 128, lose it and get
// the sign by one VPXOR, which reads them from memory: with 0x80 an element w is w, with 0x7f it is -w-1. The sum of the
// magnitudes of negative elements takes that 1 out. A pair of products is at least -2·127·128, which 16 bits hold.
//
// Nothing is unpacked for a panel, and a tile has rows of x for two vectors of two panels.
//
// Rows of bounded blocks, in which the magnitudes of two pairs sum up to 255 at most, have tiles that add the products of
// two words in 16 bits: 255·128 fits. Two words of a vector take 7 instructions instead of 8, of which 3 instead of 4 multiply.
func signsTiles(g *generator) {
	g.isa = avx2
	for _, format := range []format{"SignsQ8", "BoundedQ8"} {
		for _, t := range []tile{
			{rows: 2, panels: 2}, {rows: 1, panels: 2}, {rows: 2, panels: 1}, {rows: 1, panels: 1},
			{rows: 2, panels: 2, swiglu: true}, {rows: 1, panels: 2, swiglu: true},
		} {
			t.format, t.isa, t.level = format, avx2, avx2.name
			g.signsTile(&t)
		}
	}
	g.takeSigns()
}

// signsTile generates a tile.
func (g *generator) signsTile(t *tile) {
	g.begin(t)
	b := &signsBlock{pairBlock: &pairBlock{generator: g, tile: t, scratch: g.GP64()}, ones: g.vec()}
	b.w, b.x = b.ownBases(g.panelAddresses(t)), g.xAddresses(t)
	g.LEAQ(g.local(t.panels*t.rows*vectorSize+vectorSize).Offset(vectorSize-1), b.scratch)
	g.ANDQ(operand.I8(-vectorSize), b.scratch)
	b.clearSums()
	g.VMOVDQU(g.word("ones16", 0x00010001), b.ones)
	next := g.arg("next")
	g.eachBlock(func() {
		b.askNext(next)
		b.block()
		g.advance(b.w, panelRows*q8Bytes)
		g.advance(b.x, signsBytes)
	})
	b.write()
	g.ret()
}

// ownBases gives each panel a base: processors of Intel fetch an operand in memory and use it in one operation only where its
// address has no index.
func (b *signsBlock) ownBases(w rows) rows {
	if b.panels == 1 {
		return w
	}
	other := b.GP64()
	b.LEAQ(w.at(1, 0), other)
	return rows{append(w.bases, other), w.stride, 1}
}

// signsBlock is what the code for a block uses.
type signsBlock struct {
	*pairBlock
	ones reg.VecVirtual
}

// askNext prefetches a share of the panels that are multiplied next, unless next is 0.
func (b *signsBlock) askNext(next reg.GPVirtual) {
	nothing := b.label("nothingNext")
	b.TESTQ(next, next)
	b.JZ(operand.LabelRef(nothing))
	b.ask(b.tile, next, b.w, panelRows*q8Bytes)
	b.Label(nothing)
}

// block adds the products of a block of all panels. The steps for an element are those of narrowBlock.
func (b *signsBlock) block() {
	acc := b.products()
	d := b.vecs(b.rows)
	for r := range d {
		b.VBROADCASTSS(b.x.at(r, signsScale), d[r])
	}
	for p := range b.panels {
		for h := range b.halves() {
			scale := b.vec()
			b.VCVTPH2PS(b.w.at(p, partWords*64+h*16), scale)
			for r := range d {
				v, product := acc[r][2*p+h], b.vec()
				b.VCVTDQ2PS(v, v)
				b.VMULPS(scale, d[r], product)
				b.VFMADD213PS(b.sum(p, r, h), product, v)
				b.VMOVUPS(v, b.sum(p, r, h))
			}
		}
	}
}

// products returns the sums of products by row, then by panel and half of it.
func (b *signsBlock) products() [][]reg.VecVirtual {
	acc := make([][]reg.VecVirtual, b.rows)
	for r := range acc {
		acc[r] = b.vecs(2 * b.panels)
	}
	if b.format == "BoundedQ8" {
		b.boundedWords(acc)
	} else {
		b.signedWords(acc)
	}
	for r := range acc {
		negatives := b.vec()
		b.VPBROADCASTD(b.x.at(r, signsNegatives), negatives)
		for _, v := range acc[r] {
			b.VPADDD(negatives, v, v)
		}
	}
	return acc
}

// signedWords sets acc to the sums of products, a word at a time.
func (b *signsBlock) signedWords(acc [][]reg.VecVirtual) {
	for j := range partWords {
		magnitude, sign := b.vecs(b.rows), b.vecs(b.rows)
		for r := range acc {
			b.VPBROADCASTD(b.x.at(r, 4*j), magnitude[r])
			b.VPBROADCASTD(b.x.at(r, signsMasks+4*j), sign[r])
		}
		for p := range b.panels {
			for h := range b.halves() {
				for r := range acc {
					b.add(acc[r][2*p+h], b.signedWord(p, h, j, magnitude[r], sign[r]), j == 0)
				}
			}
		}
	}
}

// boundedWords sets acc to the sums of products, words j and j+4 at once. Registers hold these of one row at a time.
func (b *signsBlock) boundedWords(acc [][]reg.VecVirtual) {
	const distance = partWords / 2
	for j := range distance {
		for r := range acc {
			magnitude, sign := b.vecs(2), b.vecs(2)
			for i := range 2 {
				b.VPBROADCASTD(b.x.at(r, 4*(j+i*distance)), magnitude[i])
				b.VPBROADCASTD(b.x.at(r, signsMasks+4*(j+i*distance)), sign[i])
			}
			for p := range b.panels {
				for h := range b.halves() {
					product := b.signedWord(p, h, j, magnitude[0], sign[0])
					b.VPADDW(b.signedWord(p, h, j+distance, magnitude[1], sign[1]), product, product)
					b.add(acc[r][2*p+h], product, j == 0)
				}
			}
		}
	}
}

// signedWord returns the products of word j of half h of panel p, of 16 bits.
func (b *signsBlock) signedWord(p, h, j int, magnitude, sign reg.VecVirtual) reg.VecVirtual {
	product := b.vec()
	b.VPXOR(b.w.at(p, 64*j+32*h), sign, product)
	b.VPMADDUBSW(product, magnitude, product)
	return product
}

// add adds pairs of products of 16 bits to a sum, or begins it with them.
func (b *signsBlock) add(sum, product reg.VecVirtual, first bool) {
	if first {
		b.VPMADDWD(b.ones, product, sum)
		return
	}
	b.VPMADDWD(b.ones, product, product)
	b.VPADDD(product, sum, sum)
}

// takeSigns generates the function that makes signed rows of rows of q8a.
func (g *generator) takeSigns() {
	const name = "takeSignsAVX2"
	g.function(name, []string{fmt.Sprintf("%s makes n blocks of signed rows of n blocks of q8a, and returns the largest sum of the magnitudes", name),
		"of elements i, i+1, i+16 and i+17 of a block, i even."}, integers("most"),
		pointers("dst", "x"), integers("n"))
	dst, x, n, loop, done := g.arg("dst"), g.arg("x"), g.arg("n"), g.label("loop"), g.label("done")
	most := g.vec()
	g.zero(most)
	g.TESTQ(n, n)
	g.JZ(operand.LabelRef(done))
	zero, flip, ones8, ones16 := g.vec(), g.vec(), g.vec(), g.vec()
	g.zero(zero)
	g.VMOVDQU(g.word("flip", 0x80808080), flip)
	g.VMOVDQU(g.word("ones8", 0x01010101), ones8)
	g.VMOVDQU(g.word("ones16", 0x00010001), ones16)
	g.Label(loop)
	v, magnitude, negative := g.vec(), g.vec(), g.vec()
	g.VMOVDQU(operand.Mem{Base: x}, v)
	g.VPABSB(v, magnitude)
	g.VMOVDQU(magnitude, operand.Mem{Base: dst})
	pairs, others := g.vec(), g.vec()
	g.VPMADDUBSW(ones8, magnitude, pairs)
	g.VEXTRACTF128(operand.U8(1), pairs, others.AsX())
	g.VPADDW(pairs.AsX(), others.AsX(), others.AsX())
	g.VPMOVZXWD(others.AsX(), others)
	g.VPMAXSD(others, most, most)
	g.VPCMPGTB(v, zero, negative)
	g.VPAND(negative, magnitude, magnitude)
	g.VPXOR(negative, flip, negative)
	g.VMOVDQU(negative, operand.Mem{Base: dst, Disp: signsMasks})
	g.VPMADDUBSW(ones8, magnitude, magnitude)
	g.VPMADDWD(ones16, magnitude, magnitude)
	sum := g.reduce(magnitude, func(a, b, to reg.Register) { g.VPADDD(a, b, to) })
	g.VMOVD(sum.AsX(), operand.Mem{Base: dst, Disp: signsNegatives})
	scale := g.GP32()
	g.MOVL(operand.Mem{Base: x, Disp: q8aScale}, scale)
	g.MOVL(scale, operand.Mem{Base: dst, Disp: signsScale})
	g.ADDQ(operand.I32(q8aBytes), x)
	g.ADDQ(operand.I32(signsBytes), dst)
	g.DECQ(n)
	g.JNZ(operand.LabelRef(loop))
	g.Label(done)
	result := g.GP32()
	g.VMOVD(g.acrossLanes(most).AsX(), result)
	g.Store(result.As64(), g.Return("most"))
	g.ret()
}
