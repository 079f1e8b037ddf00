package cpu

import (
	"slices"
	"sync"
	"unsafe"
)

// format is a weight format of a matrix product.
type format uint8

const (
	formatF32 format = iota
	formatF16
	formatBF16
	formatQ8
	formatQ4
	numFormats
)

// shape of a format: how x and a panel of w advance along k.
var formatShape = [numFormats]struct{ blockLen, xBytes, panelBytes int }{
	formatF32:  {1, f32Bytes, panelRows * f32Bytes},
	formatF16:  {1, f32Bytes, panelRows * halfBytes},
	formatBF16: {1, halfBytes, panelRows * halfBytes},
	formatQ8:   {blockLen, q8aBytes, panelRows * q8Bytes},
	formatQ4:   {blockLen, q8aBytes, panelRows * q4Bytes},
}

// tileFunc computes a tile of y, of as many rows of x and panels of w as it is made for.
// Rows of x are xStride bytes apart, rows of dst (and res) dstStride bytes. Each panel
// has blocks blocks along k and panelBytes bytes. The last panel of the tile has cols
// columns that exist, 1 to 16; only they are written.
//
// While it computes, a tile of several rows asks memory for what lies at next, a quarter of the
// bytes that it reads of its panels (see nextPanel); one of swiglu for as much at next+wUp-w too. Any
// address will do.
//
// Where there is one row of x, panels may lie anywhere at equal distances: panelBytes apart in
// w, and their columns dstStride bytes apart in dst and res.
//
// In a tileSet of matmul, aux is res or nil; in one of swiglu it is the panel of wUp, and
// the tile has one panel, or, for one row, several of each weight.
type tileFunc func(dst, x, w, aux unsafe.Pointer, xStride, dstStride, blocks, panelBytes, cols int, next uintptr)

// tileSet is what an implementation has for one format. Whatever the tile, an element of
// y is the same sum in the same order: only so may work be divided anywhere.
type tileSet []tileGroup

// tileGroup is tiles of one number of panels, for at most maxRows rows of x where that is
// not 0. Groups stand in order of preference, the last has one panel and any rows.
type tileGroup struct {
	panels  int
	maxRows int
	tiles   []rowTile // most rows first, the last with one row
}

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

// pick returns the tile with the most rows that are not more than those left.
func (g *tileGroup) pick(rows int) *rowTile {
	for i := range g.tiles {
		if t := &g.tiles[i]; t.rows <= rows {
			return t
		}
	}
	panic("cpu: internal error: no tile of one row")
}

// adjacent runs the tile on panels that follow each other.
func (t *rowTile) adjacent(dst, x, w, aux unsafe.Pointer, xStride, dstStride, blocks, panelBytes, cols int, next uintptr) {
	if t.rows == 1 {
		dstStride = panelRows * f32Bytes
	}
	t.run(dst, x, w, aux, xStride, dstStride, blocks, panelBytes, cols, next)
}

// matmul runs tiles over rows [r0, r1) and columns [c0, c1). Weights are the outer loop:
// a group of panels is read from memory once and used for all rows. When the weights behind it have
// been asked for, tiles ask for x of the next one, which may have left the second-level cache.
func matmul(f format, dst, x, w, res unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	if r0 >= r1 || c0 >= c1 {
		return
	}
	n, k := shape.Out, shape.In
	if r1-r0 == 1 {
		matvec(active.products(f, k), f, dst, x, w, nil, res, shape, r0, c0, c1, nil)
		return
	}
	if tiles := active.widened[f]; tiles != nil {
		p := widenedProduct{tiles: tiles, dst: dst, x: x, w: w, res: res, n: n, k: k, r1: r1, c1: c1}
		p.run(r0, c0)
		return
	}
	set, sh := active.products(f, k), &formatShape[f]
	blocks := k / sh.blockLen
	xStride, dstStride, panelBytes := blocks*sh.xBytes, n*f32Bytes, blocks*sh.panelBytes
	for c := c0; c < c1; {
		g := set.pick(r1-r0, (c1-c+panelRows-1)/panelRows)
		cols := min(c1-c-(g.panels-1)*panelRows, panelRows)
		panel := unsafe.Add(w, c/panelRows*panelBytes)
		next := newNextPanel(panel, g.panels*panelBytes, r1-r0, c+g.panels*panelRows < n)
		for r := r0; r < r1; {
			t := g.pick(r1 - r)
			at := r*dstStride + c*f32Bytes
			aux := res
			if aux != nil {
				aux = unsafe.Add(res, at)
			}
			t.adjacent(unsafe.Add(dst, at), unsafe.Add(x, r*xStride), panel, aux, xStride, dstStride, blocks, panelBytes, cols,
				next.ask(uintptr(x)+uintptr((r+t.rows)*xStride)))
			r += t.rows
		}
		c += g.panels * panelRows
	}
}

