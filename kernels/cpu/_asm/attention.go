package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// chunkLen is the most positions of a chunk of attention.
const chunkLen = 128

// referenceSlack is by how much a score may be larger than the one that weights are
// relative to. 2^10 times as large weights are as precise; growing rescales a row of results.
const referenceSlack = 10

// generateAttention makes the functions that convert chunks of a cache of f32 or f16 rows to panels of
// float32, which many queries share, and both products for a few queries, which read
// the cache itself. Lengths of rows are multiples of a register's lanes.
func generateAttention(g *generator) {
	for _, i := range []isa{avx2, avx512} {
		g.isa = i
		for _, f := range []format{formatF32, formatF16} {
			g.keyPanels(f)
			g.valuePanels(f)
			g.fewLoops(f)
		}
		for _, heads := range fewHeads {
			g.panelScores(heads)
		}
		g.weigh(weightsF32{g})
		g.decodeQ8()
		g.decodeQ4()
	}
	g.isa = avx512
	for _, heads := range fewHeads {
		g.mix(formatQ8, heads)
	}
	g.dotAttention()
}

// fewHeads is for how many queries there are loops.
var fewHeads = []int{4, 2, 1}

// fewLoops makes both products for a few queries.
func (g *generator) fewLoops(f format) {
	for _, heads := range fewHeads {
		g.scores(f, heads)
		g.mix(f, heads)
	}
}

// elementBytes is the size of an element of a float cache.
func (f format) elementBytes() int {
	if f == formatF32 {
		return 4
	}
	return 2
}

// loadCache loads a vector of a cache's row as float32.
func (g *generator) loadCache(f format, m operand.Mem, v reg.VecVirtual) {
	if f == formatF32 {
		g.VMOVUPS(m, v)
	} else {
		g.VCVTPH2PS(m, v)
	}
}

// halfPanels moves to through panels of 16 lanes a register at a time: with AVX2 the
// second half of a panel is 32 bytes after the first, and the next panel is panelBytes after
// the first.
type halfPanels struct {
	to, step, other reg.GPVirtual
}

func (g *generator) newHalfPanels(to, panelBytes reg.GPVirtual) halfPanels {
	h := halfPanels{to: to, step: panelBytes}
	if !g.wide() {
		h.step, h.other = g.GP64(), panelBytes
		g.MOVQ(operand.U32(uint32(g.bytes())), h.step)
		g.SUBQ(operand.U8(uint8(g.bytes())), h.other)
	}
	return h
}

func (g *generator) next(h halfPanels) {
	g.ADDQ(h.step, h.to)
	if h.other != nil {
		g.XCHGQ(h.step, h.other)
	}
}

// keyPanels turns squares of as many positions and elements as a register has lanes.
func (g *generator) keyPanels(f format) {
	name := fmt.Sprintf("keys%s%s", f, g.isa.name)
	g.function(name, []string{name + " writes m rows of d elements of k, at distances of kRow bytes, as panels of 16 rows."}, nil,
		pointers("dst", "k"), integers("m", "d", "kRow"))
	k, m, panelBytes := g.arg("k"), g.arg("m"), g.arg("d")
	g.SHLQ(operand.U8(6), panelBytes)
	dst := g.newHalfPanels(g.arg("dst"), panelBytes)

	loop, rest, done := g.label("loop"), g.label("rest"), g.label("done")
	g.SUBQ(operand.U8(uint8(g.isa.lanes)), m)
	g.JL(operand.LabelRef(rest))
	g.Label(loop)
	g.keyBlock(f, dst.to, k, nil)
	g.next(dst)
	kRow := g.arg("kRow")
	g.SHLQ(operand.U8(uint8(log2(g.isa.lanes))), kRow)
	g.ADDQ(kRow, k)
	g.SUBQ(operand.U8(uint8(g.isa.lanes)), m)
	g.JGE(operand.LabelRef(loop))
	g.Label(rest)
	g.ADDQ(operand.U8(uint8(g.isa.lanes)), m)
	g.JZ(operand.LabelRef(done))
	g.keyBlock(f, dst.to, k, m)
	g.Label(done)
	g.ret()
}

func log2(n int) (log int) {
	for ; n > 1; n /= 2 {
		log++
	}
	return log
}

