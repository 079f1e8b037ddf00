package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// dots adds integer products of unsigned bytes of weights with x. With AVX2 they are added in 16 bits first: as many
// words as cannot overflow there.
type dots struct {
	*generator
	integral bool // sums begin at what takes the offset of bytes out; not with AVX2
	offset   offsetVectors
	atOnce   int // words that are added in 16 bits
	narrow   map[*accumulator]int
	started  map[*accumulator]bool
}

// accumulator is the sums of the rows of x with a vector of a panel: of 32 bits, and with AVX2 of 16.
type accumulator struct{ wide, narrow []reg.VecVirtual }

// newDots returns what adds products of bytes that are at most most. integral sums lose the offset of the bytes.
func (g *generator) newDots(integral bool, most int) *dots {
	return &dots{generator: g, integral: integral, atOnce: atOnce(most), narrow: map[*accumulator]int{}, started: map[*accumulator]bool{}}
}

// atOnce returns how many words of products of bytes that are at most most are added in 16 bits: 8 for 15, 4 for 31, 2 for
// 63.
func atOnce(most int) int { return min(partWords, (1<<15-1)/(2*most*127)) }

// offsetVectors is what start needs for an offset other than partOffset: startBits, and an eighth of the offset, as
// activations have eight times their sums.
type offsetVectors struct {
	magic  reg.VecVirtual
	eighth operand.Op // nil for partOffset
}

// accumulators returns sums for rows of x. Those that lose an offset are not cleared: start gives them their values.
func (d *dots) accumulators(rows int) *accumulator {
	a := &accumulator{wide: d.vecs(rows)}
	switch {
	case !d.generator.wide():
		a.narrow = d.vecs(rows)
	case !d.integral:
		d.zero(a.wide...)
	}
	return a
}

// start begins sums with what undoes the offset of bytes, plus startBits.
func (d *dots) start(a *accumulator, x rows) {
	if !d.integral {
		return
	}
	for r, v := range a.wide {
		if d.offset.eighth == nil {
			d.VBROADCASTSS(x.at(r, q8aStart8), v)
			continue
		}
		d.VSUBPS_BCST(x.at(r, q8aStart4), d.offset.magic, v)
		d.VFNMADD213PS(d.offset.magic, d.offset.eighth, v)
	}
}

// offsetPairs is the offset as what lostOffset takes.
func (b *blockSource) offsetPairs() operand.Mem {
	return b.word("offsetPairs"+string(b.format), uint32(b.offset))
}

// lostOffset returns minus the offset times the sum of the activations of row r, as integers. The low half of
// q8aStart4 is minus eight times the sum, and offset has pairs of the offset and 0.
func (g *generator) lostOffset(x rows, r int, offset operand.Mem) reg.VecVirtual {
	v := g.vec()
	g.VPBROADCASTW(x.at(r, q8aStart4), v)
	g.VPMADDWD(offset, v, v)
	g.VPSRAD(operand.U8(3), v, v)
	return v
}

// startLike starts the sums of a with a copy of the sums of like.
func (d *dots) startLike(a, like *accumulator) {
	if !d.integral {
		return
	}
	for r, v := range a.wide {
		d.VMOVUPS(like.wide[r], v)
	}
}

// word adds word j of a vector of a panel.
func (d *dots) word(a *accumulator, j int, u reg.VecVirtual, x rows) {
	if !d.generator.wide() {
		d.narrowWord(a, j, u, x)
		return
	}
	for r := range a.wide {
		d.dot(x.at(r, 4*j), u, a.wide[r])
	}
}

// word32 is generator.word, whose name word of dots hides.
func (d *dots) word32(name string, bits uint32) operand.Mem { return d.generator.word(name, bits) }

// narrowWord is word for unsigned bytes and AVX2.
func (d *dots) narrowWord(a *accumulator, j int, u reg.VecVirtual, x rows) {
	for r := range a.wide {
		product := d.vec()
		d.VPBROADCASTD(x.at(r, 4*j), product)
		if d.narrow[a] == 0 {
			d.VPMADDUBSW(product, u, a.narrow[r])
		} else {
			d.VPMADDUBSW(product, u, product)
			d.VPADDW(product, a.narrow[r], a.narrow[r])
		}
	}
	if d.narrow[a]++; d.narrow[a] == d.atOnce {
		d.widen(a)
	}
}

// widen adds the sums of 16 bits to those of 32.
func (d *dots) widen(a *accumulator) {
	for r := range a.wide {
		if d.started[a] {
			d.VPMADDWD(d.word32("ones16", 0x00010001), a.narrow[r], a.narrow[r])
			d.VPADDD(a.narrow[r], a.wide[r], a.wide[r])
		} else {
			d.VPMADDWD(d.word32("ones16", 0x00010001), a.narrow[r], a.wide[r])
		}
	}
	d.narrow[a], d.started[a] = 0, true
}

// result returns the sums of 32 bits.
func (d *dots) result(a *accumulator) []reg.VecVirtual {
	if d.narrow[a] > 0 {
		d.widen(a)
	}
	return a.wide
}

// term is what a part adds to the sums of rows of x. All tiles make it by the same steps, so that they give the same
// bits.
type term struct {
	*generator
	integral bool           // integer sums have lost the offset, and there are no mins
	magic    reg.VecVirtual // startBits, if a register is left for them
	t        []reg.VecVirtual
}

func (g *generator) newTerm(rows int, integral bool, magic reg.VecVirtual) *term {
	return &term{g, integral, magic, make([]reg.VecVirtual, rows)}
}

// startVector returns startBits.
func (t *term) startVector() operand.Op {
	if t.magic != nil {
		return t.magic
	}
	return t.word("start", startBits)
}

// add sets the term of row r: integer sums, scales, an eighth of the mins.
func (t *term) add(r int, acc reg.VecVirtual, s, m operand.Op, x rows) {
	if t.integral && t.wide() {
		t.VSUBPS(t.startVector(), acc, acc)
	} else {
		t.VCVTDQ2PS(acc, acc)
	}
	t.VMULPS(s, acc, acc)
	t.t[r] = acc
	if t.integral {
		return
	}
	c := t.vec()
	if t.magic != nil {
		t.VSUBPS_BCST(x.at(r, q8aStart4), t.magic, c)
	} else {
		t.VMOVUPS(t.word("start", startBits), c)
		t.subtract(x.at(r, q8aStart4), c)
	}
	t.VFNMADD231PS(m, c, t.t[r])
}

// subtract subtracts a float32 from all lanes.
func (g *generator) subtract(at operand.Mem, from reg.VecVirtual) {
	if g.wide() {
		g.VSUBPS_BCST(at, from, from)
		return
	}
	v := g.vec()
	g.VBROADCASTSS(at, v)
	g.VSUBPS(v, from, from)
}

// finish adds the term of row r to a sum.
func (t *term) finish(r int, sum reg.VecVirtual, x rows) {
	if t.wide() {
		t.VFMADD231PS_BCST(x.at(r, q8aScale), t.t[r], sum)
		return
	}
	d := t.vec()
	t.VBROADCASTSS(x.at(r, q8aScale), d)
	t.VFMADD231PS(d, t.t[r], sum)
}
