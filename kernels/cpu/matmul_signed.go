package cpu

import "unsafe"

// signedTiles is the tiles of a format for rows of x with separate signs.
type signedTiles struct {
	matmul, swiglu               tileSet
	boundedMatMul, boundedSwiGLU tileSet // for rows of bounded blocks

	// take makes n blocks of signed rows of n blocks of q8a. It returns the largest sum that boundedSum bounds, or more than that
	// bound if the scale of one has more than 22 bits, is at least 2^103 or is negative.
	take func(dst, x unsafe.Pointer, n int) (most int)
}

// boundedSum is the largest sum of the magnitudes of elements i, i+1, i+16 and i+17 of a bounded block, i even: tiles add
// their products in 16 bits. QuantizeQ8ABounded makes such blocks, with scales of 22 bits; others have the tiles for any.
const boundedSum = 255

// A block of signed rows has 32 magnitudes, 32 bytes that give a weight the sign of an element of x, the scale of the
// block, what sums begin with, and what takes that from them: see _asm/tile_signs.go.
const signsBytes = 2*blockLen + 3*f32Bytes

// signedRows is the rows of x whose signs are separated at once: 288 KiB for k = 2048, 792 for 5632. With 16 to 512 rows
// at once, products of 128 and 512 rows by 2048 and 5632 of k have the same speed (Zen 3).
const signedRows = 64

// signedProduct is a product of several rows of q8a with weights that get the signs of x. Panels are the outer loop for
// each part of the rows, as in matmul.
type signedProduct struct {
	*signedTiles
	f            format
	dst, x, w    unsafe.Pointer
	res          unsafe.Pointer // or nil
	up           unsafe.Pointer // wUp for swiglu, otherwise nil
	n, k, blocks int
}

// run computes the box of rows [r0, r1) and columns [c0, c1).
func (p *signedProduct) run(r0, r1, c0, c1 int) {
	sh := &formatShape[p.f]
	p.blocks = p.k / sh.blockLen
	parts := (r1 - r0 + signedRows - 1) / signedRows
	rows := ((r1-r0+parts-1)/parts + 1) &^ 1 // even, as tiles have two
	spare := spareScratch.Get().(*scratch)
	room := spare.room(rows * p.blocks * signsBytes)
	for r := r0; r < r1; r += rows {
		end := min(r+rows, r1)
		most := p.take(room, unsafe.Add(p.x, r*p.blocks*sh.xBytes), (end-r)*p.blocks)
		p.part(p.tiles(most <= boundedSum), room, r, end, c0, c1)
	}
	spareScratch.Put(spare)
}

// askTwice is the bit of an address that makes a tile prefetch the shares of two.
const askTwice = bytesAsks - 1

// part multiplies rows [r0, r1), which x has without their signs, with columns [c0, c1).
func (p *signedProduct) part(set tileSet, x unsafe.Pointer, r0, r1, c0, c1 int) {
	xStride, panelBytes := p.blocks*signsBytes, p.blocks*formatShape[p.f].panelBytes
	for c := c0; c < c1; {
		g, panel := set.pick(r1-r0, (c1-c+panelRows-1)/panelRows), c/panelRows*panelBytes
		cols := min(c1-c-(g.panels-1)*panelRows, panelRows)
		next := newNextPanel(bytesAsks, unsafe.Add(p.w, panel), g.panels*panelBytes, p.n-(c+g.panels*panelRows))
		if r1-r0 <= g.pick(r1-r0).rows {
			next.at |= askTwice // there is no other tile
		}
		for r := r0; r < r1; {
			if p.up != nil && r1-r == 1 { // tiles have two rows at least
				matmulSwiGLU(p.f, p.dst, p.x, p.w, p.up, MatMulShape{In: p.k, Out: p.n}, r, r1, c, c+cols, nil)
				break
			}
			t, at, aux := g.pick(r1-r), (r*p.n+c)*f32Bytes, p.res
			switch {
			case p.up != nil:
				aux = unsafe.Add(p.up, panel)
			case aux != nil:
				aux = unsafe.Add(aux, at)
			}
			t.run(unsafe.Add(p.dst, at), unsafe.Add(x, (r-r0)*xStride), unsafe.Add(p.w, panel), aux,
				xStride, p.n*f32Bytes, p.blocks, panelBytes, cols, next.ask(0))
			r += t.rows
		}
		c += g.panels * panelRows
	}
}

// tiles returns the tiles for rows of bounded blocks, or of any.
func (p *signedProduct) tiles(bounded bool) tileSet {
	switch {
	case p.up != nil && bounded:
		return p.boundedSwiGLU
	case p.up != nil:
		return p.swiglu
	case bounded:
		return p.boundedMatMul
	}
	return p.matmul
}