// keyBlock turns as many rows of k as there are lanes, or m of them.
func (g *generator) keyBlock(f format, dst, k, m reg.GPVirtual) {
	to, from, d := g.GP64(), g.GP64(), g.arg("d")
	g.MOVQ(dst, to)
	g.MOVQ(k, from)
	var at rows
	if m == nil {
		at = g.newRows(from, g.arg("kRow"), g.isa.lanes)
	}
	loop := g.label("square")
	g.Label(loop)
	square := g.vecs(g.isa.lanes)
	if m == nil {
		for i, v := range square {
			g.loadCache(f, at.at(i, 0), v)
		}
		g.advance(at, g.isa.lanes*f.elementBytes())
	} else {
		g.loadSome(f, square, from, m)
		g.ADDQ(operand.U8(uint8(g.isa.lanes*f.elementBytes())), from)
	}
	for i, v := range g.transpose(square) {
		g.VMOVUPS(v, operand.Mem{Base: to, Disp: i * panelRows * 4})
	}
	g.ADDQ(operand.U32(uint32(g.isa.lanes*panelRows*4)), to)
	g.SUBQ(operand.U8(uint8(g.isa.lanes)), d)
	g.JNZ(operand.LabelRef(loop))
}

// loadSome loads m rows into the first registers of a square, and the last of these rows into the other registers.
func (g *generator) loadSome(f format, square []reg.VecVirtual, from, m reg.GPVirtual) {
	row, left, step, zero := g.GP64(), g.GP64(), g.arg("kRow"), g.GP64()
	g.MOVQ(from, row)
	g.MOVQ(m, left)
	g.XORQ(zero, zero)
	for i, v := range square {
		if i > 0 {
			g.DECQ(left)
			g.CMOVQEQ(zero, step)
			g.ADDQ(step, row)
		}
		g.loadCache(f, operand.Mem{Base: row}, v)
	}
}

// transpose returns the columns of a square of 32-bit words, in the registers of v and one
// more. First it works inside 128 bits, where four rows become four columns, then it moves
// 128 bits at a time.
func (g *generator) transpose(v []reg.VecVirtual) []reg.VecVirtual {
	n, e := len(v), exchange{g, g.vec()}
	fours := make([]reg.VecVirtual, n) // 4i+j: column j of rows 4i to 4i+3, in each 128 bits
	for i := 0; i < n; i += 4 {
		copy(fours[i:], e.fours(v[i:i+4]))
	}
	out := make([]reg.VecVirtual, n)
	for j := range 4 {
		if n == 8 {
			out[j], out[4+j] = e.join(fours[j], fours[4+j], g.halves256)
			continue
		}
		even, odd := e.join(fours[j], fours[4+j], g.halves512)
		even2, odd2 := e.join(fours[8+j], fours[12+j], g.halves512)
		out[j], out[8+j] = e.join(even, even2, g.halves512)
		out[4+j], out[12+j] = e.join(odd, odd2, g.halves512)
	}
	return out
}

// exchange replaces two registers by two others that are made of both. It has one spare: avo's
// allocator finds no place for a square and what is summed if it has to choose.
type exchange struct {
	*generator
	spare reg.VecVirtual
}

// fours returns the columns of four rows of four words, in each 128 bits.
func (e *exchange) fours(v []reg.VecVirtual) []reg.VecVirtual {
	low, high := e.join(v[0], v[1], e.unpackSingles)
	low2, high2 := e.join(v[2], v[3], e.unpackSingles)
	first, second := e.join(low, low2, e.unpackDoubles)
	third, fourth := e.join(high, high2, e.unpackDoubles)
	return []reg.VecVirtual{first, second, third, fourth}
}

// half is which halves of their parts two registers are joined from.
type half uint8

const (
	lower half = iota
	upper
)

// join returns the results of op for the lower and for the upper halves of a and b, which are
// used up.
func (e *exchange) join(a, b reg.VecVirtual, op func(h half, b, a, to reg.VecVirtual)) (low, high reg.VecVirtual) {
	low, high = e.spare, b
	op(lower, b, a, low)
	op(upper, b, a, high)
	e.spare = a
	return low, high
}

func (g *generator) unpackSingles(h half, b, a, to reg.VecVirtual) {
	if h == upper {
		g.VUNPCKHPS(b, a, to)
	} else {
		g.VUNPCKLPS(b, a, to)
	}
}

func (g *generator) unpackDoubles(h half, b, a, to reg.VecVirtual) {
	if h == upper {
		g.VUNPCKHPD(b, a, to)
	} else {
		g.VUNPCKLPD(b, a, to)
	}
}