// matvec is matmul, or with up matmulSwiGLU, for row r alone. It runs at the speed of memory, which is
// largest where weights are read in several places at once that lie far apart: the columns are cut into as
// many equal parts as the tile has panels, and each tile takes one panel of each part. Panels
// side by side are slower by up to a third, and a single place by up to a tenth (Zen 5) or a quarter
// (Sapphire Rapids, where two are slower than four by an eighth).
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
			to, apart, aux := unsafe.Pointer(round), panelRows, res
			if round == nil { // else dst is of bf16, and half as long
				to, apart = floatAt(dst, result), part*panelRows
			}
			switch {
			case up != nil:
				aux = unsafe.Add(up, panel)
			case res != nil:
				aux = floatAt(res, result)
			}
			run(to, x, unsafe.Add(w, panel), aux, 0, apart*f32Bytes, blocks, part*panelBytes, cols, 0)
			if round != nil {
				round.writePanels(halfAt(dst, result), part*panelRows, g.panels, cols)
			}
			c += panelRows
		}
		c += (g.panels - 1) * part * panelRows
	}
}

// matmulSwiGLU is matmul with two weights. With round, dst is bf16: tiles write to round, and
// what they write is rounded while it is in the first-level cache. In prompts, a column of f32
// would take from the second-level cache a line in each row, all of them in a few of its sets.
func matmulSwiGLU(f format, dst, x, gate, up unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int, round *unrounded) {
	if r0 >= r1 {
		return
	}
	n, k := shape.Out, shape.In
	if r1-r0 == 1 {
		matvec(active.gated(f, k), f, dst, x, gate, up, nil, shape, r0, c0, c1, round)
		return
	}
	if tiles := active.widened[f]; tiles != nil {
		p := widenedProduct{tiles: tiles, dst: dst, x: x, w: gate, up: up, n: n, k: k, r1: r1, c1: c1, roundsDst: round != nil}
		p.run(r0, c0)
		return
	}
	g, sh := active.gated(f, k).pick(r1-r0, 1), &formatShape[f]
	blocks := k / sh.blockLen
	xStride, dstStride, panelBytes := blocks*sh.xBytes, n*f32Bytes, blocks*sh.panelBytes
	if round != nil {
		dstStride = panelRows * f32Bytes
	}
	for c := c0; c < c1; c += panelRows {
		cols := min(c1-c, panelRows)
		at := c / panelRows * panelBytes
		next := newNextPanel(unsafe.Add(gate, at), panelBytes, r1-r0, c+panelRows < n)
		for r := r0; r < r1; {
			t := g.pick(r1 - r)
			to := unsafe.Pointer(round)
			if round == nil {
				to = floatAt(dst, r*n+c)
			}
			t.run(to, unsafe.Add(x, r*xStride),
				unsafe.Add(gate, at), unsafe.Add(up, at), xStride, dstStride, blocks, panelBytes, cols, next.ask(uintptr(gate)+uintptr(at)))
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

// writePanels rounds what a tile of one row has of panels panels, the last with cols columns, to dst, where
// they begin apart elements apart.
func (u *unrounded) writePanels(dst unsafe.Pointer, apart, panels, cols int) {
	for p := range panels {
		n := panelRows
		if p == panels-1 {
			n = cols
		}
		active.f32ToBF16(halfAt(dst, p*apart), unsafe.Pointer(&u[p*panelRows]), n)
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
