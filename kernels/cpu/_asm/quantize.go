package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Fields of q8a_k: 256 bytes, their scale and zeros, and the sums of bytes.
const (
	q8akParts  = 8 // of 32 elements
	q8akBytes  = 320
	q8akScale  = 256
	q8akSums32 = 272
	q8akSums16 = 288
)

// The sums of four magnitudes of a bounded block (boundedSum of package cpu) are at most 253 before rounding, which adds
// 2 at most. They are computed in units of 256, so that none is infinite. The scale is cut to the 22 bits that tiles need
// (signsTiles): sums become larger by 253·2^-21 at most, too little for another integer.
const (
	boundedUnit = 0x3b800000 // 1/256
	mostBounded = 253. / 256
)

// source returns 32 elements of a block: those of part i.
type source func(i int) []reg.VecVirtual

// activation is a format that activations are quantized to.
type activation struct {
	name           string
	quantize, norm string // names of functions
	parts          int    // of 32 elements in a block
	bytes          int    // of a block
	block          func(g *generator, load source, dst reg.GPVirtual)
}

var activations = []activation{
	{"q8a", "quantize", "normQ8A", 1, q8aBytes, func(g *generator, load source, dst reg.GPVirtual) { g.quantizeBlock(load, dst, false) }},
	{"q8a_k", "quantizeK", "normQ8AK", q8akParts, q8akBytes, (*generator).quantizeSuper},
}

// generateQuantize makes what turns rows of float32 to formats of activations.
func generateQuantize(g *generator) {
	for _, i := range []isa{avx2, avx512} {
		g.isa = i
		for _, a := range activations {
			g.quantize(a)
			g.normQuantize(a)
		}
	}
	g.isa = avx2
	bounded := activation{"bounded q8a", "quantizeBounded", "normBoundedQ8A", 1, q8aBytes,
		func(g *generator, load source, dst reg.GPVirtual) { g.quantizeBlock(load, dst, true) }}
	g.quantize(bounded)
	g.normQuantize(bounded)
}

func (g *generator) quantize(a activation) {
	name := a.quantize + g.isa.name
	g.function(name, []string{fmt.Sprintf("%s converts n elements, a multiple of %d, to %s.", name, 32*a.parts, a.name)}, nil,
		pointers("dst", "x"), integers("n"))
	dst, x := g.arg("dst"), g.arg("x")
	g.overBlocks(a, dst, []reg.GPVirtual{x}, func(i int) []reg.VecVirtual { return g.loadPart(x, i) })
}

func (g *generator) normQuantize(a activation) {
	name := a.norm + g.isa.name
	g.function(name, []string{fmt.Sprintf("%s converts x*scale*w for n elements, a multiple of %d, to %s.", name, 32*a.parts, a.name)}, nil,
		pointers("dst", "x", "w"), integers("n"), singles("scale"))
	dst, x, w := g.arg("dst"), g.arg("x"), g.arg("w")
	scale := g.argVec("scale")
	g.overBlocks(a, dst, []reg.GPVirtual{x, w}, func(i int) []reg.VecVirtual {
		v := g.loadPart(x, i)
		for j := range v {
			g.VMULPS(scale, v[j], v[j])
			g.VMULPS(g.partAt(w, i, j), v[j], v[j])
		}
		return v
	})
}

// partAt returns where register j of part i of a block of float32 is.
func (g *generator) partAt(block reg.GPVirtual, i, j int) operand.Mem {
	return operand.Mem{Base: block, Disp: 128*i + j*g.bytes()}
}

// loadPart loads 32 elements: those of part i.
func (g *generator) loadPart(block reg.GPVirtual, i int) []reg.VecVirtual {
	v := g.vecs(32 / g.isa.lanes)
	for j := range v {
		g.VMOVUPS(g.partAt(block, i, j), v[j])
	}
	return v
}

// overBlocks writes a block for all elements that load returns for its parts.
func (g *generator) overBlocks(a activation, dst reg.GPVirtual, src []reg.GPVirtual, load source) {
	n, loop, done := g.arg("n"), g.label("loop"), g.label("done")
	g.SUBQ(operand.I32(32*a.parts), n)
	g.JL(operand.LabelRef(done))
	g.Label(loop)
	a.block(g, load, dst)
	for _, s := range src {
		g.SUBQ(operand.I32(-128*a.parts), s) // of 128, unlike 128, the encoding is short
	}
	g.ADDQ(operand.I32(a.bytes), dst)
	g.SUBQ(operand.I32(32*a.parts), n)
	g.JGE(operand.LabelRef(loop))
	g.Label(done)
	g.ret()
}