// halves256 joins the lower or the upper 128 bits of a and b.
func (g *generator) halves256(h half, b, a, to reg.VecVirtual) {
	order := operand.U8(0x20)
	if h == upper {
		order = 0x31
	}
	g.VPERM2F128(order, b, a, to)
}

// halves512 joins the even 128 bits of a and b, which are the lower of each pair, or the odd ones.
func (g *generator) halves512(h half, b, a, to reg.VecVirtual) {
	order := operand.U8(0x88)
	if h == upper {
		order = 0xdd
	}
	g.VSHUFF32X4(order, b, a, to)
}

// valuePanels converts, four positions at a time.
func (g *generator) valuePanels(f format) {
	name := fmt.Sprintf("values%s%s", f, g.isa.name)
	g.function(name, []string{name + " writes m rows of d elements of v, at distances of vRow bytes, as panels of 16 elements."}, nil,
		pointers("dst", "v"), integers("m", "d", "vRow"))
	v, d, panelBytes := g.arg("v"), g.arg("d"), g.GP64()
	g.MOVQ(operand.U32(chunkLen*panelRows*4), panelBytes)
	dst := g.newHalfPanels(g.arg("dst"), panelBytes)
	loop := g.label("strip")
	g.Label(loop)
	to, from, m, vRow := g.GP64(), g.GP64(), g.arg("m"), g.arg("vRow")
	g.MOVQ(dst.to, to)
	g.MOVQ(v, from)
	for _, n := range []int{4, 1} {
		again, less := g.label("positions"), g.label("less")
		g.SUBQ(operand.U8(uint8(n)), m)
		g.JL(operand.LabelRef(less))
		g.Label(again)
		for i := range n {
			x := g.vec()
			g.loadCache(f, operand.Mem{Base: from}, x)
			g.ADDQ(vRow, from)
			g.VMOVUPS(x, operand.Mem{Base: to, Disp: i * panelRows * 4})
		}
		g.ADDQ(operand.U32(uint32(n*panelRows*4)), to)
		g.SUBQ(operand.U8(uint8(n)), m)
		g.JGE(operand.LabelRef(again))
		g.Label(less)
		g.ADDQ(operand.U8(uint8(n)), m)
	}
	g.next(dst)
	g.ADDQ(operand.U8(uint8(g.isa.lanes*f.elementBytes())), v)
	g.SUBQ(operand.U8(uint8(g.isa.lanes)), d)
	g.JNZ(operand.LabelRef(loop))
	g.ret()
}

// mix adds weighted values to a few results, of which it keeps a strip in registers over
// all positions.
func (g *generator) mix(f format, heads int) {
	name := fmt.Sprintf("mix%s%sx%d", f, g.isa.name, heads)
	doc, in := []string{
		fmt.Sprintf("%s adds Σp s[i][p]·v[p] to dst[i] for %d rows and m rows of v, at distances of vRow bytes, all of d elements.", name, heads),
		"The distance of rows of s is a chunk. It prefetches what is ahead bytes after v.",
	}, integers("m", "d", "vRow", "ahead")
	if f == formatQ8 {
		doc, in = append(doc, "It also prefetches what is beside bytes after v."), append(in, integers("beside")...)
	}
	g.function(name, doc, nil, pointers("dst", "s", "v"), in)
	g.overStrips(f, func(dst, v reg.GPVirtual, a asked, n int) { g.mixStrip(f, dst, v, a, heads, n) })
}

// overStrips runs body for strips of n vectors of the results and values, and ends the function.
func (g *generator) overStrips(f format, body func(dst, v reg.GPVirtual, a asked, n int)) {
	dst, v, d := g.arg("dst"), g.arg("v"), g.arg("d")
	chunks := g.askedChunks(f, v)
	for _, n := range g.stripLens(f) {
		loop, less := g.label("strip"), g.label("less")
		g.SUBQ(operand.U8(uint8(n*g.isa.lanes)), d)
		g.JL(operand.LabelRef(less))
		g.Label(loop)
		body(dst, v, g.newAsked(chunks, g.vectorAt(f, n)), n)
		g.ADDQ(operand.U32(uint32(n*g.bytes())), dst)
		g.ADDQ(operand.U32(uint32(g.vectorAt(f, n))), v)
		g.SUBQ(operand.U8(uint8(n*g.isa.lanes)), d)
		g.JGE(operand.LabelRef(loop))
		g.Label(less)
		g.ADDQ(operand.U8(uint8(n*g.isa.lanes)), d)
	}
	g.ret()
}

