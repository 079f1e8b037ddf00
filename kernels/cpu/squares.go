package cpu

import "unsafe"

// squareFunc adds the products of rows rows of x, squareRows or more, with blocks blocks of two expanded panels: one
// superblock, or a positive even number of blocks of 32. The second panel is panelBytes after the first. x is at the first
// block, and xStride bytes from a row to the next. A row of sums has 32 columns. The squareInts bytes before w are
// overwritten.
//
// Rows are taken by squares of sixteen. If rows is no multiple of that, the last square has the last sixteen rows of x, and
// sums of its own. So 20 rows are two squares, whose sums are rows 0 to 31: of rows 0 to 15 of x, then of rows 4 to 19.
//
// With each square it prefetches ask bytes, a positive multiple of a line, from where those of the square before end; those
// of the first begin at next. It prefetches nothing if next is 0.
type squareFunc func(sums, x, w unsafe.Pointer, rows, xStride, panelBytes, blocks int, next uintptr, ask int)

const (
	squareRows     = 16
	squareColumns  = 2 * panelRows
	mostSquareRows = 128 // rows that are multiplied at once: their sums and the panels stay in the first-level cache
	squareInts     = 4 * squareRows * panelRows * f32Bytes
)

// squareKernel is how a format is multiplied by many rows of x in squares.
type squareKernel struct {
	least      int // rows for which it is used
	expand     expandFunc
	blockBytes int // of an expanded block
	multiple   int // blocks of a row are a multiple of it; otherwise it is not used
	once       int // blocks that are expanded at once, a multiple of that; 1 for superblocks, see squareFunc
	run        squareFunc

	// write writes the first cols columns of rows rows of sums, plus res if that is not nil. The distance of rows of dst and
	// res is stride bytes.
	write func(dst, sums, res unsafe.Pointer, rows, stride, cols int)
}

// squaresFor returns the kernel for a format, a length of rows and a number of them; nil if there is none.
func (im *implementation) squaresFor(f format, k, rows int) *squareKernel {
	s := im.squares[f]
	if s == nil || rows < s.least || k/formatShape[f].blockLen%s.multiple != 0 {
		return nil
	}
	return s
}

// squareSums is the sums of the rows of squares with two panels.
type squareSums [mostSquareRows][squareColumns]float32

// squareProduct is matmul, or with up matmulSwiGLU, with a squareKernel. Rows are the outer loop: their x stays in the
// second-level cache, and the weights are read and expanded again for the next ones. Two weights are multiplied in turn, each
// with sums of its own.
type squareProduct struct {
	*squareKernel
	f                  format
	dst, x, w, up, res unsafe.Pointer // up or res is nil
	n, k               int
	end                int // column at which the box ends
	blocks, panelBytes int // of a panel; bytes of one as it is stored

	sums   [2]*squareSums // of each weight
	panels unsafe.Pointer // room for blocks of two
}

// run computes the box of rows [r0, r1) and columns [c0, c1).
func (p *squareProduct) run(r0, r1, c0, c1 int) {
	sh := &formatShape[p.f]
	p.blocks, p.end = p.k/sh.blockLen, c1
	p.panelBytes = p.blocks * sh.panelBytes
	const sums = int(unsafe.Sizeof(squareSums{}))
	spare := spareScratch.Get().(*scratch)
	room := spare.room(2*sums + squareInts + 2*p.once*p.blockBytes)
	p.sums = [2]*squareSums{(*squareSums)(room), (*squareSums)(unsafe.Add(room, sums))}
	p.panels = unsafe.Add(room, 2*sums+squareInts)
	for parts := (r1 - r0 + mostSquareRows - 1) / mostSquareRows; parts > 0; parts-- {
		n := (r1 - r0 + parts - 1) / parts
		if parts > 1 {
			n = (n + squareRows - 1) &^ (squareRows - 1) // what is left is more than squareRows
		}
		for c := c0; c < c1; c += squareColumns {
			p.columns(r0, n, c, min(c1-c, squareColumns))
		}
		r0 += n
	}
	spareScratch.Put(spare)
}

// columns computes rows rows from r on and cols columns from c on.
func (p *squareProduct) columns(r, rows, c, cols int) {
	next := p.stored(p.w, c+squareColumns)
	if p.up == nil {
		p.sum(p.sums[0], p.w, r, rows, c, next)
	} else {
		p.sum(p.sums[0], p.w, r, rows, c, p.stored(p.up, c))
		p.sum(p.sums[1], p.up, r, rows, c, next)
	}
	whole := rows &^ (squareRows - 1)
	p.put(r, 0, whole, c, cols)
	if rows > whole {
		p.put(r+whole, whole+squareRows-(rows-whole), rows-whole, c, cols)
	}
}

// stored is the address of the panel of a weight that has column c, or 0 if columns end before.
func (p *squareProduct) stored(w unsafe.Pointer, c int) uintptr {
	if c >= p.end {
		return 0
	}
	return uintptr(w) + uintptr(c/panelRows*p.panelBytes)
}

// sum computes the sums of two panels of a weight, from column c on, while panels from next on are prefetched.
func (p *squareProduct) sum(sums *squareSums, w unsafe.Pointer, r, rows, c int, next uintptr) {
	squares := (rows + squareRows - 1) / squareRows
	clear(sums[:squareRows*squares])
	sh := &formatShape[p.f]
	two := c+panelRows < p.end // otherwise the sums of the second are not written
	xStride, x := p.blocks*sh.xBytes, unsafe.Add(p.x, r*p.blocks*sh.xBytes)
	w = unsafe.Add(w, c/panelRows*p.panelBytes)
	for b := 0; b < p.blocks; b += p.once {
		n, second := min(p.once, p.blocks-b), 0
		from := unsafe.Add(w, b*sh.panelBytes)
		p.expand(p.panels, from, n)
		if two {
			second = n * p.blockBytes
			p.expand(unsafe.Add(p.panels, second), unsafe.Add(from, p.panelBytes), n)
		}
		ask := (2*n*sh.panelBytes/squares + lineBytes - 1) &^ (lineBytes - 1)
		p.squareKernel.run(unsafe.Pointer(sums), unsafe.Add(x, b*sh.xBytes), p.panels, rows, xStride, second, n, next, ask)
		if next != 0 {
			next += uintptr(squares * ask)
		}
	}
}

// put writes rows rows of cols columns, from row r and column c on. Their sums are from row at on.
func (p *squareProduct) put(r, at, rows, c, cols int) {
	if rows == 0 {
		return
	}
	to := r*p.n + c
	dst, sums := floatAt(p.dst, to), unsafe.Pointer(&p.sums[0][at])
	switch {
	case p.up != nil:
		joinGated(dst, sums, unsafe.Pointer(&p.sums[1][at]), p.n, squareColumns, rows, cols)
	case p.res != nil:
		p.write(dst, sums, floatAt(p.res, to), rows, p.n*f32Bytes, cols)
	default:
		p.write(dst, sums, nil, rows, p.n*f32Bytes, cols)
	}
}
