package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A block of signed rows is a block of q8a with separate signs: 32 magnitudes, 32 bytes that are 0x80 or, where x
// is negative, 0x7f, the scale, startBits plus the sum of the magnitudes of negative elements, and the float32 with startBits
// times the scale, negated. See signedProduct of package cpu.
const (
	signsBytes  = 76
	signsMasks  = 32
	signsScale  = 64
	signsStart  = 68
	signsOffset = 72
)

// signsTiles generates the tiles of q8_0 for AVX2 and several rows of x, and the function that separates signs.
//
// VPMADDUBSW saturates unless its unsigned operand is at most 128. So that operand is the magnitude of x, and the weight
// gets the sign of x. Weights, which are stored with an offset of 128, lose it and get
// the sign by one VPXOR, which reads them from memory: with 0x80 an element w is w, with 0x7f it is -w-1. The sum of the
// magnitudes of negative elements takes that 1 out. A pair of products is at least -2·127·128, which 16 bits hold.
//
// Nothing is unpacked for a panel, and a tile has each row of x for two vectors of two panels.
//
// Rows of bounded blocks, in which the magnitudes of two pairs sum up to 255 at most, have tiles that add the products of
// two words in 16 bits: 255·128 fits. Two words of a vector take 7 instructions instead of 8, of which 3 instead of 4 multiply.
// The scales of these blocks have 22 bits, and sums begin with startBits: as float32 they are 3·2^22 more than they should be,
// and 3·2^22 times the scale is exact, so that one fused instruction converts and scales.
func signsTiles(g *generator) {
	g.isa = avx2
	for _, s := range []struct {
		format
		rows []int // of tiles of two panels, the most first
	}{{"SignsQ8", []int{2, 1}}, {boundedQ8, []int{4, 2, 1}}} {
		for _, swiglu := range []bool{false, true} {
			for _, rows := range s.rows {
				if swiglu && rows == 1 { // signedProduct multiplies the last of an odd number of rows as one that is alone
					continue
				}
				g.signsTile(&tile{format: s.format, isa: avx2, level: avx2.name, rows: rows, panels: 2, swiglu: swiglu})
				if rows <= 2 && !swiglu {
					g.signsTile(&tile{format: s.format, isa: avx2, level: avx2.name, rows: rows, panels: 1})
				}
			}
		}
	}
	g.takeSigns()
}

// boundedQ8 is the format of tiles for rows of bounded blocks.
const boundedQ8 format = "BoundedQ8"

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

// askNext prefetches a share of the panels that are multiplied next, unless next is 0, and two shares if it is odd.
func (b *signsBlock) askNext(next reg.GPVirtual) {
	nothing := b.label("nothingNext")
	b.TESTQ(next, next)
	b.JZ(operand.LabelRef(nothing))
	b.ask(b.tile, next, b.w, panelRows*q8Bytes)
	b.TESTQ(operand.I32(askTwice), next)
	b.JZ(operand.LabelRef(nothing))
	b.ask(b.tile, next, b.w, panelRows*q8Bytes)
	b.Label(nothing)
}

// askTwice is the bit of the address that makes a tile prefetch two shares: askTwice of package cpu.
const askTwice = 1

// block adds the products of a block of all panels, a row at a time. The steps for an element are those of narrowBlock.
func (b *signsBlock) block() {
	scales := b.vecs(2 * b.panels)
	for i, s := range scales {
		b.VCVTPH2PS(b.w.at(i/2, partWords*64+i%2*16), s)
	}
	for r := range b.rows {
		acc := b.products(r)
		b.scale(r, acc)
		for i, v := range acc {
			b.VFMADD213PS(b.sum(i/2, r, i%2), scales[i], v)
			b.VMOVUPS(v, b.sum(i/2, r, i%2))
		}
	}
}