// stripLens returns how many vectors a strip has: with 4 heads and 4 vectors there are 16 sums. Strips
// of q8_0 are whole blocks.
func (g *generator) stripLens(f format) []int {
	switch {
	case f == formatQ8:
		return []int{4, 2}
	case g.wide():
		return []int{4, 1}
	}
	return []int{2, 1}
}

// vectorAt is where vector i of a row begins.
func (g *generator) vectorAt(f format, i int) int {
	if f == formatQ8 {
		return i * g.isa.lanes / q8Len * q8Bytes
	}
	return i * g.isa.lanes * f.elementBytes()
}

// loadStrip loads n vectors of a row as float32.
func (g *generator) loadStrip(f format, row reg.GPVirtual, n int) []reg.VecVirtual {
	if f == formatQ8 {
		return g.loadBlocks(row, n)
	}
	values := g.vecs(n)
	for i, x := range values {
		g.loadCache(f, operand.Mem{Base: row, Disp: g.vectorAt(f, i)}, x)
	}
	return values
}

// mixStrip computes n vectors of each result.
func (g *generator) mixStrip(f format, dst, v reg.GPVirtual, a asked, heads, n int) {
	s, m, vRow, row := g.arg("s"), g.arg("m"), g.arg("vRow"), g.GP64()
	g.MOVQ(v, row)
	sums, all := make([][]reg.VecVirtual, heads), []reg.VecVirtual{}
	for h := range sums {
		sums[h] = g.vecs(n)
		all = append(all, sums[h]...)
	}
	const others = 3 // a weight, the scale of a block, and one that lets the allocator find a place
	totals := g.newTotals(all, 2*g.isa.lanes-len(all)-n-others)
	totals.inParts(m, operand.U32(partLen), func(m reg.GPVirtual) {
		position := func(add product) {
			g.mixPosition(f, sums, s, row, a, add)
			g.ADDQ(operand.U8(4), s)
			g.ADDQ(vRow, row)
			g.DECQ(m)
		}
		loop, done := g.label("position"), g.label("done")
		position(g.multiply)
		g.JZ(operand.LabelRef(done))
		g.Label(loop)
		position(g.multiplyAdd)
		g.JNZ(operand.LabelRef(loop))
		g.Label(done)
	})
	g.addStrip(dst, sums)
}

// mixPosition adds the values of a position to sums, as add does.
func (g *generator) mixPosition(f format, sums [][]reg.VecVirtual, s, row reg.GPVirtual, a asked, add product) {
	values := g.loadStrip(f, row, len(sums[0]))
	g.askNext(a)
	for h := range sums {
		weight := g.vec()
		g.VBROADCASTSS(operand.Mem{Base: s, Disp: 4 * h * chunkLen}, weight)
		for i, x := range values {
			add(weight, x, sums[h][i])
		}
	}
}

// asked is parts of chunks that are read next, and that a loop over positions prefetches: in each strip of a row its
// share of each chunk. The loop prefetches in two places whose distance is at least a page, if a row has lines for
// both: Intel's processors, which read ahead within a page, deliver more then.
type asked struct {
	parts       []reg.GPVirtual
	step        int // bytes that a position moves on by in each place
	places, far int // how many, and bytes from one to the next
}

// askedChunks returns where the prefetched chunks begin: after the values at v, and for values of q8_0 those of the
// keys too.
func (g *generator) askedChunks(f format, v reg.GPVirtual) []reg.GPVirtual {
	chunks := []reg.GPVirtual{g.arg("ahead")}
	if f == formatQ8 {
		chunks = append(chunks, g.arg("beside"))
	}
	for _, c := range chunks {
		g.ADDQ(v, c)
	}
	return chunks
}

// newAsked takes the part of a strip of so many bytes a row off the chunks.
func (g *generator) newAsked(chunks []reg.GPVirtual, bytes int) asked {
	a := asked{places: 1}
	if bytes > lineBytes {
		a.places = 2
	}
	a.step, a.far = bytes/a.places, chunkLen*bytes/a.places
	for _, c := range chunks {
		part := g.GP64()
		g.MOVQ(c, part)
		g.ADDQ(operand.U32(uint32(chunkLen*bytes)), c)
		a.parts = append(a.parts, part)
	}
	return a
}

