package main

import (
	"math/bits"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// This file has what AVX2 does for formats of groups of 16 with integer scales and an offset, and without mins. The sum
// over both groups of a part,
//
//	Σ scale·Σ q·(u - offset)
//
// is an integer below 2^24 for q6_k, so that a float32 holds it, and tiles may differ in how they compute it. What is
// left is one product with D and the scale of the activations.

// scaled reports whether AVX2 takes scales as integers.
func (s *scheme) scaled() bool {
	return s.super && !s.mins && s.groups() == 2 && s.values == nil
}

// unit is what integer sums are multiplied by: activations have eight times their sums, and offsets may be less than 8.
func (s *scheme) unit() int { return max(1, 8/s.offset) }

// Expanded parts of such formats: bytes, then for each group vectors of its scale, twice in each lane of 32 bits, then
// what sums of activations are multiplied by to undo the offset (see sumPair), then D.
const (
	scaledPairs = partScales
	scaledBias  = scaledPairs + 2*vectorSize
	scaledD     = scaledBias + vectorSize
	scaledBytes = scaledD + vectorSize
)

// pairs returns low and high times factor, a power of two, as 16 bits each.
func (g *generator) pairs(low, high reg.VecVirtual, factor int) reg.VecVirtual {
	shift, a, b := bits.TrailingZeros(uint(factor)), low, g.vec()
	if shift > 0 {
		a = g.vec()
		g.VPSLLD(operand.U8(shift), low, a)
	}
	g.VPSLLD(operand.U8(16+shift), high, b)
	g.VPBLENDW(operand.U8(oddWords), b, a, b)
	return b
}

// oddWords takes every second word of 16 bits from the second operand.
const oddWords = 0xaa

// sumPair returns eight times the sum of the first 16 activations of row r, and minus eight times the sum of all, as 16
// bits each. The last 16 bits of q8aStart4 are the latter, as the last 16 of startBits are 0.
func (g *generator) sumPair(x rows, r int) reg.VecVirtual {
	first, all := g.vec(), g.vec()
	g.VBROADCASTSS(x.at(r, q8aFirst), first)
	g.VCVTPS2DQ(first, first)
	g.VPBROADCASTD(x.at(r, q8aStart4-2), all)
	g.VPBLENDW(operand.U8(oddWords), all, first, first)
	return first
}

// intScale returns the scales of a group of vector h of panel p as integers.
func (b *blockSource) intScale(p, h, group int) reg.VecVirtual {
	s := b.vec()
	b.VPMOVSXBD(b.w.at(p, b.scalesAt()+group*panelRows+h*b.isa.lanes), s)
	return s
}

// bias returns what sumPair is multiplied by to undo the offset, for scales s0 and s1.
func (b *blockSource) bias(s0, s1 reg.VecVirtual) reg.VecVirtual {
	difference := b.vec()
	b.VPSUBD(s0, s1, difference)
	return b.pairs(difference, s1, b.unit()*b.offset/8)
}

// scaledD returns D of vector h of panel p.
func (b *blockSource) scaledD(p, h int) reg.VecVirtual {
	d := b.headFloats(p, h*b.isa.lanes*2)
	if b.unit() > 1 {
		b.VMULPS(b.float("unit"+string(b.format), 1/float64(b.unit())), d, d)
	}
	return d
}

// expandScaled expands vector h of a part.
func (b *blockSource) expandScaled(dst reg.GPVirtual, h int) {
	to := func(disp int) operand.Mem { return operand.Mem{Base: dst, Disp: disp + h*b.bytes()} }
	b.bytesOf(0, h, func(j int, u reg.VecVirtual) { b.VMOVDQU(u, to(64*j)) })
	scales := [2]reg.VecVirtual{b.intScale(0, h, 0), b.intScale(0, h, 1)}
	for i, s := range scales {
		b.VMOVDQU(b.pairs(s, s, b.unit()), to(scaledPairs+i*vectorSize))
	}
	b.VMOVDQU(b.bias(scales[0], scales[1]), to(scaledBias))
	b.VMOVUPS(b.scaledD(0, h), to(scaledD))
}

// addScaled is addPart for one row and a format with integer scales.
func (b *blockSource) addScaled(x rows, p, h int, sum reg.VecVirtual) {
	acc := b.groupSums(x, p, h)
	s0, s1 := b.intScale(p, h, 0), b.intScale(p, h, 1)
	total := b.bias(s0, s1)
	b.VPMADDWD(b.sumPair(x, 0), total, total)
	for i, s := range []reg.VecVirtual{s0, s1} {
		if b.unit() > 1 {
			b.VPSLLD(operand.U8(bits.TrailingZeros(uint(b.unit()))), s, s)
		}
		b.VPMULLD(s, acc[i], acc[i])
		b.VPADDD(acc[i], total, total)
	}
	b.VCVTDQ2PS(total, total)
	d := b.vec()
	b.VBROADCASTSS(x.at(0, q8aScale), d)
	b.VMULPS(b.scaledD(p, h), d, d)
	b.VFMADD231PS(d, total, sum)
}

// groupSums returns the sums of products of both groups of vector h of panel p. Two words are added in 16 bits.
func (b *blockSource) groupSums(x rows, p, h int) (acc [2]reg.VecVirtual) {
	var narrow [2]reg.VecVirtual // of the first of two words
	b.bytesOf(p, h, func(j int, u reg.VecVirtual) {
		i, v := j/(partWords/2), b.vec()
		b.VPBROADCASTD(x.at(0, 4*j), v)
		b.VPMADDUBSW(v, u, v)
		if narrow[i] == nil {
			narrow[i] = v
			return
		}
		b.VPADDW(narrow[i], v, v)
		b.VPMADDWD(b.word("ones16", 0x00010001), v, v)
		if acc[i] == nil {
			acc[i] = v
		} else {
			b.VPADDD(v, acc[i], acc[i])
		}
		narrow[i] = nil
	})
	return acc
}

// scaledPart adds the products of a part of panel p to the sums in memory. Two words at a time are added in 16 bits, so
// that registers hold the integer sums of 32 bits.
func (b *pairBlock) scaledPart(p int) {
	acc := make([][]reg.VecVirtual, b.rows)
	for r := range acc {
		acc[r] = b.vecs(2)
		sums := b.sumPair(b.x, r)
		for h, v := range acc[r] {
			b.VPMADDWD(b.w.at(p, scaledBias+h*b.generator.bytes()), sums, v)
		}
	}
	for j := 0; j < partWords; j += 2 {
		b.scaledWords(acc, p, j)
	}
	for r := range acc {
		b.scaleOnce(p, r, acc[r])
	}
}

// scaledWords adds words j and j+1.
func (b *pairBlock) scaledWords(acc [][]reg.VecVirtual, p, j int) {
	var u [2][]reg.VecVirtual
	for i := range u {
		u[i] = b.vecs(2)
		for h, v := range u[i] {
			b.VMOVDQU(b.w.at(p, 64*(j+i)+h*b.generator.bytes()), v)
		}
	}
	for r := range acc {
		var products [2][]reg.VecVirtual
		for i := range u {
			x := b.vecs(2)
			b.VPBROADCASTD(b.x.at(r, 4*(j+i)), x[1])
			b.VPMADDUBSW(x[1], u[i][0], x[0])
			b.VPMADDUBSW(x[1], u[i][1], x[1])
			products[i] = x
		}
		for h, v := range products[0] {
			b.VPADDW(products[1][h], v, v)
			b.VPMADDWD(b.w.at(p, scaledPairs+j/(partWords/2)*vectorSize+h*b.generator.bytes()), v, v)
			b.VPADDD(v, acc[r][h], acc[r][h])
		}
	}
}

// scaleOnce adds the integer sums of row r, times D and the scale of x, to the sums in memory.
func (b *pairBlock) scaleOnce(p, r int, acc []reg.VecVirtual) {
	d := b.vec()
	b.VBROADCASTSS(b.x.at(r, q8aScale), d)
	for h, v := range acc {
		b.VCVTDQ2PS(v, v)
		product := b.vec()
		b.VMULPS(b.w.at(p, scaledD+h*b.generator.bytes()), d, product)
		b.VFMADD213PS(b.sum(p, r, h), product, v)
		b.VMOVUPS(v, b.sum(p, r, h))
	}
}