// products returns startBits plus the sums of products of row r, by panel and half of it.
func (b *signsBlock) products(r int) []reg.VecVirtual {
	acc, start := b.vecs(2*b.panels), b.vec()
	b.VPBROADCASTD(b.x.at(r, signsStart), start)
	together := 1 // words whose products are added in 16 bits
	if b.format == boundedQ8 {
		together = 2
	}
	for j := range partWords / together {
		magnitude, sign := b.vecs(together), b.vecs(together)
		for i := range together {
			at := 4 * (j + i*partWords/2)
			b.VPBROADCASTD(b.x.at(r, at), magnitude[i])
			b.VPBROADCASTD(b.x.at(r, signsMasks+at), sign[i])
		}
		for i, v := range acc {
			product := b.signedWord(i/2, i%2, j, magnitude[0], sign[0])
			if together > 1 {
				b.VPADDW(b.signedWord(i/2, i%2, j+partWords/2, magnitude[1], sign[1]), product, product)
			}
			b.VPMADDWD(b.ones, product, product)
			if j == 0 {
				b.VPADDD(start, product, v)
			} else {
				b.VPADDD(product, v, v)
			}
		}
	}
	return acc
}

// scale takes startBits from the sums of row r and multiplies them by the scale of x, rounded once.
func (b *signsBlock) scale(r int, acc []reg.VecVirtual) {
	d := b.vec()
	b.VBROADCASTSS(b.x.at(r, signsScale), d)
	if b.format == boundedQ8 {
		offset := b.vec()
		b.VBROADCASTSS(b.x.at(r, signsOffset), offset)
		for _, v := range acc {
			b.VFMADD213PS(offset, d, v)
		}
		return
	}
	for _, v := range acc {
		b.VSUBPS(b.word("start", startBits), v, v)
		b.VMULPS(d, v, v)
	}
}

// signedWord returns the products of word j of half h of panel p, of 16 bits.
func (b *signsBlock) signedWord(p, h, j int, magnitude, sign reg.VecVirtual) reg.VecVirtual {
	product := b.vec()
	b.VPXOR(b.w.at(p, 64*j+32*h), sign, product)
	b.VPMADDUBSW(product, magnitude, product)
	return product
}

// takeSigns generates the function that makes signed rows of rows of q8a.
func (g *generator) takeSigns() {
	const name = "takeSignsAVX2"
	g.function(name, []string{fmt.Sprintf("%s makes n blocks of signed rows of n blocks of q8a, and returns the largest sum of the magnitudes", name),
		"of elements i, i+1, i+16 and i+17 of a block, i even, or at least 512 if a scale times startBits is not exact."}, integers("most"),
		pointers("dst", "x"), integers("n"))
	dst, x, n, loop, done := g.arg("dst"), g.arg("x"), g.arg("n"), g.label("loop"), g.label("done")
	most, inexact := g.vec(), g.vec()
	g.zero(most)
	g.zero(inexact)
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
	g.VPADDD(g.word("start", startBits), sum, sum)
	g.VMOVD(sum.AsX(), operand.Mem{Base: dst, Disp: signsStart})
	d := g.XMM()
	g.VMOVD(operand.Mem{Base: x, Disp: q8aScale}, d)
	g.VMOVD(d, operand.Mem{Base: dst, Disp: signsScale})
	g.inexact(d, inexact)
	g.VMULPS(g.word("minusStart", startBits|1<<31), d, d)
	g.VMOVD(d, operand.Mem{Base: dst, Disp: signsOffset})
	g.ADDQ(operand.I32(q8aBytes), x)
	g.ADDQ(operand.I32(signsBytes), dst)
	g.DECQ(n)
	g.JNZ(operand.LabelRef(loop))
	g.Label(done)
	result := g.GP32()
	g.VPMAXSD(inexact, most, most)
	g.VMOVD(g.acrossLanes(most).AsX(), result)
	g.Store(result.As64(), g.Return("most"))
	g.ret()
}

// inexact makes the lowest lane of most at least 512 if startBits times d may not be exact: d has more than 22 bits, is at least
// 2^103, or is negative.
func (g *generator) inexact(d, most reg.VecVirtual) {
	v := g.XMM()
	g.VPSLLD(operand.U8(30), d, v)
	g.VPSRLD(operand.U8(21), v, v)
	g.VPMAXSD(v, most.AsX(), most.AsX())
	g.VPSRLD(operand.U8(1), d, v)
	g.VPSUBD(g.word("exactScales", 0x73000000/2-512), v, v)
	g.VPMAXSD(v, most.AsX(), most.AsX())
}
