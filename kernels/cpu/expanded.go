package cpu

import (
	"sync"
	"unsafe"
)

// tileScratch is memory for tiles of expanded panels, before the panels: those for AVX2 keep sums there.
const tileScratch = 2048

// scratch is memory of a call: for expanded panels, of w and for swiglu of wUp, after what tiles keep in memory, or for
// signed rows of x.
type scratch struct{ bytes []byte }

// spareScratch holds scratch between calls, see spareUnrounded.
var spareScratch = sync.Pool{New: func() any { return new(scratch) }}

// room returns size bytes that begin at a cache line.
func (s *scratch) room(size int) unsafe.Pointer {
	if len(s.bytes) < size+lineBytes {
		s.bytes = make([]byte, size+lineBytes)
	}
	p := unsafe.Pointer(unsafe.SliceData(s.bytes))
	return unsafe.Add(p, -uintptr(p)&(lineBytes-1))
}

// expandedProduct is matmul, or with up matmulSwiGLU, for several rows and a format with an expansion. Panels are the
// outer loop: each is read from memory once, and stays in the second-level cache for all rows.
type expandedProduct struct {
	*expansion
	f                  format
	dst, x, w, up      unsafe.Pointer
	res                unsafe.Pointer // or nil
	n, k               int
	xStride            int
	blocks, panelBytes int // of an expanded panel
	next               expandedNext
}

// expandedNext is the panels that are expanded next. Tiles have no time to wait for memory, and expanding would wait
// for all of it: so before each tile a share of them is prefetched. Tiles for AVX2 prefetch while they compute
// (following), as few rows have one or two tiles, and a core waits for so many requests at once.
type expandedNext struct {
	w, up      unsafe.Pointer // of each weight; up may be nil
	asked, all int            // lines of each
	share      int            // lines before a tile
}

// following returns where the ith tile of the panel of w at column c prefetches from, or 0: the first tile prefetches all of
// the next panel, and of that of wUp. If others prefetched anything, what has been read say, that would take up to a
// quarter of their time. But where few rows have two tiles or three, one would wait for memory: the first two prefetch a
// half each, and an odd address tells them so. 6 to 12 rows then have 1.05 to 1.3 of the speed (q5_k and q6_k, Zen 3).
func (p *expandedProduct) following(w unsafe.Pointer, c, i int, shared bool) uintptr {
	if c += panelRows; i > 1 || i == 1 && !shared || c >= p.n {
		return 0
	}
	sh := &formatShape[p.f]
	bytes := p.k / sh.blockLen * sh.panelBytes
	at := uintptr(w) + uintptr(c/panelRows*bytes)
	if shared {
		at = at + uintptr(i*bytes/2) | 1
	}
	return at
}

// sharesNext reports whether the first two tiles of a panel share what they prefetch: t is not all of the rows, and they
// are few.
func sharesNext(t *rowTile, rows int) bool { return t.rows < rows && rows <= mostFew }

// askFor sets what is prefetched to at most panels panels from column c on, in tiles parts.
func (p *expandedProduct) askFor(c, panels, tiles int) {
	p.next = expandedNext{}
	panels = min(panels, (p.n-c+panelRows-1)/panelRows)
	if p.expansion.ask || active.prefetch == nil || panels <= 0 || tiles == 0 {
		return
	}
	sh := &formatShape[p.f]
	bytes := p.k / sh.blockLen * sh.panelBytes
	lines := panels * bytes / lineBytes
	p.next = expandedNext{w: unsafe.Add(p.w, c/panelRows*bytes), all: lines, share: (lines + tiles - 1) / tiles}
	if p.up != nil {
		p.next.up = unsafe.Add(p.up, c/panelRows*bytes)
	}
}

// ask prefetches a share.
func (n *expandedNext) ask() {
	lines := min(n.share, n.all-n.asked)
	if lines == 0 {
		return
	}
	active.prefetch(unsafe.Add(n.w, n.asked*lineBytes), lines)
	if n.up != nil {
		active.prefetch(unsafe.Add(n.up, n.asked*lineBytes), lines)
	}
	n.asked += lines
}

