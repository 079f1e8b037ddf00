package cpu

import (
	"slices"
	"sync"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// format is a weight format of a matrix product.
type format uint8

const (
	formatF32 format = iota
	formatF16
	formatBF16
	formatQ8
	formatQ4

	// Formats with a scheme, see expand.go.
	formatQ41
	formatQ50
	formatQ51
	formatQ2K
	formatQ3K
	formatQ4K
	formatQ5K
	formatQ6K
	formatIQ4NL
	formatIQ4XS
	formatMXFP4
	formatIQ2X
	formatIQ2X16
	formatIQ3X
	formatIQ3SX
	numFormats
)

// blockShape is how x and a panel of w advance along k, in steps of blockLen.
type blockShape struct{ blockLen, xBytes, panelBytes int }

// formatShape is keyed by format.
var formatShape = [numFormats]blockShape{
	formatF32:  {1, f32Bytes, panelRows * f32Bytes},
	formatF16:  {1, f32Bytes, panelRows * halfBytes},
	formatBF16: {1, halfBytes, panelRows * halfBytes},
	formatQ8:   {blockLen, q8aBytes, panelRows * q8Bytes},
	formatQ4:   {blockLen, q8aBytes, panelRows * q4Bytes},

	formatQ41:    shapeOf(dtype.Q4_1),
	formatQ50:    shapeOf(dtype.Q5_0),
	formatQ51:    shapeOf(dtype.Q5_1),
	formatQ2K:    shapeOf(dtype.Q2_K),
	formatQ3K:    shapeOf(dtype.Q3_K),
	formatQ4K:    shapeOf(dtype.Q4_K),
	formatQ5K:    shapeOf(dtype.Q5_K),
	formatQ6K:    shapeOf(dtype.Q6_K),
	formatIQ4NL:  shapeOf(dtype.IQ4_NL),
	formatIQ4XS:  shapeOf(dtype.IQ4_XS),
	formatMXFP4:  shapeOf(dtype.MXFP4),
	formatIQ2X:   shapeOf(dtype.IQ2X),
	formatIQ2X16: shapeOf(dtype.IQ2X16),
	formatIQ3X:   shapeOf(dtype.IQ3X),
	formatIQ3SX:  shapeOf(dtype.IQ3SX),
}

// tileFunc computes a tile of y: the products of its number of rows of x and panels of w. The
// distance of rows of x is xStride bytes, that of rows of dst (and res) dstStride bytes. Each panel
// has blocks blocks along k and panelBytes bytes. The last panel of the tile has cols
// columns that exist, 1 to 16; only they are written.
//
// While it computes, a tile of several rows prefetches from the address next on a share of the
// bytes of its panels (see nextPanel). A tile of swiglu prefetches as much at next+wUp-w. Any
// address is valid; at 0 tiles of expanded panels and of signed rows prefetch nothing, and at an odd address those of
// expanded panels half of their share. Tiles of few rows (mostFew) prefetch the panels that follow their own instead,
// those of 256 bits unless next is 0.
//
// With one row of x, panels may be at any equal distances: panelBytes in w, and dstStride for their
// columns in dst and res. There is no distance of rows then: xStride is how many bytes ahead of use
// quantized formats prefetch. Tiles of signed rows know no such distances: their panels follow each other.
//
// In a tileSet of matmul, aux is res or nil; in one of swiglu it is the panel of wUp, and
// the tile has one panel, or, for one row, several of each weight.
type tileFunc func(dst, x, w, aux unsafe.Pointer, xStride, dstStride, blocks, panelBytes, cols int, next uintptr)

// tileSet is the tiles of an implementation for one format. All of them compute an element of y as the
// same sum in the same order, so that work may be divided anywhere.
type tileSet []tileGroup

// tileGroup is tiles of one number of panels, for at most maxRows rows of x where that is
// not 0. Groups are in order of preference. The last one has one panel and any rows.
type tileGroup struct {
	panels  int
	maxRows int
	ahead   bool      // tiles prefetch the panels that follow their own: one tile of each panel has to
	tiles   []rowTile // most rows first, the last with one row
}

// mostFew is how many rows of x have tiles of few rows, or two of them: no other tile reads their panels, so that they
// read each panel from memory while they compute, and unpack weights once for all rows.
const mostFew = 16

// deepLen is what k is a multiple of where tiles take many of k at once.
const deepLen = 32

// products returns the tiles for a format and length of rows, never looking at how many rows there
// are: an element is the same sum wherever it is computed.
func (im *implementation) products(f format, k int) tileSet {
	if s := im.deepMatMul[f]; s != nil && k%deepLen == 0 {
		return s
	}
	return im.matmul[f]
}

// gated is products for two weights.
func (im *implementation) gated(f format, k int) tileSet {
	if s := im.deepSwiGLU[f]; s != nil && k%deepLen == 0 {
		return s
	}
	return im.swiglu[f]
}

type rowTile struct {
	rows int
	run  tileFunc
}

// places returns the set without groups that read in more than most places, for one row alone.
func (s tileSet) places(most int) tileSet {
	return slices.DeleteFunc(slices.Clone(s), func(g tileGroup) bool { return g.maxRows == 1 && g.panels > most })
}

// pick returns the first group for rows rows whose panels do not exceed those left.
func (s tileSet) pick(rows, panels int) *tileGroup {
	for i := range s {
		if g := &s[i]; g.panels <= panels && (g.maxRows == 0 || rows <= g.maxRows) {
			return g
		}
	}
	panic("cpu: internal error: no tile of one panel")
}

// pick returns the tile with the most rows that are not more than those left. Two equal tiles are preferred to one with
// two rows more and one with two rows: a tile of two rows takes nearly as long as one of four, as both read and unpack
// the same weights.
func (g *tileGroup) pick(rows int) *rowTile {
	for i := range g.tiles {
		t := &g.tiles[i]
		halves := rows == t.rows+2 && i+1 < len(g.tiles) && rows == 2*g.tiles[i+1].rows
		if t.rows <= rows && !halves {
			return t
		}
	}
	panic("cpu: internal error: no tile of one row")
}

// ask returns the address that a tile of a panel prefetches from, or 0: see tileFunc.
func (g *tileGroup) ask(next *nextPanel, first bool, otherwise uintptr) uintptr {
	if g.ahead && !first {
		return 0
	}
	return next.ask(otherwise)
}

// adjacent runs the tile of format f on panels that follow each other.
func (t *rowTile) adjacent(f format, dst, x, w, aux unsafe.Pointer, xStride, dstStride, blocks, panelBytes, cols int, next uintptr) {
	if t.rows == 1 {
		xStride, dstStride = active.ahead[f], panelRows*f32Bytes
	}
	t.run(dst, x, w, aux, xStride, dstStride, blocks, panelBytes, cols, next)
}

// matmul runs tiles over rows [r0, r1) and columns [c0, c1). Weights are the outer loop:
// a group of panels is read from memory once and used for all rows. When the next group has been
// prefetched, tiles prefetch the x of the next tile, which may have left the second-level cache.
func matmul(f format, dst, x, w, res unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	if r0 >= r1 || c0 >= c1 {
		return
	}
	n, k := shape.Out, shape.In
	if r1-r0 == 1 {
		matvec(active.products(f, k), f, dst, x, w, nil, res, shape, r0, c0, c1, nil)
		return
	}
	if f.byRow(r1 - r0) {
		set := active.products(f, k)
		for c := c0; c < c1; c += rowColumns {
			for r := r0; r < r1; r++ {
				matvec(set, f, dst, x, w, nil, res, shape, r, c, min(c+rowColumns, c1), nil)
			}
		}
		return
	}
	if tiles := active.widened[f]; tiles != nil {
		p := widenedProduct{tiles: tiles, dst: dst, x: x, w: w, res: res, n: n, k: k, r1: r1, c1: c1}
		p.run(r0, c0)
		return
	}
	if s := active.signed[f]; s != nil {
		p := signedProduct{signedTiles: s, f: f, dst: dst, x: x, w: w, res: res, n: n, k: k}
		p.run(r0, r1, c0, c1)
		return
	}
	if s := active.squaresFor(f, k, r1-r0); s != nil {
		p := squareProduct{squareKernel: s, f: f, dst: dst, x: x, w: w, res: res, n: n, k: k}
		p.run(r0, r1, c0, c1)
		return
	}
	if e := active.expanded[f]; e != nil && r1-r0 >= e.least[0] {
		p := expandedProduct{expansion: e, f: f, dst: dst, x: x, w: w, res: res, n: n, k: k}
		p.run(r0, r1, c0, c1)
		return
	}
	set, sh := active.products(f, k), &formatShape[f]
	blocks := k / sh.blockLen
	xStride, dstStride, panelBytes := blocks*sh.xBytes, n*f32Bytes, blocks*sh.panelBytes
	for c := c0; c < c1; {
		g := set.pick(r1-r0, (c1-c+panelRows-1)/panelRows)
		cols := min(c1-c-(g.panels-1)*panelRows, panelRows)
		panel := unsafe.Add(w, c/panelRows*panelBytes)
		next := f.next(panel, g.panels*panelBytes, r1-r0, n-(c+g.panels*panelRows))
		for r := r0; r < r1; {
			t := g.pick(r1 - r)
			at := r*dstStride + c*f32Bytes
			aux := res
			if aux != nil {
				aux = unsafe.Add(res, at)
			}
			t.adjacent(f, unsafe.Add(dst, at), unsafe.Add(x, r*xStride), panel, aux, xStride, dstStride, blocks, panelBytes, cols,
				g.ask(&next, r == r0, uintptr(x)+uintptr((r+t.rows)*xStride)))
			r += t.rows
		}
		c += g.panels * panelRows
	}
}

// rowColumns is the columns that few rows of floats are multiplied with in turn: the four panels that a tile of one row reads at
// once. They stay in the second-level cache for the other rows.
const rowColumns = 4 * panelRows

// byRow reports whether so many rows are multiplied one after the other. Tiles of several rows of f32 or f16 do not prefetch their
// own panel, and wait for memory where no other tile prefetches it for them; those of one row do.
func (f format) byRow(rows int) bool { return rows < askRows && (f == formatF32 || f == formatF16) }

// matvec is matmul, or with up matmulSwiGLU, for row r alone. Memory limits its speed, and memory is
// fastest where weights are read at several distant places at once. So the columns are cut into as many
// equal parts as the tile has panels, and each tile takes one panel of each part. A tile of four
// panels reads 12 panels in three steps:
//
//	0 3 6 9    1 4 7 10    2 5 8 11
func matvec(set tileSet, f format, dst, x, w, up, res unsafe.Pointer, shape MatMulShape, r, c0, c1 int, round *unrounded) {
	sh := &formatShape[f]
	blocks := shape.In / sh.blockLen
	panelBytes := blocks * sh.panelBytes
	x = unsafe.Add(x, r*blocks*sh.xBytes)
	for c := c0; c < c1; {
		left := (c1 - c + panelRows - 1) / panelRows
		g := set.pick(1, left)
		run, part := g.pick(1).run, left/g.panels
		for range part {
			result, panel := r*shape.Out+c, c/panelRows*panelBytes
			cols := min(c1-c-(g.panels-1)*part*panelRows, panelRows)
			to, stride, aux := unsafe.Pointer(round), panelRows, res
			if round == nil { // otherwise dst is of bf16, and half as long
				to, stride = floatAt(dst, result), part*panelRows
			}
			switch {
			case up != nil:
				aux = unsafe.Add(up, panel)
			case res != nil:
				aux = floatAt(res, result)
			}
			run(to, x, unsafe.Add(w, panel), aux, active.ahead[f], stride*f32Bytes, blocks, part*panelBytes, cols, 0)
			if round != nil {
				round.writePanels(halfAt(dst, result), part*panelRows, g.panels, cols)
			}
			c += panelRows
		}
		c += (g.panels - 1) * part * panelRows
	}
}

// matmulSwiGLU is matmul with two weights. With round, dst is bf16: tiles write to round, and the
// result is rounded while it is in the first-level cache. A matrix of f32 in between would take a line
// of the second-level cache for each row of a prompt, and all of these lines are in a few sets.
func matmulSwiGLU(f format, dst, x, gate, up unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int, round *unrounded) {
	if r0 >= r1 || c0 >= c1 {
		return
	}
	n, k := shape.Out, shape.In
	set := active.gated(f, k)
	inTurn := gatedProduct{f: f, dst: dst, x: x, gate: gate, up: up, n: n, k: k}
	switch {
	case r1-r0 > 1:
	case len(set) == 0:
		inTurn.row(r0, c0, c1)
		return
	default:
		matvec(set, f, dst, x, gate, up, nil, shape, r0, c0, c1, round)
		return
	}
	if f.byRow(r1 - r0) {
		for c := c0; c < c1; c += rowColumns {
			for r := r0; r < r1; r++ {
				matvec(set, f, dst, x, gate, up, nil, shape, r, c, min(c+rowColumns, c1), round)
			}
		}
		return
	}
	if tiles := active.widened[f]; tiles != nil {
		p := widenedProduct{tiles: tiles, dst: dst, x: x, w: gate, up: up, n: n, k: k, r1: r1, c1: c1, roundsDst: round != nil}
		p.run(r0, c0)
		return
	}
	if s := active.signed[f]; s != nil {
		p := signedProduct{signedTiles: s, f: f, dst: dst, x: x, w: gate, up: up, n: n, k: k}
		p.run(r0, r1, c0, c1)
		return
	}
	if s := active.squaresFor(f, k, r1-r0); s != nil {
		p := squareProduct{squareKernel: s, f: f, dst: dst, x: x, w: gate, up: up, n: n, k: k}
		p.run(r0, r1, c0, c1)
		return
	}
	tiles, e := active.tilesInTurn(f, k, r1-r0), active.expanded[f]
	if e != nil && r1-r0 >= e.least[1] && (tiles == nil || len(set) == 0) {
		p := expandedProduct{expansion: e, f: f, dst: dst, x: x, w: gate, up: up, n: n, k: k}
		p.run(r0, r1, c0, c1)
		return
	}
	if tiles != nil && round == nil {
		inTurn.run(tiles, r0, r1, c0, c1)
		return
	}
	g, sh := set.pick(r1-r0, 1), &formatShape[f]
	blocks := k / sh.blockLen
	xStride, dstStride, panelBytes := blocks*sh.xBytes, n*f32Bytes, blocks*sh.panelBytes
	if round != nil {
		dstStride = panelRows * f32Bytes
	}
	for c := c0; c < c1; c += panelRows {
		cols := min(c1-c, panelRows)
		at := c / panelRows * panelBytes
		next := f.next(unsafe.Add(gate, at), panelBytes, r1-r0, n-(c+panelRows))
		for r := r0; r < r1; {
			t := g.pick(r1 - r)
			to := unsafe.Pointer(round)
			if round == nil {
				to = floatAt(dst, r*n+c)
			}
			t.adjacent(f, to, unsafe.Add(x, r*xStride), unsafe.Add(gate, at), unsafe.Add(up, at), xStride, dstStride, blocks, panelBytes, cols,
				g.ask(&next, r == r0, uintptr(gate)+uintptr(at)))
			if round != nil {
				round.write(halfAt(dst, r*n+c), n, t.rows, cols)
			}
			r += t.rows
		}
	}
}

// mostTileRows is how many rows a tile of swiglu has at most.
const mostTileRows = 32

// unrounded is the result of a tile of one panel that is to be bf16.
type unrounded [mostTileRows * panelRows]float32

// spareUnrounded holds them between calls: functions of tables take no pointer to the stack.
var spareUnrounded = sync.Pool{New: func() any { return new(unrounded) }}

// writePanels rounds the results of a tile of one row and of that many panels, the last with cols columns, to
// dst. The distance of panels in dst is stride elements.
func (u *unrounded) writePanels(dst unsafe.Pointer, stride, panels, cols int) {
	for p := range panels {
		n := panelRows
		if p == panels-1 {
			n = cols
		}
		active.f32ToBF16(halfAt(dst, p*stride), unsafe.Pointer(&u[p*panelRows]), n)
	}
}

// write rounds rows rows of cols columns to dst, where rows have n elements.
func (u *unrounded) write(dst unsafe.Pointer, n, rows, cols int) {
	if cols == panelRows {
		active.panelToBF16(dst, unsafe.Pointer(u), rows, n*halfBytes)
		return
	}
	for r := range rows {
		active.f32ToBF16(halfAt(dst, r*n), unsafe.Pointer(&u[r*panelRows]), cols)
	}
}
