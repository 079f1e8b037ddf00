package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// panelScores multiplies a few queries with keys of f16 in panels of 16 positions. It is the tile of a matrix product
// with fewer rows and more panels, whose loop asks for the panels that come a chunk later: half of what one token reads
// from memory.
func (g *generator) panelScores(heads int) {
	name := fmt.Sprintf("panelScoresF16%sx%d", g.isa.name, heads)
	g.function(name, []string{
		fmt.Sprintf("%s sets s[i][p] to q[i]·k[p] for %d rows of q and the 16 rows of each of n panels of k, all of d elements.", name, heads),
		"The distance of rows of s is a chunk. It prefetches what is ahead bytes after k.",
	}, nil, pointers("s", "q", "k"), integers("n", "d", "ahead"))
	sums := newPanelSums(g, heads, g.panelCounts()[0])
	g.overPanels(sums, 2, g.panelBlock)
}

// overPanels runs body for some panels at a time, until n panels are done, and ends the function. Elements of queries
// have 1 << shift bytes. body moves along the first panel, once, and stores the scores at s.
func (g *generator) overPanels(sums *panelSums, shift uint8, body func(s reg.GPVirtual, r panelWalk, sums *panelSums)) {
	s, k, n := g.arg("s"), g.arg("k"), g.arg("n")
	panelBytes, far := g.arg("d"), g.arg("ahead")
	g.SHLQ(operand.U8(5), panelBytes)
	g.ADDQ(k, far)
	for _, panels := range g.panelCounts() {
		loop, less := g.label("panels"), g.label("less")
		g.SUBQ(operand.U8(uint8(panels)), n)
		g.JL(operand.LabelRef(less))
		g.Label(loop)
		part := sums.first(panels)
		part.clear()
		body(s, g.newPanelWalk(k, far, panelBytes, part, shift), part)
		g.ADDQ(panelBytes, far)
		for range panels - 1 {
			g.ADDQ(panelBytes, k)
		}
		g.ADDQ(operand.I32(int32(panels*panelRows*4)), s)
		g.SUBQ(operand.U8(uint8(panels)), n)
		g.JGE(operand.LabelRef(loop))
		g.Label(less)
		g.ADDQ(operand.U8(uint8(panels)), n)
	}
	g.ret()
}

// panelCounts returns how many panels are worked on at once: with 4 heads and 4 panels there are 16 sums. The last is
// 1.
func (g *generator) panelCounts() []int {
	if g.wide() {
		return []int{4, 2, 1}
	}
	return []int{1}
}

// panelWalk is the rows of queries, the panels of keys and what is asked for ahead of those, along
// which scores of some panels go, element by element.
type panelWalk struct {
	q, at, asked rows
	d            reg.GPVirtual
}

// newPanelWalk begins at k. From far on it prefetches each second panel, and the others with the next panels: for heads
// of at least 64 elements, these places are a page from each other (see asked).
func (g *generator) newPanelWalk(k, far, panelBytes reg.GPVirtual, sums *panelSums, shift uint8) panelWalk {
	heads, panels := len(sums.v), len(sums.v[0])
	d, qRow, from, second := g.arg("d"), g.arg("d"), g.GP64(), panelBytes
	g.SHLQ(operand.U8(shift), qRow)
	g.MOVQ(far, from)
	if panels > 1 {
		second = g.GP64()
		g.LEAQ(operand.Mem{Base: panelBytes, Index: panelBytes, Scale: 1}, second)
	}
	return panelWalk{g.newRows(g.arg("q"), qRow, heads), g.newRows(k, panelBytes, panels), g.newRows(from, second, panels), d}
}

// panelBlock computes the scores of some panels, in partial sums whose totals are the scores.
func (g *generator) panelBlock(s reg.GPVirtual, r panelWalk, sums *panelSums) {
	zero := g.vec()
	g.zero(zero)
	sums.each(s, func(_ reg.VecVirtual, score operand.Mem) { g.VMOVUPS(zero, score) })
	part, whole := g.label("part"), g.label("whole")
	n := g.GP64()
	g.Label(part)
	g.MOVQ(operand.U32(partLen), n)
	g.SUBQ(n, r.d)
	g.JGE(operand.LabelRef(whole))
	g.ADDQ(r.d, n)
	g.XORQ(r.d, r.d)
	g.Label(whole)
	g.panelPart(r, n, sums)
	sums.fold(s)
	g.TESTQ(r.d, r.d)
	g.JNZ(operand.LabelRef(part))
}

