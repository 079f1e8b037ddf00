package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// format is a weight format, named as in the Go code.
type format string

const (
	formatF32  format = "F32"
	formatF16  format = "F16"
	formatBF16 format = "BF16"
	formatQ8   format = "Q8"
	formatQ4   format = "Q4"
)

const (
	panelRows = 16
	q8aBytes  = 48 // q8a: 32 bytes, then the scale, then where sums of products start
	q8aScale  = 32
	q8aStart4 = 36 // with weights that have an offset of 8
	q8aStart8 = 40 // with one of 128
	q8aZero   = 44
)

// tile is a function that computes rows rows of x times panels panels of w. With swiglu half of
// them are of wGate and half of wUp, in turn, and it writes half as many.
type tile struct {
	format       format
	isa          isa
	level        string // suffix of the name
	rows, panels int
	swiglu       bool
	widened      bool // see widenedTile
}

// name is such as tileF32AVX512r8p2, swigluQ4VNNIr8 or, with two panels each, swigluQ4VNNIr1p2, or
// widenedBF16AVX2r6p1.
func (t *tile) name() string {
	if t.swiglu && t.results() > 1 {
		return fmt.Sprintf("swiglu%s%sr%dp%d", t.format, t.level, t.rows, t.results())
	}
	if t.swiglu {
		return fmt.Sprintf("swiglu%s%sr%d", t.format, t.level, t.rows)
	}
	if t.widened {
		return fmt.Sprintf("widened%s%sr%dp%d", t.format, t.level, t.rows, t.panels)
	}
	return fmt.Sprintf("tile%s%sr%dp%d", t.format, t.level, t.rows, t.panels)
}

// begin starts the function.
func (g *generator) begin(t *tile) {
	g.isa = t.isa
	aux, doc := "res", fmt.Sprintf("computes %d rows of x times %d panels of w, plus res if not nil.", t.rows, t.panels)
	if t.swiglu {
		aux, doc = "up", fmt.Sprintf("computes silu(x·wᵀ) * (x·upᵀ) for %d rows of x and %s each.", t.rows, [...]string{1: "one panel", 2: "two panels"}[t.results()])
	}
	g.function(t.name(), []string{t.name() + " " + doc + " See tileFunc."}, nil,
		pointers("dst", "x", "w", aux), integers("xStride", "dstStride", "blocks", "panelBytes", "cols"), addresses("next"))
}

// panelAddresses returns the addresses of the tile's panels.
func (g *generator) panelAddresses(t *tile) rows {
	w := g.arg("w")
	stride := reg.GPVirtual(nil)
	if t.swiglu {
		stride = g.arg("up")
		g.SUBQ(w, stride)
		pairs := rows{[]reg.GPVirtual{w}, stride, 2}
		for i := 1; i < t.results(); i++ {
			next := g.arg("panelBytes")
			g.ADDQ(pairs.bases[i-1], next)
			pairs.bases = append(pairs.bases, next)
		}
		return pairs
	}
	if t.panels > 1 {
		stride = g.arg("panelBytes")
	}
	return g.newRows(w, stride, t.panels)
}

// xAddresses returns the addresses of the tile's rows of x.
func (g *generator) xAddresses(t *tile) rows {
	x := g.arg("x")
	stride := reg.GPVirtual(nil)
	if t.rows > 1 {
		stride = g.arg("xStride")
	}
	return g.newRows(x, stride, t.rows)
}

// asks is how many tiles ask for as many bytes as one reads of its panels: askTiles of
// package cpu. Tiles whose x is widened read short parts of panels, for which few rows have few
// tiles: widenedAsks of package cpu. Those of q8_0 with VNNI take the least time for a byte, so that with the two or
// three tiles of 9 to 16 rows they would wait for what none has asked for, and signed rows have two tiles for 8: bytesAsks
// of package cpu.
const (
	asks        = 4
	widenedAsks = 2
	bytesAsks   = 2
)

// asks returns how many tiles ask for as many bytes as one reads.
func (t *tile) asks() int {
	switch {
	case t.widened:
		return widenedAsks
	case t.format == formatQ8, t.format == "SignsQ8", t.format == boundedQ8:
		return bytesAsks
	}
	return asks
}

// few reports whether the tile is one of few rows of x, see mostFew of package cpu: no other tile reads its panels.
func (t *tile) few() bool {
	return t.rows > 1 && (t.panels == 1 || t.swiglu && t.rows != 6)
}

// fewAhead is how far before their use tiles of few rows prefetch weights, in bytes: what a core reads in half a
// microsecond. With 4096 they wait for memory half of the time, with 8192 those of q8_0 a fifth (Zen 5).
const fewAhead = 16384

