package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// superLayout is what an expanded block of 256 k of a panel consists of: 8 parts, then what is used after them. A part
// has bytes, perhaps with magnitudes after them, and the scales of each group, twice as 16 bits. After the parts are
// corrections of all pairs of groups, D, and M if there are mins; with magnitudes what integer sums begin with, as in
// pairKind, and D.
type superLayout struct {
	groups     int // of a part
	mins       bool
	magnitudes bool
}

func (l superLayout) scalesAt() int {
	if l.magnitudes {
		return negatives
	}
	return partScales
}

func (l superLayout) partBytes() int { return l.scalesAt() + l.groups*vectorSize }

// pairs is how many corrections there are.
func (l superLayout) pairs() int {
	if l.magnitudes {
		return 0
	}
	return superParts / 2 * l.groups
}

// correctionAt, dAt and mAt are offsets from the end of the parts; endBytes is what follows the parts.
func (l superLayout) correctionAt(i int) int { return i * vectorSize }

func (l superLayout) dAt() int {
	if l.magnitudes {
		return vectorSize // what sums begin with is before it
	}
	return l.pairs() * vectorSize
}

func (l superLayout) mAt() int { return l.dAt() + vectorSize }

func (l superLayout) endBytes() int {
	if l.mins {
		return l.mAt() + vectorSize
	}
	return l.dAt() + vectorSize
}

// sumsAt returns the offset of the sums of groups in a block of q8a_k.
func (l superLayout) sumsAt() int {
	if l.groups == 2 {
		return q8akSums16
	}
	return q8akSums32
}

// superPairKind is a kind of expanded blocks for 256 bits. Bytes are small and unsigned, or magnitudes and signs, as in
// pairKind; with AVX-VNNI all are unsigned.
type superPairKind struct {
	format
	isa isa
	superLayout
	atOnce int // words that are added in 16 bits; 0 if there are magnitudes, those of a group with AVX-VNNI
	stored int // lines of a part as it is stored, at most
}

var superPairKinds = []superPairKind{
	{"SuperNibbles", avx2, superLayout{groups: 1, mins: true}, 8, 5},  // q4_k
	{"SuperBytes", avx2, superLayout{groups: 1, mins: true}, 4, 6},    // q5_k
	{"SuperShifted", avx2, superLayout{groups: 1}, 4, 5},              // iq3sx
	{"SuperCrumbs16", avx2, superLayout{groups: 2, mins: true}, 4, 4}, // q2_k
	{"SuperSmall16", avx2, superLayout{groups: 2}, 4, 4},              // q3_k
	{"SuperScaled16", avx2, superLayout{groups: 2}, 2, 7},             // q6_k
	{"SuperLarge16", avx2, superLayout{groups: 2}, 1, 5},              // iq2x16
	{"SuperSigned", avx2, superLayout{groups: 1, magnitudes: true}, 0, 5},
	{"SuperSigned", avxVNNI, superLayout{groups: 1}, partWords, 5},
}

// inRegisters reports whether registers hold the integer sums of a block. Otherwise they hold sums of 16 bits of more
// rows, and memory has those of a block.
func (k *superPairKind) inRegisters() bool { return k.atOnce < 4 }

func (k *superPairKind) mostRows() int {
	if k.inRegisters() {
		return 4
	}
	return mostPairRows
}

// superPairTiles generates the tiles.
func superPairTiles(g *generator) {
	for i := range superPairKinds {
		k := &superPairKinds[i]
		g.isa = k.isa
		for _, rows := range []int{k.mostRows(), 2, 1} {
			g.superPairTile(k, &tile{format: k.format, isa: k.isa, level: k.isa.name, rows: rows, panels: 1})
		}
	}
}

// superPairTile generates a tile whose rows of x meet both vectors of a panel, as pairTile does.
func (g *generator) superPairTile(k *superPairKind, t *tile) {
	g.begin(t)
	b := &superPair{pairBlock: &pairBlock{generator: g, tile: t, scratch: g.GP64()}, kind: k}
	b.w, b.x = g.panelAddresses(t), g.xAddresses(t)
	g.LEAQ(operand.Mem{Base: b.w.bases[0], Disp: -pairScratch}, b.scratch)
	b.clearSums()
	next := g.arg("next")
	g.eachBlock(func() { b.block(next) })
	b.write()
	g.ret()
}

// superPair is what the code for a block uses.
type superPair struct {
	*pairBlock
	kind *superPairKind
}

// block adds the products of a block. With each part it prefetches a stored one of what is expanded next.
func (b *superPair) block(next reg.GPVirtual) {
	ints := b.begin()
	b.overSuperParts(b.w, b.kind.partBytes(), b.x, func() {
		b.askFor(next, nil, b.kind.stored)
		b.part(ints)
	})
	b.end(ints)
	b.advance(b.w, b.kind.endBytes())
	b.advance(b.x, q8akBytes-superLen)
}