// run computes the box of rows [r0, r1) and columns [c0, c1).
func (p *expandedProduct) run(r0, r1, c0, c1 int) {
	sh := &formatShape[p.f]
	p.blocks = p.k / sh.blockLen
	p.xStride, p.panelBytes = p.blocks*sh.xBytes, p.blocks*p.blockBytes
	set := p.matmul
	if p.up != nil {
		set = p.swiglu
	}
	spare := spareScratch.Get().(*scratch)
	if len(set) == 0 {
		p.inTurn(spare, r0, r1, c0, c1)
		spareScratch.Put(spare)
		return
	}
	room := unsafe.Add(spare.room(tileScratch+2*p.panelBytes), tileScratch)
	for c := c0; c < c1; {
		g := set.pick(r1-r0, (c1-c+panelRows-1)/panelRows)
		p.expandAt(room, c, g.panels)
		p.askFor(c+g.panels*panelRows, g.panels, (r1-r0)/g.tiles[0].rows)
		p.tiles(g, room, r0, r1, c, min(c1-c-(g.panels-1)*panelRows, panelRows))
		c += g.panels * panelRows
	}
	spareScratch.Put(spare)
}

// inTurn is run for two weights without tiles of two: see gatedProduct.
func (p *expandedProduct) inTurn(spare *scratch, r0, r1, c0, c1 int) {
	rows := r1 - r0
	results := rows * panelRows * f32Bytes
	room := unsafe.Add(spare.room(tileScratch+p.panelBytes+2*results), tileScratch)
	gate := unsafe.Add(room, p.panelBytes)
	up := unsafe.Add(gate, results)
	for c := c0; c < c1; c += panelRows {
		cols := min(c1-c, panelRows)
		p.gatedPanel(gate, room, p.w, r0, r1, c, cols)
		p.gatedPanel(up, room, p.up, r0, r1, c, cols)
		joinGated(floatAt(p.dst, r0*p.n+c), gate, up, p.n, panelRows, rows, cols)
	}
}

// gatedPanel sets dst to the products of a panel of weight w, of which rows of panelRows elements follow each other.
func (p *expandedProduct) gatedPanel(dst, room, w unsafe.Pointer, r0, r1, c, cols int) {
	sh := &formatShape[p.f]
	p.expand(room, unsafe.Add(w, c/panelRows*p.blocks*sh.panelBytes), p.blocks)
	g := p.matmul.pick(r1-r0, 1)
	for r, i := r0, 0; r < r1; i++ {
		t := g.pick(r1 - r)
		t.adjacent(p.f, floatAt(dst, (r-r0)*panelRows), unsafe.Add(p.x, r*p.xStride), room, nil, p.xStride, panelRows*f32Bytes, p.blocks, p.panelBytes, cols, p.following(w, c, i, sharesNext(t, r1-r0)))
		r += t.rows
	}
}

// expandAt expands panels from column c on, those of up after those of w.
func (p *expandedProduct) expandAt(room unsafe.Pointer, c, panels int) {
	sh := &formatShape[p.f]
	blocks := p.k / sh.blockLen
	for i := range panels {
		from := (c/panelRows + i) * blocks * sh.panelBytes
		p.expand(unsafe.Add(room, i*p.panelBytes), unsafe.Add(p.w, from), blocks)
		if p.up != nil {
			p.expand(unsafe.Add(room, (panels+i)*p.panelBytes), unsafe.Add(p.up, from), blocks)
		}
	}
}

// tiles runs tiles on expanded panels, the last of them with cols columns.
func (p *expandedProduct) tiles(g *tileGroup, room unsafe.Pointer, r0, r1, c, cols int) {
	for r, i := r0, 0; r < r1; i++ {
		t, at, aux, panelBytes := g.pick(r1-r), (r*p.n+c)*f32Bytes, p.res, p.panelBytes
		p.next.ask()
		switch {
		case p.up != nil:
			aux = unsafe.Add(room, g.panels*p.panelBytes)
			panelBytes = int(uintptr(p.up) - uintptr(p.w))
		case aux != nil:
			aux = unsafe.Add(aux, at)
		}
		t.adjacent(p.f, unsafe.Add(p.dst, at), unsafe.Add(p.x, r*p.xStride), room, aux, p.xStride, p.n*f32Bytes, p.blocks, panelBytes, cols, p.following(p.w, c, i, sharesNext(t, r1-r0)))
		r += t.rows
	}
}
