package cpu

import (
	"sync"
	"unsafe"
)

// A tile with two weights holds twice as many sums, and so has fewer rows of x where registers or the frame hold no
// more: 4 instead of 8 for q4_0 with AVX2. Eight rows then unpack all weights twice. They take a tile with one weight
// instead, for a panel of each weight in turn:
//
//	gate  8 rows of x by panel c of gate
//	up    8 rows of x by panel c of up
//	dst   silu(gate) * up, while both are in the first-level cache
//
// Formats with superblocks have no tiles with two weights. All their products with two weights are computed so. Expanded
// panels of formats with a scheme have none with AVX2.

// tilesInTurn returns the tiles of one weight with which products with two weights are computed for rows rows of x; nil
// if there are tiles of two weights for as many rows. It looks at eight rows only: more use a panel several times,
// whatever the tile, and four rows of f32 and f16 with AVX2 have 0.8 of the speed this way.
func (im *implementation) tilesInTurn(f format, k, rows int) *tileGroup {
	group, two := im.products(f, k).pick(rows, 1), im.gated(f, k)
	switch {
	case len(two) == 0:
		return group
	case rows != mostFew/2 || group.pick(rows).rows < rows || two.pick(rows, 1).pick(rows).rows == rows:
		return nil
	}
	return group
}

// gatedProduct is matmulSwiGLU with tiles of one weight.
type gatedProduct struct {
	f                format
	dst, x, gate, up unsafe.Pointer
	n, k             int
}

// gatedLen is how many results of a weight a tile gives at most.
const gatedLen = 12 * panelRows

// gatedResults is the results of a tile for each weight.
type gatedResults struct{ gate, up [gatedLen]float32 }

// spareGated holds them between calls, see spareUnrounded.
var spareGated = sync.Pool{New: func() any { return new(gatedResults) }}

// run computes rows [r0, r1) and columns [c0, c1).
func (p *gatedProduct) run(tiles *tileGroup, r0, r1, c0, c1 int) {
	sh := &formatShape[p.f]
	blocks := p.k / sh.blockLen
	xStride, panelBytes := blocks*sh.xBytes, blocks*sh.panelBytes
	t := spareGated.Get().(*gatedResults)
	for c := c0; c < c1; c += panelRows {
		cols, at := min(c1-c, panelRows), c/panelRows*panelBytes
		for r := r0; r < r1; {
			x, one := unsafe.Add(p.x, r*xStride), tiles.pick(r1-r)
			for _, w := range []struct{ dst, panels unsafe.Pointer }{{unsafe.Pointer(&t.gate), p.gate}, {unsafe.Pointer(&t.up), p.up}} {
				one.adjacent(p.f, w.dst, x, unsafe.Add(w.panels, at), nil, xStride, panelRows*f32Bytes, blocks, panelBytes, cols, uintptr(x))
			}
			joinGated(floatAt(p.dst, r*p.n+c), unsafe.Pointer(&t.gate), unsafe.Pointer(&t.up), p.n, panelRows, one.rows, cols)
			r += one.rows
		}
	}
	spareGated.Put(t)
}

// row computes columns [c0, c1) of row r. Results are joined when there is no room for more: an exponential waits for the
// end of all sums, and a core looks ahead no further than a fraction of a panel.
func (p *gatedProduct) row(r, c0, c1 int) {
	sh := &formatShape[p.f]
	x := unsafe.Add(p.x, r*(p.k/sh.blockLen)*sh.xBytes)
	t := spareGated.Get().(*gatedResults)
	for c := c0; c < c1; c += gatedLen {
		cols := min(c1-c, gatedLen)
		p.part(t, x, c, cols)
		joinGated(floatAt(p.dst, r*p.n+c), unsafe.Pointer(&t.gate), unsafe.Pointer(&t.up), p.n, gatedLen, 1, cols)
	}
	spareGated.Put(t)
}

// part computes cols columns of both weights, at most gatedLen, from column c on. A tile of two panels takes one of each
// weight, so that both are read at once. Tiles of more take panels of one weight at distant places, as in matvec.
func (p *gatedProduct) part(t *gatedResults, x unsafe.Pointer, c, cols int) {
	blocks := p.k / formatShape[p.f].blockLen
	panelBytes, set, done := blocks*formatShape[p.f].panelBytes, active.products(p.f, p.k), 0
	if g := set.pick(1, max(cols/panelRows, 1)); g.panels > 2 {
		part := cols / panelRows / g.panels // panels at each place
		for i := range part {
			at, run := (c/panelRows+i)*panelBytes, g.pick(1).run
			run(unsafe.Pointer(&t.gate[i*panelRows]), x, unsafe.Add(p.gate, at), nil, active.ahead[p.f], part*panelRows*f32Bytes, blocks, part*panelBytes, panelRows, 0)
			run(unsafe.Pointer(&t.up[i*panelRows]), x, unsafe.Add(p.up, at), nil, active.ahead[p.f], part*panelRows*f32Bytes, blocks, part*panelBytes, panelRows, 0)
		}
		done = part * g.panels * panelRows
	}
	g := set.pick(1, 2)
	distance, stride, run := int(uintptr(p.up)-uintptr(p.gate)), int(unsafe.Offsetof(t.up)), g.pick(1).run
	for i := done; i < cols; i += panelRows {
		at, n := (c+i)/panelRows*panelBytes, min(cols-i, panelRows)
		run(unsafe.Pointer(&t.gate[i]), x, unsafe.Add(p.gate, at), nil, active.ahead[p.f], stride, blocks, distance, n, 0)
		if g.panels == 1 {
			run(unsafe.Pointer(&t.up[i]), x, unsafe.Add(p.up, at), nil, active.ahead[p.f], stride, blocks, distance, n, 0)
		}
	}
}

// joinGated writes silu(gate)*up to cols columns of rows of n. Rows of gate and up follow each other, of width elements.
func joinGated(dst, gate, up unsafe.Pointer, n, width, rows, cols int) {
	for r := range rows {
		active.binary[binarySwiGLU](floatAt(dst, r*n), floatAt(gate, r*width), floatAt(up, r*width), cols)
	}
}