// askNext asks for a position's share, and moves on.
func (g *generator) askNext(a asked) {
	for _, part := range a.parts {
		for place := range a.places {
			for line := 0; line < a.step; line += lineBytes {
				g.PREFETCHT0(operand.Mem{Base: part, Disp: place*a.far + line})
			}
		}
		g.ADDQ(operand.U32(uint32(a.step)), part)
	}
}

// addStrip adds sums to the results of each head, at distances of d elements.
func (g *generator) addStrip(dst reg.GPVirtual, sums [][]reg.VecVirtual) {
	dRow := g.arg("d")
	g.SHLQ(operand.U8(2), dRow)
	to := g.GP64()
	g.MOVQ(dst, to)
	at := g.newRows(to, dRow, len(sums))
	for h := range sums {
		for i, v := range sums[h] {
			g.VADDPS(at.at(h, i*g.bytes()), v, v)
			g.VMOVUPS(v, at.at(h, i*g.bytes()))
		}
	}
}

// weigh makes weights of the scores of a chunk: first each row's largest score, then what
// changes by that for all rows at once, then each row's weights.
func (g *generator) weigh(form weightForm) {
	name := "weigh" + form.name()
	g.function(name, append([]string{
		name + " replaces m scores in each of n rows of s, at distances of a chunk, by their weights 2^(score-largest[i]) and adds",
		"these to sums[i]. A score above largest[i] by more than the slack first becomes largest[i]; then",
		"shrink[i] is the factor by which earlier weights are too large, and sums[i] is multiplied by it.",
	}, form.doc()...), nil, pointers("s", "largest", "sums", "shrink"), integers("n", "m"))
	p := g.newPowers()
	form.begin()
	g.overScores(func(s, at reg.GPVirtual, row rowLength) {
		g.VMOVSS(g.rowMax(s, row).AsX(), operand.Mem{Base: g.arg("shrink"), Index: at, Scale: 4})
	})
	g.shrink(p)
	g.overScores(func(s, at reg.GPVirtual, row rowLength) {
		sum, sums := g.rowPowers(s, at, p, form, row).AsX(), g.arg("sums")
		g.VADDSS(operand.Mem{Base: sums, Index: at, Scale: 4}, sum, sum)
		g.VMOVSS(sum, operand.Mem{Base: sums, Index: at, Scale: 4})
	})
	g.ret()
}

// rowLength is what is known of the scores of a row while code is generated.
type rowLength uint8

const (
	anyLength  rowLength = iota // there are m of them
	wholeChunk                  // there are chunkLen of them
)

// overScores runs body for each row of s and its number. If registers suffice there is one form
// for whole chunks and another for other lengths.
func (g *generator) overScores(body func(s, at reg.GPVirtual, row rowLength)) {
	some, done := g.label("some"), g.label("done")
	s, n, at := g.arg("s"), g.arg("n"), g.GP64()
	g.XORQ(at, at)
	rows := func(row rowLength) {
		loop := g.label("row")
		g.Label(loop)
		body(s, at, row)
		g.ADDQ(operand.U32(chunkLen*4), s)
		g.INCQ(at)
		g.CMPQ(at, n)
		g.JL(operand.LabelRef(loop))
	}
	if g.wide() {
		g.CMPQ(g.arg("m"), operand.U32(chunkLen))
		g.JNE(operand.LabelRef(some))
		rows(wholeChunk)
		g.JMP(operand.LabelRef(done))
	}
	g.Label(some)
	rows(anyLength)
	g.Label(done)
}

// rowMax returns the largest of m scores in the lowest lane.
func (g *generator) rowMax(s reg.GPVirtual, row rowLength) reg.VecVirtual {
	most := g.vec()
	if row == wholeChunk {
		v := g.scoreVectors(s, 0)
		for i := 4; i < chunkLen/g.isa.lanes; i += 4 {
			for j, x := range g.scoreVectors(s, i) {
				g.VMAXPS(x, v[j], v[j])
			}
		}
		g.VMAXPS(v[0], v[1], most)
		g.VMAXPS(v[2], v[3], v[2])
		g.VMAXPS(v[2], most, most)
	} else {
		x := stream{g.GP64(), 4}
		g.MOVQ(s, x.at)
		g.VMOVUPS(g.float("leastFloat", math.Inf(-1)), most)
		g.overElements(g.arg("m"), []stream{x}, func(k *mask) { g.addMax(x, k, most) })
	}
	return g.reduce(most, func(a, b, to reg.Register) { g.VMAXPS(a, b, to) })
}