// quantizeBlock writes a block of q8a. Its steps are those of quantizeBlock in Go, to the bit. Bounded blocks may have a
// larger scale.
func (g *generator) quantizeBlock(load source, dst reg.GPVirtual, bounded bool) {
	v := load(0)
	d := g.acrossLanes(g.largest(v))
	g.divide(d, "most8", 127)
	if bounded {
		g.VPMAXSD(g.boundedScale(v).AsX(), d.AsX(), d.AsX())
		g.VPAND(g.word("scaleBits", 0xfffffffc), d, d)
	}
	id := g.inverse(d)
	g.VMOVSS(d.AsX(), operand.Mem{Base: dst, Disp: q8aScale})
	for i := range v {
		g.round(v[i], id)
	}
	q := g.packBytes(v)
	if !g.wide() {
		g.VPAND(g.positive(id), q, q) // packed with saturation, the integer that NaN becomes is not 0
	}
	g.VMOVDQU(q, operand.Mem{Base: dst})
	g.storeStarts(v, dst)
}

// quantizeSuper writes a block of q8a_k. It loads all parts twice, as they have more elements than registers hold.
// Its steps are those of quantizeSuper in Go, to the bit.
func (g *generator) quantizeSuper(load source, dst reg.GPVirtual) {
	most := g.largest(load(0))
	for i := 1; i < q8akParts; i++ {
		g.VPMAXSD(g.largest(load(i)), most, most)
	}
	d := g.acrossLanes(most)
	g.divide(d, "most8", 127)
	id := g.inverse(d)
	g.VINSERTPS(operand.U8(0b1110), d.AsX(), d.AsX(), d.AsX()) // the upper lanes become 0
	g.VMOVUPS(d.AsX(), operand.Mem{Base: dst, Disp: q8akScale})
	g.storeSums(g.storeParts(partStore{load: load, dst: dst, id: id, keep: g.positive(id)}, 0, q8akParts), dst)
}

// boundedScale returns the least scale for which a block, four registers of 8 elements, is bounded.
func (g *generator) boundedScale(v []reg.VecVirtual) reg.VecVirtual {
	abs := g.vecs(len(v))
	for i := range v {
		g.VANDPS(g.word("magnitude", 0x7fffffff), v[i], abs[i])
		g.VMULPS(g.word("boundedUnit", boundedUnit), abs[i], abs[i])
	}
	for i := range 2 {
		g.VADDPS(abs[i+2], abs[i], abs[i])
		g.VPERMILPS(operand.U8(0b10110001), abs[i], abs[i+2]) // neighbours change places
		g.VADDPS(abs[i+2], abs[i], abs[i])
	}
	g.VPMAXSD(abs[1], abs[0], abs[0])
	d := g.acrossLanes(abs[0])
	g.divide(d, "mostBounded", mostBounded)
	return d
}

// divide divides the lowest lane of d by a number.
func (g *generator) divide(d reg.VecVirtual, name string, by float64) {
	v := g.XMM()
	g.VMOVSS(g.float(name, by), v)
	g.VDIVSS(v, d.AsX(), d.AsX())
}

// inverse returns the inverse of the scale d in all lanes: 0 where it is not finite.
func (g *generator) inverse(d reg.VecVirtual) reg.VecVirtual {
	rest, inverse := g.XMM(), g.XMM()

	// If 1/d is not finite, id-id is NaN, unordered with itself.
	g.VMOVSS(g.word("one", 0x3f800000), inverse)
	g.VDIVSS(d.AsX(), inverse, inverse)
	g.VSUBSS(inverse, inverse, rest)
	g.VCMPSS(operand.U8(7), rest, rest, rest)
	g.VANDPS(rest, inverse, inverse)
	id := g.vec()
	g.VBROADCASTSS(inverse, id)
	return id
}

// positive returns 32 bytes that are all ones where id is above 0, otherwise 0.
func (g *generator) positive(id reg.VecVirtual) reg.VecVirtual {
	k := g.YMM()
	g.VXORPS(k, k, k)
	g.VCMPPS(operand.U8(1), id.AsY(), k, k)
	return k
}

// partStore is how parts of a block of q8a_k are written.
type partStore struct {
	load source
	dst  reg.GPVirtual
	id   reg.VecVirtual
	keep reg.VecVirtual // ones, or 0 for a block of zeros
}

// storeParts writes the bytes of n parts from the first on, n a power of 2. It returns sums of the first halves in
// the lower part of 128 bits and of the second halves in the upper one: n times 8/n sums of 2n bytes each, in words.
func (g *generator) storeParts(s partStore, first, n int) reg.VecVirtual {
	if n == 1 {
		return g.storePart(s, first)
	}
	a, b := g.storeParts(s, first, n/2), g.storeParts(s, first+n/2, n/2)
	g.VPHADDW(b, a, a)
	return a
}