// prefetchFew prefetches for a tile of few rows, in an iteration of a loop that reads bytes bytes of panel p. Panels
// follow each other, as in tile.prefetches.
func (g *generator) prefetchFew(w rows, p, bytes int) {
	for at := 0; at < bytes; at += lineBytes {
		g.PREFETCHT1(w.at(p, fewAhead+at))
	}
}

// newAsk returns the address that the tile asks memory for while it computes; nil for one row,
// which leaves no time for it.
func (g *generator) newAsk(t *tile) reg.GPVirtual {
	if t.rows == 1 {
		return nil
	}
	return g.arg("next")
}

// ask prefetches its part of what is read next, in an iteration of a loop that reads bytes bytes of each
// panel, and advances. Panels of one weight follow each other. The panels of two weights are at a distance of
// stride.
func (g *generator) ask(t *tile, next reg.GPVirtual, w rows, bytes int) {
	if next == nil {
		return
	}
	if !t.swiglu {
		bytes *= t.panels
	}
	bytes /= t.asks()
	for at := 0; at < bytes; at += lineBytes {
		g.PREFETCHT1(operand.Mem{Base: next, Disp: at})
		if t.swiglu {
			g.PREFETCHT1(operand.Mem{Base: next, Index: w.stride, Scale: 1, Disp: at})
		}
	}
	g.ADDQ(operand.I32(int32(bytes)), next)
}

// sums holds a tile's accumulators: [row][panel][vector of the panel].
type sums [][][]reg.VecVirtual

// all returns all accumulators.
func (s sums) all() []reg.VecVirtual {
	var all []reg.VecVirtual
	for _, row := range s {
		for _, panel := range row {
			all = append(all, panel...)
		}
	}
	return all
}

// newSums returns cleared accumulators.
func (g *generator) newSums(t *tile) sums {
	s := make(sums, t.rows)
	for r := range s {
		for range t.panels {
			v := g.vecs(panelRows / t.isa.lanes)
			g.zero(v...)
			s[r] = append(s[r], v)
		}
	}
	return s
}

// finish writes the accumulators and ends the function.
func (g *generator) finish(t *tile, s sums) {
	g.write(t, s, g.arg("dstStride"), 0)
	g.ret()
}

// write writes accumulators that begin at column first of their panels.
func (g *generator) write(t *tile, s sums, stride reg.GPVirtual, first int) {
	if t.swiglu {
		for r, row := range s {
			s[r] = nil
			for p := 0; p < len(row); p += 2 {
				for v := range row[p] {
					g.silu(row[p][v])
					g.VMULPS(row[p+1][v], row[p][v], row[p][v])
				}
				s[r] = append(s[r], row[p])
			}
		}
	}
	dst := g.newRows(g.arg("dst"), stride, t.lines())
	last := g.lastPanel(first, len(s[0][0]))
	if !t.swiglu {
		g.addResidual(t, s, stride, first, last)
	}
	g.each(t, s, first, last, func(v reg.VecVirtual, r, disp int, k *mask) { g.store(v, k, dst.at(r, disp)) })
}

// lastPanel returns the masks of n vectors of the last panel, from column first on.
func (g *generator) lastPanel(first, n int) []mask {
	cols := g.arg("cols")
	m := make([]mask, n)
	for i := range m {
		m[i] = g.firstLanesFrom(cols, first+i*g.isa.lanes)
	}
	return m
}

// lines is how many parts of the result are at distances of dstStride bytes: rows, or for one row
// the columns of each panel.
func (t *tile) lines() int {
	if t.rows == 1 {
		return t.results()
	}
	return t.rows
}

// results is how many panels the result has.
func (t *tile) results() int {
	if t.swiglu {
		return t.panels / 2
	}
	return t.panels
}

// each calls f for each vector that is written, with its line, its distance in bytes from
// the line's start and its mask.
func (g *generator) each(t *tile, s sums, first int, last []mask, f func(v reg.VecVirtual, line, disp int, k *mask)) {
	for r := range s {
		for p := range t.results() {
			line, column := r, p*panelRows
			if t.rows == 1 {
				line, column = p, 0
			}
			for i, v := range s[r][p] {
				k := &last[i]
				if p < t.results()-1 {
					k = nil
				}
				f(v, line, (column+first+i*t.isa.lanes)*4, k)
			}
		}
	}
}

// addResidual adds res to the sums, if there is one.
func (g *generator) addResidual(t *tile, s sums, stride reg.GPVirtual, first int, last []mask) {
	res, none := g.arg("res"), g.label("noResidual")
	g.TESTQ(res, res)
	g.JZ(operand.LabelRef(none))
	at := g.newRows(res, stride, t.lines())
	g.each(t, s, first, last, func(v reg.VecVirtual, r, disp int, k *mask) {
		old := g.vec()
		g.load(at.at(r, disp), k, old)
		g.VADDPS(old, v, v)
	})
	g.Label(none)
}