// scoreVectors loads four vectors of a full row of scores, from number first on.
func (g *generator) scoreVectors(s reg.GPVirtual, first int) []reg.VecVirtual {
	v := g.vecs(4)
	for i := range v {
		g.VMOVUPS(operand.Mem{Base: s, Disp: (first + i) * g.bytes()}, v[i])
	}
	return v
}

// shrink handles as many rows as there are lanes: shrink[i] comes with the largest of the new scores.
func (g *generator) shrink(p *powers) {
	largest, sums, shrink := stream{g.arg("largest"), 4}, stream{g.arg("sums"), 4}, stream{g.arg("shrink"), 4}
	g.overElements(g.arg("n"), []stream{largest, sums, shrink}, func(k *mask) {
		before, most, sum := g.vec(), g.vec(), g.vec()
		g.load(largest.mem(), k, before)
		g.load(shrink.mem(), k, most)
		g.VMAXPS(before, most, most)
		g.keepReference(before, most)
		g.store(most, k, largest.mem())
		p.begin(most)
		p.apply([]reg.VecVirtual{before}, most)
		g.store(before, k, shrink.mem())
		g.load(sums.mem(), k, sum)
		g.VMULPS(before, sum, sum)
		g.store(sum, k, sums.mem())
	})
}

// keepReference sets most to before where it is not much larger: weights may be somewhat
// above 1, and nothing of what was summed changes. Where one of them is NaN or both are
// infinite, most stays.
func (g *generator) keepReference(before, most reg.VecVirtual) {
	const notLessEqual = 6 // or unordered
	grown := g.vec()
	g.VSUBPS(before, most, grown)
	if g.wide() {
		k := g.K()
		g.VCMPPS(operand.U8(notLessEqual), g.float("referenceSlack", referenceSlack), grown, k)
		g.VBLENDMPS(most, before, k, most)
		return
	}
	g.VCMPPS(operand.U8(notLessEqual), g.float("referenceSlack", referenceSlack), grown, grown)
	g.VBLENDVPS(grown, most, before, most)
}

// rowPowers replaces the scores of row number at and returns their sum in the lowest lane.
func (g *generator) rowPowers(s, at reg.GPVirtual, p *powers, form weightForm, row rowLength) reg.VecVirtual {
	sum, most := g.vec(), g.vec()
	g.VBROADCASTSS(operand.Mem{Base: g.arg("largest"), Index: at, Scale: 4}, most)
	p.begin(most)
	if row == wholeChunk {
		for first := 0; first < chunkLen/g.isa.lanes; first += 4 {
			v := g.scoreVectors(s, first)
			p.apply(v, most)
			form.store(v, s, first, sum)
		}
	} else {
		x := stream{g.GP64(), 4}
		g.MOVQ(s, x.at)
		to, streams := form.streams(s, x)
		g.zero(sum)
		g.overElements(g.arg("m"), streams, func(k *mask) {
			v := g.vec()
			g.load(x.mem(), k, v)
			p.apply([]reg.VecVirtual{v}, most)
			form.storeSome(v, to, sum, k)
		})
	}
	return g.reduce(sum, func(a, b, to reg.Register) { g.VADDPS(a, b, to) })
}

// weightForm is how weights are written over the scores that they come from.
type weightForm interface {
	name() string
	doc() []string
	begin() // makes constants
	// streams returns the stream of the weights of scores x, at the head of row s, and all streams that advance.
	streams(s reg.GPVirtual, x stream) (to stream, all []stream)
	// store writes four vectors of a full row, from number first on, and adds them to sum, lane by
	// lane, or sets it if first is 0.
	store(v []reg.VecVirtual, s reg.GPVirtual, first int, sum reg.VecVirtual)
	storeSome(v reg.VecVirtual, to stream, sum reg.VecVirtual, k *mask) // adds to sum
}

// weightsF32 is weights in float32.
type weightsF32 struct{ *generator }

func (w weightsF32) name() string  { return w.isa.name }
func (w weightsF32) doc() []string { return nil }
func (w weightsF32) begin()        {}