// storePart writes the bytes of part i and returns the sums of neighbours.
func (g *generator) storePart(s partStore, i int) reg.VecVirtual {
	v := s.load(i)
	for j := range v {
		g.round(v[j], s.id)
	}
	q := g.packBytes(v)
	g.VPAND(s.keep, q, q) // packed with saturation, the integer that NaN becomes is not 0
	g.VMOVDQU(q, operand.Mem{Base: s.dst, Disp: 32 * i})
	ones := g.YMM()
	g.VMOVDQU(g.word("oneBytes", 0x01010101), ones)
	g.VPMADDUBSW(q, ones, q)
	return q
}

// storeSums writes the sums of a block of q8a_k: sums has those of the first halves of parts, then those of the second.
func (g *generator) storeSums(sums reg.VecVirtual, dst reg.GPVirtual) {
	first, second, both := sums.AsX(), g.XMM(), g.XMM()
	g.VEXTRACTF128(operand.U8(1), sums.AsY(), second)
	g.VPADDW(second, first, both)
	g.VMOVDQU(both, operand.Mem{Base: dst, Disp: q8akSums32})
	g.VPUNPCKLWD(second, first, both)
	g.VMOVDQU(both, operand.Mem{Base: dst, Disp: q8akSums16})
	g.VPUNPCKHWD(second, first, both)
	g.VMOVDQU(both, operand.Mem{Base: dst, Disp: q8akSums16 + 16})
}

// largest returns the largest magnitudes in all of v, of each lane, compared as integers so that NaN is
// above all.
func (g *generator) largest(v []reg.VecVirtual) reg.VecVirtual {
	most := g.vec()
	for i := range v {
		abs := g.vec()
		g.VANDPS(g.word("magnitude", 0x7fffffff), v[i], abs)
		if i == 0 {
			g.VMOVAPS(abs, most)
		} else {
			g.VPMAXSD(abs, most, most)
		}
	}
	return most
}

// acrossLanes returns the largest lane of magnitudes.
func (g *generator) acrossLanes(most reg.VecVirtual) reg.VecVirtual {
	return g.reduce(most, func(a, b, to reg.Register) { g.VPMAXSD(a, b, to) })
}

// round replaces v by the integer nearest to v·id, ties away from zero: what is added
// before truncation is the number just below a half, as a half itself would carry the
// number just below a half to 1.
func (g *generator) round(v, id reg.VecVirtual) {
	half := g.vec()
	g.VMULPS(id, v, v)
	g.VANDPS(g.word("sign", 1<<31), v, half)
	g.VORPS(g.word("nearHalf", 0x3effffff), half, half)
	g.VADDPS(half, v, v)
	g.VCVTTPS2DQ(v, v)
}

// packBytes returns 32 integers as bytes.
func (g *generator) packBytes(v []reg.VecVirtual) reg.VecVirtual {
	low, high := g.YMM(), g.YMM()
	if g.wide() {
		g.VPMOVDB(v[0], low.AsX())
		g.VPMOVDB(v[1], high.AsX())
		g.VINSERTI128(operand.U8(1), high.AsX(), low, low)
		return low
	}
	// Packing works within 128-bit lanes: dwords end up in the order
	// 0 2 4 6 1 3 5 7.
	g.VPACKSSDW(v[1], v[0], low)
	g.VPACKSSDW(v[3], v[2], high)
	g.VPACKSSWB(high, low, low)
	order := g.table("packOrder", 8, func(i int) uint32 { return uint32(i/2 + i%2*4) })
	g.VMOVDQU(order, high)
	g.VPERMD(low, high, low)
	return low
}

// storeStarts writes where sums of products with these 32 integers begin, and zero.
func (g *generator) storeStarts(v []reg.VecVirtual, dst reg.GPVirtual) {
	for _, u := range v[1:] {
		g.VPADDD(u, v[0], v[0])
	}
	sum := g.reduce(v[0], func(a, b, to reg.Register) { g.VPADDD(a, b, to) })
	g.MOVL(operand.U32(0), operand.Mem{Base: dst, Disp: q8aZero})
	for _, to := range []struct {
		shift uint8 // the binary logarithm of the offset
		at    int
	}{{3, q8aStart4}, {7, q8aStart8}} {
		start, offset := g.XMM(), g.XMM()
		g.VMOVDQU(g.word("start", startBits), start)
		g.VPSLLD(operand.U8(to.shift), sum.AsX(), offset)
		g.VPSUBD(offset, start, start)
		g.VMOVSS(start, operand.Mem{Base: dst, Disp: to.at})
	}
}