// panelPart sets the sums to the products of n elements.
func (g *generator) panelPart(r panelWalk, n reg.GPVirtual, sums *panelSums) {
	loop, last, done, few := g.label("elements"), g.label("last"), g.label("done"), g.label("few")
	pair := func(first product) {
		for p := range sums.v[0] {
			g.PREFETCHT0(r.asked.at(p, 0)) // a line is two elements
		}
		sums.add(r.q, r.at, 0, first)
		sums.add(r.q, r.at, 1, g.multiplyAdd)
		for _, x := range []rows{r.at, r.asked} {
			g.advance(x, 2*halfColumnBytes)
		}
		g.advance(r.q, 2*4)
		g.SUBQ(operand.U8(2), n)
	}
	g.SUBQ(operand.U8(2), n)
	g.JL(operand.LabelRef(few))
	pair(g.multiply)
	g.JL(operand.LabelRef(last))
	g.Label(loop)
	pair(g.multiplyAdd)
	g.JGE(operand.LabelRef(loop))
	g.Label(last)
	g.ADDQ(operand.U8(2), n)
	g.JZ(operand.LabelRef(done))
	sums.add(r.q, r.at, 0, g.multiplyAdd)
	g.advance(r.at, halfColumnBytes)
	g.JMP(operand.LabelRef(done))
	g.Label(few)
	sums.clear()
	g.JMP(operand.LabelRef(last))
	g.Label(done)
}

// halfColumnBytes is one element of each row of a panel of f16.
const halfColumnBytes = panelRows * 2

// panelSums holds scores: [head][panel][vector of the panel].
type panelSums struct {
	*generator
	v [][][]reg.VecVirtual
}

func newPanelSums(g *generator, heads, panels int) *panelSums {
	s := &panelSums{generator: g, v: make([][][]reg.VecVirtual, heads)}
	for h := range s.v {
		for range panels {
			s.v[h] = append(s.v[h], g.vecs(panelRows/g.isa.lanes))
		}
	}
	return s
}

// first returns the sums of the first panels. All blocks use the same registers, as clearing reads them.
func (s *panelSums) first(panels int) *panelSums {
	part := &panelSums{generator: s.generator}
	for _, v := range s.v {
		part.v = append(part.v, v[:panels])
	}
	return part
}

func (s *panelSums) clear() {
	for _, panels := range s.v {
		for _, v := range panels {
			s.zero(v...)
		}
	}
}

// add adds the products of the element that is e after the current one, as join does.
func (s *panelSums) add(q, k rows, e int, join product) {
	keys := make([][]reg.VecVirtual, len(s.v[0]))
	for p := range keys {
		keys[p] = s.vecs(len(s.v[0][p]))
		for i, x := range keys[p] {
			s.VCVTPH2PS(k.at(p, e*halfColumnBytes+i*s.isa.lanes*2), x)
		}
	}
	for h, sums := range s.v {
		one := s.vec()
		s.VBROADCASTSS(q.at(h, 4*e), one)
		for p := range sums {
			for i, sum := range sums[p] {
				join(one, keys[p][i], sum)
			}
		}
	}
}

// store writes the scores.
func (s *panelSums) store(to reg.GPVirtual) {
	s.each(to, func(v reg.VecVirtual, score operand.Mem) { s.VMOVUPS(v, score) })
}

// fold adds to the scores.
func (s *panelSums) fold(to reg.GPVirtual) {
	s.each(to, func(v reg.VecVirtual, score operand.Mem) {
		s.VADDPS(score, v, v)
		s.VMOVUPS(v, score)
	})
}

// each calls f for each sum, with where its scores are.
func (s *panelSums) each(to reg.GPVirtual, f func(v reg.VecVirtual, score operand.Mem)) {
	for h := range s.v {
		for p := range s.v[h] {
			for i, v := range s.v[h][p] {
				f(v, operand.Mem{Base: to, Disp: 4 * (h*chunkLen + p*panelRows + i*s.isa.lanes)})
			}
		}
	}
}