// begin begins the integer sums of a block, and returns those in registers.
func (b *superPair) begin() [][]reg.VecVirtual {
	if !b.kind.inRegisters() {
		zero := b.vec()
		b.clear(zero)
		for r := range b.rows {
			for h := range 2 {
				b.VMOVDQU(zero, b.stash(r, h))
			}
		}
		return nil
	}
	ints := make([][]reg.VecVirtual, b.rows)
	for r := range ints {
		ints[r] = b.vecs(2)
		if !b.kind.magnitudes {
			b.clear(ints[r]...)
			continue
		}
		for h, v := range ints[r] {
			b.VMOVDQU(b.w.at(0, superParts*b.kind.partBytes()+h*b.bytes()), v)
		}
	}
	return ints
}

// scale is where the scales of group i are, twice as 16 bits.
func (b *superPair) scale(i, h int) operand.Mem {
	return b.w.at(0, b.kind.scalesAt()+i*vectorSize+h*b.bytes())
}

// part adds the products of a part.
func (b *superPair) part(ints [][]reg.VecVirtual) {
	each := partWords / b.kind.groups
	switch {
	case b.kind.magnitudes:
		for j := range partWords {
			b.magnitudeWord(0, j, func(h int) operand.Op { return b.scale(0, h) }, func(r, h int, product reg.VecVirtual) {
				b.VPADDD(product, ints[r][h], ints[r][h])
			})
		}
	case b.kind.inRegisters():
		for j := 0; j < partWords; j += b.kind.atOnce {
			b.fewWords(ints, j, j/each)
		}
	case b.kind.isa == avxVNNI:
		for i := range b.kind.groups {
			b.dotGroup(i)
		}
	default:
		for i := range b.kind.groups {
			b.narrowGroup(i)
		}
	}
}

// fewWords adds one or two words from j on, which are of group i, to sums in registers.
func (b *superPair) fewWords(ints [][]reg.VecVirtual, j, i int) {
	u := make([][]reg.VecVirtual, b.kind.atOnce)
	for n := range u {
		u[n] = b.vecs(2)
		for h, v := range u[n] {
			b.VMOVDQU(b.w.at(0, 64*(j+n)+h*b.bytes()), v)
		}
	}
	for r := range ints {
		var products []reg.VecVirtual
		for n := range u {
			x := b.vecs(2)
			b.VPBROADCASTD(b.x.at(r, 4*(j+n)), x[1])
			b.VPMADDUBSW(x[1], u[n][0], x[0])
			b.VPMADDUBSW(x[1], u[n][1], x[1])
			if n == 0 {
				products = x
				continue
			}
			for h, v := range products {
				b.VPADDW(x[h], v, v)
			}
		}
		for h, v := range products {
			b.VPMADDWD(b.scale(i, h), v, v)
			b.VPADDD(v, ints[r][h], ints[r][h])
		}
	}
}

// dotGroup adds the products of group i with VPDPBUSD to sums in memory.
func (b *superPair) dotGroup(i int) {
	each := partWords / b.kind.groups
	acc := make([][]reg.VecVirtual, b.rows)
	for r := range acc {
		acc[r] = b.vecs(2)
		b.clear(acc[r]...)
	}
	for j := range each {
		u, word := b.vecs(2), i*each+j
		for h, v := range u {
			b.VMOVDQU(b.w.at(0, 64*word+h*b.bytes()), v)
		}
		b.dotWords(acc, u, 4*word, 0)
	}
	scale := b.vecs(2)
	for h, s := range scale {
		b.VMOVDQU(b.scale(i, h), s)
		b.VPSRAD(operand.U8(16), s, s)
	}
	for r := range acc {
		for h, v := range acc[r] {
			b.VPMULLD(scale[h], v, v)
			b.VPADDD(b.stash(r, h), v, v)
			b.VMOVDQU(v, b.stash(r, h))
		}
	}
}

// narrowGroup adds the products of group i, with sums of 16 bits in registers, to sums in memory.
func (b *superPair) narrowGroup(i int) {
	each := partWords / b.kind.groups
	acc := make([][]reg.VecVirtual, b.rows)
	for r := range acc {
		acc[r] = b.vecs(2)
	}
	for j := range each {
		b.narrowWord(acc, 0, i*each+j, j%b.kind.atOnce == 0)
		if (j+1)%b.kind.atOnce > 0 {
			continue
		}
		for r := range acc {
			for h, v := range acc[r] {
				b.VPMADDWD(b.scale(i, h), v, v)
				b.VPADDD(b.stash(r, h), v, v)
				b.VMOVDQU(v, b.stash(r, h))
			}
		}
	}
}

// end adds what the integer sums of a block give.
func (b *superPair) end(ints [][]reg.VecVirtual) {
	end := &blockEnd{
		generator: b.generator, superLayout: b.kind.superLayout, x: b.x, rows: b.rows, vectors: 2, ints: ints, stored: b.stash,
		correction: func(h, i int) operand.Op { return b.w.at(0, b.kind.correctionAt(i)+h*b.bytes()) },
		d:          func(h int) operand.Op { return b.w.at(0, b.kind.dAt()+h*b.bytes()) },
		m:          func(h int) operand.Op { return b.w.at(0, b.kind.mAt()+h*b.bytes()) },
	}
	end.add(func(r, h int) operand.Op { return b.sum(0, r, h) })
}
