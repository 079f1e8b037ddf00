package cpu

import "unsafe"

// superFunc adds the products of rows rows of x, superLeast or more, with a block of two panels of expanded
// superblocks. The second panel is panelBytes after the first. x is at the block, and xStride bytes from a row to the
// next. Rows of sums have 32 columns. Rows are taken by squares of sixteen: if rows is no multiple of that, the last
// square has the last sixteen rows of x, and after those of the squares before it sixteen rows of sums.
//
// superInts bytes before w are written to. With each square but the first it prefetches ask bytes, a multiple of a line
// and not 0, from next on, unless next is 0.
type superFunc func(sums, x, w unsafe.Pointer, rows, xStride, panelBytes int, next uintptr, ask int)

const (
	superLeast   = 16  // rows of a superFunc at least
	superRows    = 128 // rows at most that are multiplied at once: their sums, and two panels of a block, stay in the first-level cache
	superColumns = 2 * panelRows
	superInts    = 4 * superLeast * panelRows * f32Bytes
)

// superKernel is how a format with superblocks is multiplied by many rows of x.
type superKernel struct {
	expand     expandFunc
	blockBytes int // of an expanded block
	run        superFunc
	write      func(dst, sums, res unsafe.Pointer, rows, stride, cols int) // rows of sums, plus res if not nil
}

// superSums is the sums of two panels, perhaps with those of a last square of its own.
type superSums [superRows + superLeast][superColumns]float32

// superProduct is matmul, or with up matmulSwiGLU, with a superKernel. Squares of rows are the outer loop: their x stays
// in the second-level cache, and the weights are read again for the next ones. Two weights are multiplied in turn.
type superProduct struct {
	*superKernel
	f                  format
	dst, x, w, up, res unsafe.Pointer // up or res is nil
	n, k               int
	end                int // column at which the box ends
	blocks, storedLen  int // of a panel; bytes of one as it is stored

	sums   [2]*superSums  // of each weight
	panels unsafe.Pointer // room for a block of two
}

// run computes the box of rows [r0, r1) and columns [c0, c1).
func (p *superProduct) run(r0, r1, c0, c1 int) {
	sh := &formatShape[p.f]
	p.blocks, p.end = p.k/sh.blockLen, c1
	p.storedLen = p.blocks * sh.panelBytes
	const sums = int(unsafe.Sizeof(superSums{}))
	spare := spareExpanded.Get().(*expandedPanels)
	room := spare.room(2*sums + superInts + 2*p.blockBytes)
	p.sums = [2]*superSums{(*superSums)(room), (*superSums)(unsafe.Add(room, sums))}
	p.panels = unsafe.Add(room, 2*sums+superInts)
	for parts := (r1 - r0 + superRows - 1) / superRows; parts > 0; parts-- {
		n := (r1 - r0 + parts - 1) / parts // at least superLeast: all are equal, or one less
		for c := c0; c < c1; c += superColumns {
			p.columns(r0, n, c, min(c1-c, superColumns))
		}
		r0 += n
	}
	spareExpanded.Put(spare)
}

// columns computes rows rows from r on and cols columns from c on.
func (p *superProduct) columns(r, rows, c, cols int) {
	next := p.stored(p.w, c+superColumns)
	if p.up == nil {
		p.sum(p.sums[0], p.w, r, rows, c, next)
	} else {
		p.sum(p.sums[0], p.w, r, rows, c, p.stored(p.up, c))
		p.sum(p.sums[1], p.up, r, rows, c, next)
	}
	whole := rows &^ (superLeast - 1)
	p.put(r, 0, whole, c, cols)
	if rows > whole {
		p.put(r+whole, whole+superLeast-(rows-whole), rows-whole, c, cols)
	}
}

// stored is the address of the panel of a weight that has column c, or 0 if columns end before.
func (p *superProduct) stored(w unsafe.Pointer, c int) uintptr {
	if c >= p.end {
		return 0
	}
	return uintptr(w) + uintptr(c/panelRows*p.storedLen)
}

// sum computes the sums of two panels of a weight, from column c on, while panels from next on are prefetched.
func (p *superProduct) sum(sums *superSums, w unsafe.Pointer, r, rows, c int, next uintptr) {
	squares := (rows + superLeast - 1) / superLeast
	clear(sums[:superLeast*squares])
	sh := &formatShape[p.f]
	xStride, second := p.blocks*sh.xBytes, p.blockBytes
	if c+panelRows >= p.end {
		second = 0 // there is no other: its sums are not written
	}
	x, w := unsafe.Add(p.x, r*xStride), unsafe.Add(w, c/panelRows*p.storedLen)
	ask := 2*sh.panelBytes/max(squares-1, 1)&^(lineBytes-1) + lineBytes
	for b := range p.blocks {
		from := unsafe.Add(w, b*sh.panelBytes)
		p.expand(p.panels, from, 1)
		if second != 0 {
			p.expand(unsafe.Add(p.panels, second), unsafe.Add(from, p.storedLen), 1)
		}
		p.superKernel.run(unsafe.Pointer(sums), unsafe.Add(x, b*sh.xBytes), p.panels, rows, xStride, second, next, ask)
		if next != 0 {
			next += uintptr((squares - 1) * ask)
		}
	}
}

// put writes rows rows of cols columns, from row r and column c on. Their sums are from row at on.
func (p *superProduct) put(r, at, rows, c, cols int) {
	if rows == 0 {
		return
	}
	to := r*p.n + c
	dst, sums := floatAt(p.dst, to), unsafe.Pointer(&p.sums[0][at])
	switch {
	case p.up != nil:
		joinGated(dst, sums, unsafe.Pointer(&p.sums[1][at]), p.n, superColumns, rows, cols)
	case p.res != nil:
		p.write(dst, sums, floatAt(p.res, to), rows, p.n*f32Bytes, cols)
	default:
		p.write(dst, sums, nil, rows, p.n*f32Bytes, cols)
	}
}
