package cpu

import (
	"sync"
	"unsafe"
)

// widenedFunc adds the products of a tile's rows of x with a panel of w to sums. x is f32 here. The
// distance of rows of x is xStride bytes. Rows of sums have the 16 columns of the panel and a
// distance of sumStride bytes. The panel has blocks of k. For next see tileFunc.
//
// Sums are loaded and stored exactly, so k may be cut into parts. All parts but the last one are
// even, as elements of w are stored in pairs.
type widenedFunc func(sums, x, w unsafe.Pointer, sumStride, xStride, blocks int, next uintptr)

// widenedTile is a widenedFunc and its number of rows of x.
type widenedTile struct {
	rows int
	run  widenedFunc
}

// A part is widenedRows rows of x by widenedDepth of k, which are widened once for widenedColumns
// columns. The 16 KiB of a panel that a part reads stay in the first-level cache for its tiles.
const (
	widenedRows    = 24
	widenedDepth   = 512
	widenedColumns = 4 * panelRows

	// widenedAsks is how many tiles ask for as many bytes as one reads: widenedAsks in _asm. With
	// 4 as elsewhere, 8 rows by weights from memory take 1.2 of the time (Zen 5).
	widenedAsks = 2
)

// widenedPart is a part of x and its sums. A row of x has a line more than its elements need:
// rows at a distance of a power of two share a few sets of the first-level cache.
type widenedPart struct {
	x    [widenedRows][widenedDepth + lineBytes/f32Bytes]float32
	sums [2][widenedRows][widenedColumns]float32 // of w, and for swiglu of wUp
}

// spareParts holds parts between calls, see spareUnrounded.
var spareParts = sync.Pool{New: func() any { return new(widenedPart) }}

// widenedProduct is a product of several rows of bf16 with bf16 weights whose x is widened to f32
// before it is multiplied.
type widenedProduct struct {
	tiles []widenedTile // most rows first

	dst, x, w unsafe.Pointer
	res       unsafe.Pointer // or nil
	up        unsafe.Pointer // wUp for swiglu, otherwise nil
	n, k      int
	r1, c1    int  // where the box ends
	roundsDst bool // dst is bf16
}

// run computes the box that begins at row r0 and column c0. Weights are the outer loop, as in matmul.
func (p *widenedProduct) run(r0, c0 int) {
	part := spareParts.Get().(*widenedPart)
	for c := c0; c < p.c1; c += widenedColumns {
		for r := r0; r < p.r1; r += widenedRows {
			b := widenedBox{*p, part, r, min(p.r1-r, widenedRows), c, min(p.c1-c, widenedColumns)}
			b.sum()
			b.write()
		}
	}
	spareParts.Put(part)
}

// widenedBox is the rows and columns of a product that have their sums in a part.
type widenedBox struct {
	widenedProduct
	part      *widenedPart
	row, rows int
	col, cols int
}

// sum computes the sums of the box.
func (b *widenedBox) sum() {
	clear(b.part.sums[0][:b.rows])
	if b.up != nil {
		clear(b.part.sums[1][:b.rows])
	}
	panels := (b.cols + panelRows - 1) / panelRows
	for k := 0; k < b.k; k += widenedDepth {
		depth := min(b.k-k, widenedDepth)
		for r := range b.rows {
			active.bf16ToF32(unsafe.Pointer(&b.part.x[r]), halfAt(b.x, (b.row+r)*b.k+k), depth)
		}
		for p := range panels {
			b.panel(p, k, depth)
		}
	}
}

// panel adds the products with depth of k, from k on, of panel p of the box.
func (b *widenedBox) panel(p, k, depth int) {
	at := (b.col+p*panelRows)*b.k + k*panelRows
	next := b.next(p, k, depth)
	if b.up == nil {
		b.add(&b.part.sums[0], p, halfAt(b.w, at), depth, uintptr(b.w)+next)
		return
	}
	b.add(&b.part.sums[0], p, halfAt(b.w, at), depth, uintptr(halfAt(b.up, at)))
	b.add(&b.part.sums[1], p, halfAt(b.up, at), depth, uintptr(b.w)+next)
}

// next returns the distance in bytes from the start of the weights to what is read after panel p
// has been multiplied by depth of k, from k on.
func (b *widenedBox) next(p, k, depth int) uintptr {
	col := b.col + (p+1)*panelRows
	if col >= b.col+b.cols { // the next part of the first panel
		col, k = b.col, k+depth
	}
	if k == b.k { // the next part of the rows or of the columns
		k = 0
		if b.row+b.rows == b.r1 {
			col = b.col + widenedColumns
		}
	}
	return uintptr(col*b.k+k*panelRows) * halfBytes
}

// add runs the tiles of a panel's part w. The first of them ask memory for what is at next.
func (b *widenedBox) add(sums *[widenedRows][widenedColumns]float32, p int, w unsafe.Pointer, depth int, next uintptr) {
	const sumStride, xStride = int(unsafe.Sizeof(sums[0])), int(unsafe.Sizeof(b.part.x[0]))
	for r := 0; r < b.rows; {
		t := b.tile(b.rows - r)
		t.run(unsafe.Pointer(&sums[r][p*panelRows]), unsafe.Pointer(&b.part.x[r]), w, sumStride, xStride, depth, next)
		next += uintptr(depth * panelRows * halfBytes / widenedAsks)
		r += t.rows
	}
}

// tile returns the tile for left rows: the smallest one that has them, otherwise the largest one. Rows
// of a tile that the box lacks are computed from old contents of the part, and not written.
func (b *widenedBox) tile(left int) widenedTile {
	t := b.tiles[0]
	for _, smaller := range b.tiles[1:] {
		if smaller.rows >= left {
			t = smaller
		}
	}
	return t
}

// write writes what the sums of the box give.
func (b *widenedBox) write() {
	for r := range b.rows {
		at := (b.row+r)*b.n + b.col
		sums, up := unsafe.Pointer(&b.part.sums[0][r]), unsafe.Pointer(&b.part.sums[1][r])
		switch {
		case b.roundsDst:
			active.binary[binarySwiGLU](sums, sums, up, b.cols)
			active.f32ToBF16(halfAt(b.dst, at), sums, b.cols)
		case b.up != nil:
			active.binary[binarySwiGLU](floatAt(b.dst, at), sums, up, b.cols)
		case b.res != nil:
			active.binary[binaryAdd](floatAt(b.dst, at), sums, floatAt(b.res, at), b.cols)
		default:
			copy(floats(floatAt(b.dst, at), b.cols), floats(sums, b.cols))
		}
	}
}