func (w weightsF32) streams(_ reg.GPVirtual, x stream) (stream, []stream) { return x, []stream{x} }

func (w weightsF32) store(v []reg.VecVirtual, s reg.GPVirtual, first int, sum reg.VecVirtual) {
	for i := range v {
		w.VMOVUPS(v[i], operand.Mem{Base: s, Disp: (first + i) * w.generator.bytes()})
	}
	w.VADDPS(v[0], v[1], v[0])
	w.VADDPS(v[2], v[3], v[2])
	if first == 0 {
		w.VADDPS(v[2], v[0], sum)
		return
	}
	w.VADDPS(v[2], v[0], v[0])
	w.VADDPS(v[0], sum, sum)
}

func (w weightsF32) storeSome(v reg.VecVirtual, to stream, sum reg.VecVirtual, k *mask) {
	w.generator.store(v, k, to.mem())
	w.addLanes(v, sum, k)
}

// powers is 2^x. With AVX-512 the series is in registers, as a row's weights would wait
// for its loads.
type powers struct {
	*generator
	half   reg.VecVirtual
	series []operand.Op // from the highest power down
}

// powerSeries is 2^r for r in [-1/2, 1/2], from the constant on: the Taylor series to r^7,
// whose last term is replaced by lower ones with a Chebyshev polynomial (C. Lanczos, Applied
// Analysis, 1956, chapter VII). What is left out is below 2^-27.
func powerSeries() []float64 {
	c, term := make([]float64, 8), 1.0
	for i := range c {
		c[i] = term
		term *= math.Ln2 / float64(i+1)
	}
	// r^7 = (T7(2r)/64 + (112 (2r)^5 - 56 (2r)^3 + 7 (2r))/64) / 2^7, and |T7| ≤ 1.
	c[5] += c[7] * 112 / 64 / 4
	c[3] -= c[7] * 56 / 64 / 16
	c[1] += c[7] * 7 / 64 / 64
	return c[:7]
}

// newPowers makes the constants.
func (g *generator) newPowers() *powers {
	p := &powers{generator: g, half: g.vec()}
	c := powerSeries()
	for i := len(c) - 1; i >= 0; i-- {
		m := g.float(fmt.Sprintf("powerC%d", i), c[i])
		if !g.wide() {
			p.series = append(p.series, m)
			continue
		}
		v := g.vec()
		g.VMOVUPS(m, v)
		p.series = append(p.series, v)
	}
	g.VMOVUPS(g.float("half", 0.5), p.half)
	return p
}

// begin converts what is subtracted to the form that apply needs: with AVX-512 a half less, as its
// instructions round down to a whole number.
func (p *powers) begin(most reg.VecVirtual) {
	if p.wide() {
		p.VSUBPS(p.half, most, most)
	}
}

// apply replaces v by 2^(v-most), within 2 units in the last place, for results below 2^127. NaN
// stays, and -Inf gives 0.
func (p *powers) apply(v []reg.VecVirtual, most reg.VecVirtual) {
	r, sum := p.vecs(len(v)), p.vecs(len(v))
	for i := range v {
		p.VSUBPS(most, v[i], v[i])
		p.rest(v[i], r[i])
		p.VMOVUPS(p.series[0], sum[i])
	}
	for _, c := range p.series[1:] {
		for i := range v {
			p.VFMADD213PS(c, r[i], sum[i])
		}
	}
	for i := range v {
		p.scale(v[i], sum[i])
	}
}

// rest sets r to what x is above the nearest whole number, -1/2 to 1/2.
func (p *powers) rest(x, r reg.VecVirtual) {
	if p.wide() {
		const floor = 1
		p.VREDUCEPS(operand.U8(floor), x, r) // x is a half too large
		p.VSUBPS(p.half, r, r)
		return
	}
	least := p.vec()
	p.VMOVUPS(p.float("powerLeast", -150), least)
	p.VMAXPS(x, least, x) // NaN in the first operand survives
	p.VROUNDPS(operand.U8(8), x, least)
	p.VSUBPS(least, x, r)
	p.VMOVAPS(least, x)
}

// scale sets x to sum times 2 to the power of its whole part.
func (p *powers) scale(x, sum reg.VecVirtual) {
	if p.wide() {
		p.VSCALEFPS(x, sum, x)
		return
	}
	p.scaleByPower(sum, x)
	p.VMOVAPS(sum, x)
}
