package main

import (
	"math"
	"slices"
	"strconv"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// scheme is a block format, with the facts of dtype.Scheme.
type scheme struct {
	format                     // as in the names of functions
	bits, group, offset int    // of an element, elements, of values
	super, mins, power  bool   // integer scales; mins; D is a bfloat16
	shift               int    // D is the float16 divided by 2^shift
	values              []byte // nil if an element is its own value
}

var (
	valuesIQ4  = []byte{1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241}
	valuesE2M1 = []byte{12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0}
	valuesIQ2  = []int{8, 25, 43, 1, 7, 9, 0, 0}
	valuesIQ3X = []int{4, 12, 20, 28, 36, 44, 52, 62}
	valuesIQ3S = []int{1, 3, 5, 7, 9, 11, 13, 15}
)

// schemes are the formats for which there is assembly.
var schemes = []scheme{
	{format: "Q41", bits: 4, group: 32, mins: true},
	{format: "Q50", bits: 5, group: 32, offset: 16},
	{format: "Q51", bits: 5, group: 32, mins: true},
	{format: "Q2K", bits: 2, group: 16, super: true, mins: true},
	{format: "Q3K", bits: 3, group: 16, super: true, offset: 4},
	{format: "Q4K", bits: 4, group: 32, super: true, mins: true},
	{format: "Q5K", bits: 5, group: 32, super: true, mins: true},
	{format: "Q6K", bits: 6, group: 16, super: true, offset: 32},
	{format: "IQ4NL", bits: 4, group: 32, offset: 128, values: valuesIQ4},
	{format: "IQ4XS", bits: 4, group: 32, super: true, offset: 128, values: valuesIQ4},
	{format: "MXFP4", bits: 4, group: 32, offset: 12, power: true, values: valuesE2M1},
	{format: "IQ2X", bits: 4, group: 32, super: true, offset: 128, shift: 3, values: bothSigns(128, valuesIQ2)},
	{format: "IQ2X16", bits: 4, group: 16, super: true, offset: 43, shift: 3, values: bothSigns(43, valuesIQ2)},
	{format: "IQ3X", bits: 4, group: 32, super: true, offset: 128, shift: 2, values: bothSigns(128, valuesIQ3X)},
	{format: "IQ3SX", bits: 4, group: 32, super: true, offset: 15, values: bothSigns(15, valuesIQ3S)},
}

// bothSigns returns eight magnitudes and then their negatives, plus an offset.
func bothSigns(offset int, magnitudes []int) (values []byte) {
	for _, sign := range []int{1, -1} {
		for _, m := range magnitudes {
			values = append(values, byte(sign*m+offset))
		}
	}
	return values
}

const (
	subLen    = 32 // elements of a part
	superLen  = 256
	partWords = 8 // of a row in a part
)

// planes are the bits of the planes, the lowest first: those of dtype.Scheme.Planes.
func (s *scheme) planes() []int {
	return map[int][]int{2: {2}, 3: {2, 1}, 4: {4}, 5: {4, 1}, 6: {4, 2}}[s.bits]
}

func (s *scheme) groups() int { return subLen / s.group }

// head is the bytes before the parts of a panel's block.
func (s *scheme) head() int {
	if s.mins {
		return 64
	}
	return 32
}

// scalesAt and minsAt are offsets in a part, sub its bytes.
func (s *scheme) scalesAt() int { return s.bits * 64 }
func (s *scheme) minsAt() int   { return s.scalesAt() + s.groups()*panelRows }
func (s *scheme) sub() int {
	switch {
	case !s.super:
		return s.scalesAt()
	case s.mins:
		return s.minsAt() + s.groups()*panelRows
	}
	return s.minsAt()
}

// signed reports whether bytes are too large for VPMADDUBSW, so that they are taken without their offset of 128.
func (s *scheme) signed() bool { return s.offset == 128 }

// shifted reports whether bytes of groups of 32 have an offset that VPMADDUBSW can multiply.
func (s *scheme) shifted() bool { return s.groups() == 1 && !s.mins && !s.signed() }

// integral reports whether VNNI takes the offset out of integer sums; otherwise float32 sums lose it as they lose mins.
func (s *scheme) integral() bool { return s.signed() || s.shifted() }

// byteOffset is the offset of the bytes that tiles unpack. With VNNI a table has that of expanded parts, but for
// superblocks.
func (b *blockSource) byteOffset() int {
	if b.wide() && b.integral() && b.values != nil && !b.super {
		return partOffset
	}
	return b.offset
}

// most is the largest unsigned byte.
func (s *scheme) most() int {
	if s.values == nil {
		return 1<<s.bits - 1
	}
	return int(slices.Max(s.values))
}

// Expanded parts: see package cpu. Their bytes come first.
const (
	partScales = partWords * 64
	partMins   = partScales + vectorSize
	partBytes  = partMins + vectorSize
	vectorSize = 64
	partOffset = 128 // of bytes whose integer sums lose it, with VNNI
)

// blockTiles generates what formats with a scheme have that have no superblocks: for each a function that expands
// panels, and tiles of one row.
func blockTiles(g *generator) {
	for i := range schemes {
		s := &schemes[i]
		if s.super {
			continue
		}
		for _, level := range []struct {
			isa
			name   string
			panels []int
		}{{avx512, "VNNI", []int{1, 2, 4}}, {avx2, avx2.name, []int{1}}} {
			g.isa = level.isa
			g.expand(s, level.name)
			for _, n := range level.panels {
				g.blockRow(s, &tile{format: s.format, isa: level.isa, level: level.name, rows: 1, panels: n})
			}
			g.blockRow(s, &tile{format: s.format, isa: level.isa, level: level.name, rows: 1, panels: 2, swiglu: true})
			if g.wide() {
				g.blockRow(s, &tile{format: s.format, isa: level.isa, level: level.name, rows: 1, panels: 4, swiglu: true})
			}
		}
	}
}

// blockSource reads parts of panels.
type blockSource struct {
	*generator
	*scheme
	w     rows           // the current part
	table reg.VecVirtual // of values, if there is one
	kept  kept
}

// kept is what registers hold, where there are enough of them: 32 with AVX-512.
type kept struct {
	masks  []reg.VecVirtual // of the planes
	high   reg.VecVirtual   // mask of the high nibbles, which are multiplied where they are; see shiftless
	magic  reg.VecVirtual   // startBits
	offset reg.VecVirtual   // an eighth of the offset that integer sums lose, if it is not partOffset
}

// keep makes registers hold what all parts of panels use.
func (b *blockSource) keep() {
	b.keepMasks()
	b.keepHigh()
	b.kept.magic = b.loaded(b.word("start", startBits))
	if b.integral() && b.byteOffset() != partOffset {
		b.kept.offset = b.loaded(b.eighthOfOffset())
	}
}

// loaded returns a register that holds a vector in memory.
func (g *generator) loaded(m operand.Mem) reg.VecVirtual {
	v := g.vec()
	g.VMOVUPS(m, v)
	return v
}

// keepMasks makes registers hold the masks of the planes.
func (b *blockSource) keepMasks() {
	low := 0
	for _, bits := range b.planes() {
		b.kept.masks = append(b.kept.masks, b.loaded(b.mask(low, bits)))
		low += bits
	}
}

// keepHigh makes a register hold the mask of the high nibbles, if they can be multiplied where they are.
func (b *blockSource) keepHigh() {
	if b.shiftless() {
		b.kept.high = b.loaded(b.mask(4, 4))
	}
}

// eighthOfOffset is the offset divided by 8.
func (b *blockSource) eighthOfOffset() operand.Mem {
	return b.float("offset"+string(b.format), float64(b.offset)/8)
}

// shiftless reports whether high nibbles can be multiplied where they are. The sums of 16 times what they should be are
// shifted.
func (b *blockSource) shiftless() bool { return b.bits == 4 && b.values == nil }

// newBlockSource returns the source for panels at w, which are at the start of a block.
func (g *generator) newBlockSource(s *scheme, w rows) *blockSource {
	b := &blockSource{generator: g, scheme: s, w: w}
	if s.values != nil {
		b.table = g.vec()
		g.VMOVUPS(g.valueTable(s, "values"+strconv.Itoa(b.byteOffset()), byte(s.offset-b.byteOffset())), b.table)
	}
	return b
}

// valueTable returns the values less an offset, repeated for each 128 bits.
func (g *generator) valueTable(s *scheme, name string, offset byte) operand.Mem {
	return g.table(name+string(s.format), 16, func(i int) (word uint32) {
		for j := range 4 {
			word |= uint32(s.values[i%4*4+j]-offset) << (8 * j)
		}
		return word
	})
}

// overParts makes code for each block, which is one part: a loop around each.
func (b *blockSource) overParts(each func()) {
	b.eachBlock(func() {
		b.advance(b.w, b.head())
		each()
		b.advance(b.w, b.sub())
	})
}

// headAt is the memory disp bytes into the block of panel p. b.w is at the part of the block, or after the parts of a
// superblock.
func (b *blockSource) headAt(p, disp int) operand.Mem {
	if b.super {
		disp -= superParts * b.sub()
	}
	return b.w.at(p, disp-b.head())
}

// halves is the vectors of a panel: one with AVX-512, two with AVX2. A word of a part is 64 or 32 bytes of each.
func (g *generator) halves() int { return panelRows / g.isa.lanes }

// bytesOf calls f with the unsigned bytes of each word of vector h of panel p, in the order in which they are
// unpacked: word j, then the word 4 later of the same vector of a plane of 4 bits.
func (b *blockSource) bytesOf(p, h int, f func(j int, u reg.VecVirtual)) {
	vectors := make(map[int]reg.VecVirtual) // by their offsets in the part; each is loaded when it is needed first
	load := func(at int) reg.VecVirtual {
		if vectors[at] == nil {
			vectors[at] = b.planeVector(p, h, at)
		}
		return vectors[at]
	}
	for i := range partWords {
		j := i/2 + i%2*4
		f(j, b.unpack(j, load))
	}
}

// bytesInOrder is bytesOf with words in order, so that those of one group come before the other's. Vectors are loaded as
// often as they are needed: registers hold none.
func (b *blockSource) bytesInOrder(p, h int, f func(j int, u reg.VecVirtual)) {
	for j := range partWords {
		f(j, b.unpack(j, func(at int) reg.VecVirtual { return b.planeVector(p, h, at) }))
	}
}

// bytesOfBoth is bytesOf for both vectors of a panel at once. Formats with one plane keep a vector for both of its words.
func (b *blockSource) bytesOfBoth(f func(j int, u []reg.VecVirtual)) {
	var kept []reg.VecVirtual
	for i := range partWords {
		j := i/2 + i%2*4
		if i%2 == 0 {
			kept = make([]reg.VecVirtual, 2)
		}
		u := make([]reg.VecVirtual, 2)
		for h := range u {
			u[h] = b.unpack(j, func(at int) reg.VecVirtual {
				if len(b.planes()) > 1 {
					return b.planeVector(0, h, at)
				}
				if kept[h] == nil {
					kept[h] = b.planeVector(0, h, at)
				}
				return kept[h]
			})
		}
		f(j, u)
	}
}

// planeVector loads vector h of panel p, at an offset in the part.
func (b *blockSource) planeVector(p, h, at int) reg.VecVirtual {
	return b.loaded(b.w.at(p, at+h*b.bytes()))
}

// unpack returns the bytes of word j, from vectors of planes that load returns by their offsets.
func (b *blockSource) unpack(j int, load func(at int) reg.VecVirtual) (u reg.VecVirtual) {
	low := 0
	for k, bits := range b.planes() {
		field := b.field(k, load((low+j%bits)*64), bits*(j/bits), low, bits)
		if k == 0 {
			u = field
		} else {
			b.or(field, u)
		}
		low += bits
	}
	if b.values != nil {
		b.VPSHUFB(u, b.table, u)
	}
	return u
}

// mask is the bits bits from to on of each byte.
func (b *blockSource) mask(to, bits int) operand.Mem {
	only := uint32(1<<bits-1) << to * 0x01010101
	return b.word([]string{"", "ones", "pairs", "", "nibbles"}[bits]+string(rune('0'+to)), only)
}

// field returns the bits bits from from on of each byte of v, which is of plane k, moved to to.
func (b *blockSource) field(k int, v reg.VecVirtual, from, to, bits int) reg.VecVirtual {
	u, mask := b.vec(), operand.Op(b.mask(to, bits))
	if b.kept.masks != nil {
		mask = b.kept.masks[k]
	}
	switch {
	case from == 4 && b.kept.high != nil:
		b.and(b.kept.high, v, u)
	case from > to:
		b.VPSRLW(operand.U8(from-to), v, u)
		b.and(mask, u, u)
	case from < to:
		b.VPSLLW(operand.U8(to-from), v, u)
		b.and(mask, u, u)
	default:
		b.and(mask, v, u)
	}
	return u
}

func (g *generator) and(a operand.Op, b, to reg.VecVirtual) {
	if g.wide() {
		g.VPANDD(a, b, to)
	} else {
		g.VPAND(a, b, to)
	}
}

func (g *generator) or(a, to reg.VecVirtual) {
	if g.wide() {
		g.VPORD(a, to, to)
	} else {
		g.VPOR(a, to, to)
	}
}

// scale returns the scales of vector h of panel p.
func (b *blockSource) scale(p, h int) reg.VecVirtual { return b.headFloats(p, h*b.isa.lanes*2) }

// headFloats returns D, or M, as float32.
func (b *blockSource) headFloats(p, at int) reg.VecVirtual {
	d := b.vec()
	b.headTo(d, p, at)
	return d
}

// headTo is headFloats into a given register.
func (b *blockSource) headTo(d reg.VecVirtual, p, at int) {
	if b.power {
		b.VPMOVZXWD(b.headAt(p, at), d)
		b.VPSLLD(operand.U8(16), d, d)
	} else {
		b.VCVTPH2PS(b.headAt(p, at), d)
	}
	if b.shift > 0 {
		b.VMULPS(b.float("shift"+strconv.Itoa(b.shift), math.Ldexp(1, -b.shift)), d, d)
	}
}

// min returns an eighth of the mins of vector h of panel p, whose scales are s.
func (b *blockSource) min(p, h int, s reg.VecVirtual) reg.VecVirtual {
	if !b.mins {
		m := b.vec()
		b.VMULPS(b.eighthOfOffset(), s, m)
		return m
	}
	m := b.headFloats(p, 2*panelRows+h*b.isa.lanes*2)
	b.VMULPS(b.float("eighth", 0.125), m, m)
	return m
}

// expand generates the function that expands blocks of a panel.
func (g *generator) expand(s *scheme, level string) {
	name := "expand" + string(s.format) + level
	g.function(name, []string{name + " expands blocks of a panel. See expandFunc."}, nil,
		pointers("dst", "panel"), integers("blocks"))
	dst := g.arg("dst")
	b := g.newBlockSource(s, g.newRows(g.arg("panel"), nil, 1))
	size := partBytes
	if s.signed() && !g.wide() {
		size = signedScales + vectorSize
	}
	b.overParts(func() {
		for h := range g.halves() {
			if s.signed() && !g.wide() {
				b.expandSigned(dst, h)
			} else {
				b.expandHalf(dst, h)
			}
		}
		g.ADDQ(operand.I32(int32(size)), dst)
	})
	g.ret()
}

// expandHalf expands vector h of a part. Of formats whose offset integer sums lose, bytes get that of partOffset with
// VNNI; with AVX2 the offset has the place of the mins.
func (b *blockSource) expandHalf(dst reg.GPVirtual, h int) {
	to := func(disp int) operand.Mem { return operand.Mem{Base: dst, Disp: disp + h*b.bytes()} }
	integral := b.integral() && b.wide()
	b.bytesOf(0, h, func(j int, u reg.VecVirtual) {
		if integral && b.byteOffset() != partOffset {
			b.VPADDB(b.word("to128"+string(b.format), uint32(partOffset-b.offset)*0x01010101), u, u)
		}
		b.VMOVUPS(u, to(64*j))
	})
	scale := b.scale(0, h)
	b.VMOVUPS(scale, to(partScales))
	switch {
	case integral:
	case b.shifted():
		b.VMOVDQU(b.offsetPairs(), scale)
		b.VMOVDQU(scale, to(partMins))
	default:
		b.VMOVUPS(b.min(0, h, scale), to(partMins))
	}
}

// expandSigned is expandHalf for a kind with magnitudes, see pairKind.
func (b *blockSource) expandSigned(dst reg.GPVirtual, h int) {
	e := b.newSigned(dst, h)
	b.bytesOf(0, h, e.add)
	e.finish()
	b.VMOVUPS(b.scale(0, h), e.at(signedScales))
}

// blockRow generates a tile of one row that reads panels as they are stored.
func (g *generator) blockRow(s *scheme, t *tile) {
	g.begin(t)
	b := g.newBlockSource(s, g.panelAddresses(t))
	x, sums := g.xAddresses(t), g.newSums(t)
	add := b.addPanel
	if s.signed() && !g.wide() {
		g.VMOVUPS(g.valueTable(s, "signed", byte(s.offset)), b.table)
		add = b.addSigned
	}
	if g.wide() {
		b.keep()
	}
	prefetch := g.prefetchAhead(b.w, b.sub())
	b.overParts(func() {
		for p := range t.panels {
			prefetch(p)
			add(x, p, sums[0][p])
		}
		g.advance(x, q8aBytes)
	})
	g.finish(t, sums)
}

// prefetchAhead returns what prefetches bytes bytes of a panel as far ahead of w as the caller says in the argument
// xStride, which one row does not need: see prefetchDistance of package cpu.
func (g *generator) prefetchAhead(w rows, bytes int) func(p int) {
	ahead, from := g.arg("xStride"), g.GP64()
	return func(p int) {
		g.LEAQ(w.at(p, 0), from)
		for at := 0; at < bytes; at += lineBytes {
			g.PREFETCHT0(operand.Mem{Base: from, Index: ahead, Scale: 1, Disp: at})
		}
	}
}

// prefetchPart asks for a part ahead of use, for few rows.
func (g *generator) prefetchPart(t *tile, b *blockSource, p int) {
	ahead := 4096
	if t.isa == avx2 {
		ahead = 8192
	}
	for at := 0; at < b.sub(); at += lineBytes {
		g.PREFETCHT0(b.w.at(p, ahead+at))
	}
}

// addPanel adds the products of a part to the sums of panel p.
func (b *blockSource) addPanel(x rows, p int, sums []reg.VecVirtual) {
	for h := range b.halves() {
		b.addPart(x, p, h, sums[h])
	}
}

// addSigned is addPanel for AVX2 and values whose offset of 128 the table does not have.
func (b *blockSource) addSigned(x rows, p int, sums []reg.VecVirtual) {
	ones := []operand.Op{b.word("ones16", 0x00010001), b.word("ones16", 0x00010001)}
	acc := b.vecs(len(sums))
	b.zero(acc...)
	b.signedWords(x, p, ones, acc)
	term := b.newTerm(1, true, nil)
	for h := range acc {
		term.add(0, acc[h], b.scale(p, h), nil, x)
		term.finish(0, sums[h], x)
	}
}

// signedWords adds the products of a part of one row with AVX2, for values whose offset of 128 the table does not have,
// times scales of 16 bits. They get the signs of x, whose magnitudes are the unsigned operand: those of a word serve
// both vectors of the panel.
func (b *blockSource) signedWords(x rows, p int, scales []operand.Op, acc []reg.VecVirtual) {
	bits := b.planes()[0]
	for j := range partWords {
		v, magnitude := b.vec(), b.vec()
		b.VPBROADCASTD(x.at(0, 4*j), v)
		b.VPABSB(v, magnitude)
		for h := range acc {
			u := b.vec()
			b.VMOVDQU(b.w.at(p, j%bits*64+h*b.bytes()), u)
			u = b.field(0, u, bits*(j/bits), 0, bits)
			b.VPSHUFB(u, b.table, u)
			b.VPSIGNB(v, u, u)
			b.VPMADDUBSW(u, magnitude, u)
			b.VPMADDWD(scales[h], u, u)
			b.VPADDD(u, acc[h], acc[h])
		}
	}
}

// addPart adds the products of a part to the sums of vector h of panel p.
func (b *blockSource) addPart(x rows, p, h int, sum reg.VecVirtual) {
	starts := b.integral() && b.wide() // sums start at what takes the offset out
	d := b.newDots(starts, b.most())
	d.offset = offsetVectors{magic: b.kept.magic, eighth: b.kept.offset}
	first, second := d.accumulators(1), d.accumulators(1)
	d.start(first, x)
	if starts {
		b.zero(second.wide...)
	}
	b.bytesOf(p, h, func(j int, u reg.VecVirtual) {
		if j < partWords/2 {
			d.word(first, j, u, x)
		} else {
			d.word(second, j, u, x)
		}
	})
	sums, others := d.result(first), d.result(second)
	if b.shifted() && !starts {
		b.VPADDD(b.lostOffset(x, 0, b.offsetPairs()), sums[0], sums[0])
	}
	if b.kept.high != nil {
		b.VPSRAD(operand.U8(4), others[0], others[0])
	}
	b.VPADDD(others[0], sums[0], sums[0])
	term, s := b.newTerm(1, starts || b.shifted(), b.kept.magic), b.scale(p, h)
	var m reg.VecVirtual
	if !term.integral {
		m = b.min(p, h, s)
	}
	term.add(0, sums[0], s, m, x)
	term.finish(0, sum, x)
}
