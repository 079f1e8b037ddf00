package main

import (
	"fmt"
	"slices"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// This file generates attention whose products round their operands to bfloat16. Two operands of a lane
// are multiplied at once (VDPBF16PS): neighbouring elements of a head for scores, neighbouring
// positions for results.

// dotAttention makes all of it; lengths of rows are multiples of 16.
func (g *generator) dotAttention() {
	g.keyPairs()
	for _, f := range []format{formatF32, formatF16} {
		g.valuePairs(f)
	}
	for _, heads := range fewHeads {
		g.dotScores(heads)
		g.dotMix(formatF32, heads)
		g.dotMix(formatF16, heads)
		g.dotMix(formatQ8, heads)
	}
	g.weigh(&weightsBF16{generator: g})
}

// pairing is the order of words that interleaves the words of the upper half with those of the lower, and a register of
// zeros. That register is cleared by an instruction that reads it, so that it is live from the beginning on.
type pairing struct {
	*generator
	order, none reg.VecVirtual
}

func (g *generator) newPairing() pairing {
	p := pairing{g, g.vec(), g.vec()}
	g.zero(p.none)
	order := g.table("pairOrder", 16, func(i int) uint32 { return uint32(16+i)<<16 | uint32(i) })
	g.VMOVUPS(order, p.order)
	return p
}

// join returns the pairs of bfloat16 of two vectors of float32, that of even being the lower
// of each lane. even is used up.
func (p pairing) join(even, odd reg.VecVirtual) reg.VecVirtual {
	p.toBF16Words(even, odd, even)
	p.VPERMW(even, p.order, even)
	return even
}

// halves returns the pairs of the float16 at two places.
func (p pairing) halves(even, odd operand.Mem) reg.VecVirtual {
	low, high := p.vec(), p.vec()
	p.VCVTPH2PS(even, low)
	p.VCVTPH2PS(odd, high)
	return p.join(low, high)
}

// keyPairs is for panels of f16 keys: two of their columns, a line, become a line of pairs.
func (g *generator) keyPairs() {
	name := "keyPairs"
	g.function(name, []string{name + " makes pairs of bfloat16 of n lines of panels of float16; n is positive."}, nil,
		pointers("dst", "k"), integers("n"))
	dst, k, n, loop := g.arg("dst"), g.arg("k"), g.arg("n"), g.label("loop")
	p := g.newPairing()
	g.Label(loop)
	x := p.halves(operand.Mem{Base: k}, operand.Mem{Base: k, Disp: halfColumnBytes})
	g.VMOVUPS(x, operand.Mem{Base: dst})
	g.ADDQ(operand.U8(lineBytes), k)
	g.ADDQ(operand.U8(lineBytes), dst)
	g.DECQ(n)
	g.JNZ(operand.LabelRef(loop))
	g.ret()
}

// valuePairs interleaves two rows of values.
func (g *generator) valuePairs(f format) {
	name := fmt.Sprintf("valuePairs%s", f)
	g.function(name, []string{
		name + " writes m rows of d elements of v, at distances of vRow bytes, as panels of 16 elements, each with room for a chunk:",
		"pairs of bfloat16 of two rows. The last of an odd number of rows is paired with zeros.",
	}, nil, pointers("dst", "v"), integers("m", "d", "vRow"))
	dst, v, d, vRow := g.arg("dst"), g.arg("v"), g.arg("d"), g.arg("vRow")
	p := g.newPairing()
	loop := g.label("strip")
	g.Label(loop)
	to, row := g.GP64(), g.GP64()
	g.MOVQ(dst, to)
	g.MOVQ(v, row)
	g.overPairs(g.arg("m"), func(rows pairRows) {
		even, odd := g.vec(), p.none
		g.loadCache(f, operand.Mem{Base: row}, even)
		if rows == both {
			odd = g.vec()
			g.loadCache(f, operand.Mem{Base: row, Index: vRow, Scale: 1}, odd)
		}
		g.VMOVUPS(p.join(even, odd), operand.Mem{Base: to})
	}, func() {
		g.ADDQ(operand.U8(lineBytes), to)
		g.LEAQ(operand.Mem{Base: row, Index: vRow, Scale: 2}, row)
	})
	g.ADDQ(operand.U32(chunkLen/2*lineBytes), dst)
	g.ADDQ(operand.U8(uint8(g.isa.lanes*f.elementBytes())), v)
	g.SUBQ(operand.U8(uint8(g.isa.lanes)), d)
	g.JNZ(operand.LabelRef(loop))
	g.ret()
}

// pairRows is how many rows of a pair exist.
type pairRows uint8

const (
	both   pairRows = iota
	single          // the last row of an odd number
)

// overPairs runs body and then next for each two of n rows, and body for the last row of an odd number.
func (g *generator) overPairs(n reg.GPVirtual, body func(rows pairRows), next func()) {
	loop, rest, done := g.label("pairs"), g.label("rest"), g.label("done")
	g.SUBQ(operand.U8(2), n)
	g.JL(operand.LabelRef(rest))
	g.Label(loop)
	body(both)
	next()
	g.SUBQ(operand.U8(2), n)
	g.JGE(operand.LabelRef(loop))
	g.Label(rest)
	g.ADDQ(operand.U8(2), n)
	g.JZ(operand.LabelRef(done))
	body(single)
	g.Label(done)
}

// dotScores is panelScores with queries of bfloat16.
func (g *generator) dotScores(heads int) {
	name := fmt.Sprintf("panelScoresDOTx%d", heads)
	g.function(name, []string{
		fmt.Sprintf("%s sets s[i][p] to q[i]·k[p] for %d rows of q in bfloat16 and the 16 rows of each of n panels of k in float16, all", name, heads),
		"of d elements, an even number. The distance of rows of s is a chunk. It prefetches what is ahead bytes after k.",
	}, nil, pointers("s", "q", "k"), integers("n", "d", "ahead"))
	sums := newPanelSums(g, heads, g.panelCounts()[0])
	p := g.newPairing()
	g.overPanels(sums, 1, func(s reg.GPVirtual, r panelWalk, part *panelSums) {
		g.dotBlock(p, r, part)
		part.store(s)
	})
}

// dotBlock computes the scores of some panels.
func (g *generator) dotBlock(p pairing, r panelWalk, sums *panelSums) {
	q, at, asked := r.q, r.at, r.asked
	loop := g.label("elements")
	g.Label(loop)
	keys := make([]reg.VecVirtual, len(sums.v[0]))
	for i := range keys {
		g.PREFETCHT0(asked.at(i, 0))
		keys[i] = p.halves(at.at(i, 0), at.at(i, halfColumnBytes))
	}
	for h := range sums.v {
		two := g.vec()
		g.VPBROADCASTD(q.at(h, 0), two)
		for i, x := range keys {
			g.dotBF16(two, x, sums.v[h][i][0])
		}
	}
	for _, x := range []rows{at, asked} {
		g.advance(x, lineBytes)
	}
	g.advance(q, pairBytes)
	g.SUBQ(operand.U8(2), r.d)
	g.JNZ(operand.LabelRef(loop))
}

// dotMix is mix with weights of bfloat16, two positions at a time.
func (g *generator) dotMix(f format, heads int) {
	name := fmt.Sprintf("mix%sDOTx%d", f, heads)
	doc, in := []string{
		fmt.Sprintf("%s adds Σp s[i][p]·v[p] to dst[i] for %d rows and m rows of v, at distances of vRow bytes, all of d elements.", name, heads),
		"Rows of s are bfloat16, at distances of a chunk of float32, followed by zero if their number is odd. It prefetches what is ahead bytes after v.",
	}, integers("m", "d", "vRow", "ahead")
	if f == formatQ8 {
		doc, in = append(doc, "It also prefetches what is beside bytes after v."), append(in, integers("beside")...)
	}
	g.function(name, doc, nil, pointers("dst", "s", "v"), in)
	p := g.newPairing()
	g.overStrips(f, func(dst, v reg.GPVirtual, a asked, n int) { g.dotStrip(p, f, dst, v, a, heads, n) })
}

// dotStrip computes n vectors of each result.
func (g *generator) dotStrip(p pairing, f format, dst, v reg.GPVirtual, a asked, heads, n int) {
	s, vRow, row := g.arg("s"), g.arg("vRow"), g.GP64()
	g.MOVQ(v, row)
	sums := make([][]reg.VecVirtual, heads)
	for h := range sums {
		sums[h] = g.vecs(n)
		for _, sum := range sums[h] {
			g.VMOVAPS(p.none, sum)
		}
	}
	g.overPairs(g.arg("m"), func(rows pairRows) {
		values := g.pairStrip(p, f, row, vRow, a, n, rows)
		for h := range sums {
			two := g.vec()
			g.VPBROADCASTD(operand.Mem{Base: s, Disp: 4 * h * chunkLen}, two)
			for i, x := range values {
				g.dotBF16(two, x, sums[h][i])
			}
		}
	}, func() {
		g.ADDQ(operand.U8(pairBytes), s)
		g.LEAQ(operand.Mem{Base: row, Index: vRow, Scale: 2}, row)
	})
	g.addStrip(dst, sums)
}

// pairStrip loads n vectors of pairs of two rows, or of one and zeros, and prefetches what is read next.
func (g *generator) pairStrip(p pairing, f format, row, vRow reg.GPVirtual, a asked, n int, rows pairRows) []reg.VecVirtual {
	even, odd := g.loadStrip(f, row, n), slices.Repeat([]reg.VecVirtual{p.none}, n)
	g.askNext(a)
	if rows == both {
		next := g.GP64()
		g.LEAQ(operand.Mem{Base: row, Index: vRow, Scale: 1}, next)
		odd = g.loadStrip(f, next, n)
		g.askNext(a)
	}
	for i := range even {
		even[i] = p.join(even[i], odd[i])
	}
	return even
}

// weightsBF16 is weights in bfloat16 at the head of each row; what is added is what was rounded. Zeros follow up to a
// multiple of 16 weights.
type weightsBF16 struct {
	*generator
	ones, none reg.VecVirtual
}

func (w *weightsBF16) name() string { return "DOT" }

func (w *weightsBF16) doc() []string {
	return []string{"Weights are bfloat16, at the head of each row, followed by zero if their number is odd."}
}

// begin makes the constants.
func (w *weightsBF16) begin() {
	w.ones, w.none = w.vec(), w.vec()
	w.VMOVUPS(w.word("onesBF16", 0x3f803f80), w.ones)
	w.zero(w.none)
}

func (w *weightsBF16) streams(s reg.GPVirtual, x stream) (stream, []stream) {
	to := stream{w.GP64(), 2}
	w.MOVQ(s, to.at)
	return to, []stream{x, to}
}

func (w *weightsBF16) store(v []reg.VecVirtual, s reg.GPVirtual, first int, sum reg.VecVirtual) {
	if first == 0 {
		w.VMOVAPS(w.none, sum)
	}
	for i := 0; i < len(v); i += 2 {
		w.toBF16Words(v[i], v[i+1], v[i])
		w.VMOVUPS(v[i], operand.Mem{Base: s, Disp: (first + i) * w.generator.bytes() / 2})
		w.dotBF16(w.ones, v[i], sum)
	}
}

func (w *weightsBF16) storeSome(v reg.VecVirtual, to stream, sum reg.VecVirtual, k *mask) {
	if k != nil {
		w.VMOVAPS_Z(v, k.k, v)
	}
	w.toBF16Words(v, w.none, v)
	w.VMOVDQU(v.AsY(), to.mem())
	w.dotBF16(w.ones, v, sum)
}
