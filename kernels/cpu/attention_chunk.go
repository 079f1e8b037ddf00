package cpu

import (
	"unsafe"

	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
)

// What a block of queries does with a chunk of positions: scores, weights, weighted values.

// addMany adds m positions from p on to n rows from row i on, by way of panels.
func (b *block) addMany(i, n, p, m int) {
	k, v := b.keyRows(p), b.valueRows(p)
	format, src, row := b.read(k, m)
	b.loops.keys[format](pointer(b.keys), src, m, b.dk, row)
	b.ask(k, p, m)
	format, src, row = b.read(v, m)
	b.loops.values[format](pointer(b.values), src, m, b.dv, row)
	b.ask(v, p, m)
	for ; n > 0; i, n = i+scoredRows, n-scoredRows {
		b.addPanels(i, min(n, scoredRows), p, m)
	}
}

// scoreRow is the bytes of a row of scores.
const scoreRow = chunkLen * f32Bytes

// addPanels does so for as many rows as there is room for scores.
func (b *block) addPanels(i, n, p, m int) {
	tiles := b.loops.tiles
	cols := (m + panelRows - 1) &^ (panelRows - 1)
	tiles.multiply(unsafe.Pointer(&b.scores), pointer(b.queries[i*b.dk:]), pointer(b.keys), nil,
		n, b.dk*f32Bytes, scoreRow, b.dk, b.dk*panelRows*f32Bytes, cols)
	for at := 0; at < n; {
		same, seen := b.alike(i+at, n-at, p), b.seen(i+at, p)
		if seen > 0 {
			b.weigh(i+at, at, same, p, seen)
			out := pointer(b.results[(i+at)*b.dv:])
			tiles.multiply(out, unsafe.Pointer(&b.scores[at]), pointer(b.values), out,
				same, scoreRow, b.dv*f32Bytes, seen, chunkLen*panelRows*f32Bytes, b.dv)
		}
		at += same
	}
}

// addFew adds m positions from p on to n rows from row i on, from the cache itself.
func (b *block) addFew(i, n, p, m int) {
	b.scoreFew(i, n, p, m)
	v := b.valueRows(p)
	format, src, row, ahead := b.readFew(v, p, m)
	for at := 0; at < n; {
		same, seen := b.alike(i+at, n-at, p), b.seen(i+at, p)
		if seen == 0 {
			at += same
			continue
		}
		b.weigh(i+at, at, same, p, seen)
		for end := at + same; at < end; {
			l := b.loops.pick(end - at)
			l.mix[format](pointer(b.results[(i+at)*b.dv:]), unsafe.Pointer(&b.scores[at]), src, seen, b.dv, row, ahead)
			at += l.heads
		}
	}
}

// scoreFew computes the scores of n rows from row i on for m positions from p on.
func (b *block) scoreFew(i, n, p, m int) {
	k := b.keyRows(p)
	format, src, row, ahead := b.readFew(k, p, m)
	scales := pointer(b.plain)
	if format == cacheQ8 {
		b.loops.scales(scales, src, m, b.dk/blockLen, row)
	}
	for at := 0; at < n; {
		l := b.loops.pick(n - at)
		s, q := unsafe.Pointer(&b.scores[at]), pointer(b.queries[(i+at)*b.dk:])
		if format == cacheQ8 {
			l.scoresQ8(s, q, src, scales, m, b.dk, row, ahead)
		} else {
			l.scores[format](s, q, src, m, b.dk, row, ahead)
		}
		at += l.heads
	}
}

// pick returns the loops for the most queries that are not more than n.
func (l *attentionLoops) pick(n int) *fewLoops {
	for i := range l.few {
		if f := &l.few[i]; f.heads <= n {
			return f
		}
	}
	panic("cpu: internal error: no attention for one query")
}

// weigh turns scores of n rows from row i on, which lie from scores[at] on and of which
// seen count, into weights. Where the largest score grew, what was summed before shrinks.
func (b *block) weigh(i, at, n, p, seen int) {
	b.loops.weigh(unsafe.Pointer(&b.scores[at]), unsafe.Pointer(&b.largest[i]), unsafe.Pointer(&b.sums[i]), unsafe.Pointer(&b.shrink[i]), n, seen)
	if p%tile.SegmentLen == 0 {
		return // the first chunk
	}
	for j, by := range b.shrink[i : i+n] {
		if by != 1 {
			out := pointer(b.results[(i+j)*b.dv:])
			active.scale(out, out, b.dv, by, 0)
		}
	}
}

// stored is rows of a state.
type stored struct {
	at     unsafe.Pointer
	d, row int // elements and bytes of each
}

// keyRows returns the keys from position p on.
func (b *block) keyRows(p int) stored { return b.rows(b.k, b.dk, p) }

// valueRows returns the values from position p on.
func (b *block) valueRows(p int) stored { return b.rows(b.v, b.dv, p) }

func (b *block) rows(state unsafe.Pointer, d, p int) stored {
	row := b.format.rowBytes(d)
	return stored{unsafe.Add(state, (b.cache+p)*row), d, row}
}

// read returns m rows in a format that loops read, where they lie or decoded.
func (b *block) read(s stored, m int) (format cacheFormat, src unsafe.Pointer, row int) {
	if b.format != cacheQ8 {
		return b.format, s.at, s.row
	}
	active.decodeQ8(pointer(b.plain), s.at, m*s.d)
	return cacheF32, pointer(b.plain), s.d * f32Bytes
}

// ahead returns how far behind the chunk at p that lies which is read next; 0 if nothing is.
func (b *block) ahead(s stored, p int) int {
	switch {
	case p+chunkLen < b.end:
		return chunkLen * s.row
	case b.last:
		return 0
	}
	return (b.ctx - p) * s.row // the next head
}

// ask asks for what is read next.
func (b *block) ask(s stored, p, m int) {
	if ahead := b.ahead(s, p); ahead > 0 && active.prefetch != nil {
		active.prefetch(unsafe.Add(s.at, ahead), (m*s.row+lineBytes-1)/lineBytes)
	}
}

// readFew returns m rows from p on for the loops for few queries, and how far behind them what those shall ask for lies.
func (b *block) readFew(s stored, p, m int) (format cacheFormat, src unsafe.Pointer, row, ahead int) {
	if b.format != cacheQ8 || b.loops.scales != nil {
		return b.format, s.at, s.row, b.ahead(s, p)
	}
	format, src, row = b.read(s, m)
	b.ask(s, p, m)
	return format, src, row, 0
}

// multiply is a product of n rows of x with cols columns of panels, which lie panelBytes
// apart.
func (s tileSet) multiply(dst, x, w, res unsafe.Pointer, n, xStride, dstStride, blocks, panelBytes, cols int) {
	for c := 0; c < cols; {
		g := s.pick(n, (cols-c+panelRows-1)/panelRows)
		last := min(cols-c-(g.panels-1)*panelRows, panelRows)
		panel := unsafe.Add(w, c/panelRows*panelBytes)
		for r := 0; r < n; {
			t := g.pick(n - r)
			at := r*dstStride + c*f32Bytes
			aux := res
			if aux != nil {
				aux = unsafe.Add(res, at)
			}
			t.adjacent(unsafe.Add(dst, at), unsafe.Add(x, r*xStride), panel, aux, xStride, dstStride, blocks, panelBytes, last, uintptr(panel))
			r += t.rows
		}
		c += g.panels * panelRows
	}
}
