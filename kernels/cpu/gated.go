package cpu

import (
	"sync"
	"unsafe"
)

// A tile with two weights holds twice as many sums, and so has fewer rows of x where registers or the frame hold no
// more: 4 instead of 8 for q8_0 with AVX2. Eight rows then unpack all weights twice. They take a tile with one weight
// instead, for a panel of each weight in turn:
//
//	gate  8 rows of x by panel c of gate
//	up    8 rows of x by panel c of up
//	dst   silu(gate) * up, while both are in the first-level cache

// inTurn returns the tile of one weight with which products with two weights are computed for rows rows of x; nil if
// tiles of two weights take as many rows. It is for eight rows: more use a panel several times, whatever the tile, and
// four rows of f32 and f16 with AVX2 have 0.8 of the speed this way.
func (im *implementation) inTurn(f format, k, rows int) *rowTile {
	if rows != mostFew/2 {
		return nil
	}
	one := im.products(f, k).pick(rows, 1).pick(rows)
	if one.rows != rows || im.gated(f, k).pick(rows, 1).pick(rows).rows == rows {
		return nil
	}
	return one
}

// gatedProduct is matmulSwiGLU for as many rows as a tile of one weight has.
type gatedProduct struct {
	f                format
	tile             *rowTile
	dst, x, gate, up unsafe.Pointer
	n, k             int
}

// gatedPanels is the results of a tile for a panel of each weight.
type gatedPanels struct {
	gate, up [mostFew / 2 * panelRows]float32
}

// spareGated holds them between calls, see spareUnrounded.
var spareGated = sync.Pool{New: func() any { return new(gatedPanels) }}

// run computes columns [c0, c1) of the rows from r0 on.
func (p *gatedProduct) run(r0, c0, c1 int) {
	sh := &formatShape[p.f]
	blocks := p.k / sh.blockLen
	xStride, panelBytes := blocks*sh.xBytes, blocks*sh.panelBytes
	x, t := unsafe.Add(p.x, r0*xStride), spareGated.Get().(*gatedPanels)
	for c := c0; c < c1; c += panelRows {
		cols, at := min(c1-c, panelRows), c/panelRows*panelBytes
		for _, w := range []struct{ dst, panels unsafe.Pointer }{{unsafe.Pointer(&t.gate), p.gate}, {unsafe.Pointer(&t.up), p.up}} {
			p.tile.run(w.dst, x, unsafe.Add(w.panels, at), nil, xStride, panelRows*f32Bytes, blocks, panelBytes, cols, uintptr(x))
		}
		p.join(t, r0, c, cols)
	}
	spareGated.Put(t)
}

// join writes cols columns from column c on of the rows from r0 on.
func (p *gatedProduct) join(t *gatedPanels, r0, c, cols int) {
	for r := range p.tile.rows {
		gate, up := unsafe.Pointer(&t.gate[r*panelRows]), unsafe.Pointer(&t.up[r*panelRows])
		active.binary[binarySwiGLU](floatAt(p.dst, (r0+r)*p.n+c), gate, up, cols)
	}
}
