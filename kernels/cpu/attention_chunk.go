package cpu

import (
	"unsafe"

	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
)

// What a block of queries does with a chunk of positions: scores, weights, weighted values.

// query copies the shared heads of a token, from head number at of q on, to queries from row i on,
// multiplied by scale.
func (b *block) query(i, at int, scale float32) {
	row := b.queryBytes()
	to := unsafe.Add(pointer(b.queries), i*row)
	if b.bytes() {
		b.queryBlocks(to, unsafe.Add(b.q, at*row), scale)
		return
	}
	n, from := b.shared*b.KeyLen, floatAt(b.q, at*b.KeyLen)
	if b.loops.rounds() {
		active.scale(pointer(b.plain), from, n, scale, 0)
		active.f32ToBF16(to, pointer(b.plain), n)
		return
	}
	active.scale(to, from, n, scale, 0)
}

// queryBlocks copies the shared heads of a token in q8a.
func (b *block) queryBlocks(to, from unsafe.Pointer, scale float32) {
	n := b.shared * b.KeyLen / blockLen
	blocks := unsafe.Slice((*q8aBlock)(to), n)
	copy(blocks, unsafe.Slice((*q8aBlock)(from), n))
	for i := range blocks {
		blocks[i].d *= scale
	}
}

// bytes reports whether scores are products of bytes, with queries in q8a.
func (a *attention) bytes() bool { return a.packed && a.format.quantized() }

// queryBytes returns the bytes of a query.
func (b *block) queryBytes() int {
	if b.bytes() {
		return b.KeyLen / blockLen * q8aBytes
	}
	return b.KeyLen * b.operandBytes()
}

// operandBytes returns the bytes of what is multiplied as floats.
func (b *block) operandBytes() int {
	if b.loops.rounds() {
		return halfBytes
	}
	return f32Bytes
}

// queryAt returns the address of query i.
func (b *block) queryAt(i int) unsafe.Pointer {
	return unsafe.Add(pointer(b.queries), i*b.queryBytes())
}

// addMany adds m positions from p on to n rows from row i on, by way of panels.
func (b *block) addMany(i, n, p, m int) {
	k, v := b.keyRows(p), b.valueRows(p)
	b.turnKeys(k, m)
	b.ask(k, p, m)
	v.format, v.at, v.row = b.read(v, m)
	b.turnValues(v, 0, m)
	b.ask(v, p, m)
	for ; n > 0; i, n = i+scoredRows, n-scoredRows {
		b.addPanels(i, min(n, scoredRows), p, m, v)
	}
}

// turnKeys converts m keys to panels of factors, unless the cache has them in that form.
func (b *block) turnKeys(k stored, m int) {
	switch {
	case !b.packed:
		format, src, row := b.read(k, m)
		b.loops.keys[format](pointer(b.keys), src, m, b.KeyLen, row)
	case b.loops.rounds() && !b.bytes():
		b.loops.keyPairs(pointer(b.keys), k.at, wholePanels(m)*k.row/lineBytes)
	}
}

// turnValues converts m values from position at of the chunk on to panels of factors. at is even.
func (b *block) turnValues(v stored, at, m int) {
	to := unsafe.Add(pointer(b.values), at*panelRows*b.operandBytes())
	b.loops.values[v.format](to, unsafe.Add(v.at, at*v.row), m, b.ValueLen, v.row)
}

// scoreRow is the bytes of a row of scores.
const scoreRow = chunkLen * f32Bytes

// addPanels adds m positions from p on, with the values v, for as many rows as there is room for scores.
func (b *block) addPanels(i, n, p, m int, v stored) {
	if b.bytes() || b.packed && !b.loops.rounds() {
		b.scorePanels(i, n, p, m)
	} else {
		b.loops.tiles.multiply(formatF32, unsafe.Pointer(&b.scores), b.queryAt(i), pointer(b.keys), nil,
			n, b.queryBytes(), scoreRow, b.KeyLen, b.queryBytes()*panelRows, wholePanels(m))
	}
	for at := 0; at < n; {
		same, seen := b.alike(i+at, n-at, p), b.seen(i+at, p)
		if seen > 0 {
			b.weigh(i+at, at, same, p, seen)
			b.mixPanels(i+at, at, same, m, seen, v)
		}
		at += same
	}
}

// mixPanels adds the values of seen of m positions to n rows from row i on, whose weights are at scores[at] and
// after it. Where values are multiplied in pairs and seen is odd, the last value gets zeros as its partner for the time
// of the product: its real partner is hidden from these rows, and may be infinite or NaN.
func (b *block) mixPanels(i, at, n, m, seen int, v stored) {
	hidden := b.loops.rounds() && seen%2 != 0 && seen < m
	length := seen
	if b.loops.rounds() {
		length += seen % 2
	}
	if hidden {
		b.turnValues(v, seen-1, 1)
	}
	out := pointer(b.results[i*b.ValueLen:])
	b.loops.tiles.multiply(formatF32, out, unsafe.Pointer(&b.scores[at]), pointer(b.values), out,
		n, scoreRow, b.ValueLen*f32Bytes, length, chunkLen*panelRows*b.operandBytes(), b.ValueLen)
	if hidden {
		b.turnValues(v, seen-1, 2)
	}
}

// wholePanels returns the positions of the panels that hold m.
func wholePanels(m int) int { return (m + panelRows - 1) &^ (panelRows - 1) }

// scorePanels computes the scores of n rows from row i on for m positions from p on, as products with the panels
// of the cache. Positions of the last panel after the m positions get scores that are not used.
func (b *block) scorePanels(i, n, p, m int) {
	k, f := b.keyRows(p), ofPanels[b.format]
	set, x, xStride, blocks := active.matmul[f], b.queryAt(i), b.queryBytes(), b.KeyLen/formatShape[f].blockLen
	if s := active.signed[f]; s != nil && n > 1 {
		signs := pointer(b.keys) // unused where keys are blocks in panels; 32 rows take 76·KeyLen bytes of at least 512·KeyLen
		set = s.matmul
		if s.take(signs, x, n*blocks) <= boundedSum {
			set = s.boundedMatMul
		}
		x, xStride = signs, blocks*signsBytes
	}
	set.multiply(f, unsafe.Pointer(&b.scores), x, k.at, nil, n, xStride, scoreRow, blocks, k.row*panelRows, wholePanels(m))
}

// addFew adds m positions from p on to n rows from row i on, from the cache itself.
func (b *block) addFew(i, n, p, m int) {
	switch {
	case b.bytes():
		b.scorePanels(i, n, p, m)
	case b.packed:
		b.scoreFewPanels(i, n, p, m)
	default:
		b.scoreFew(i, n, p, m)
	}
	v := b.valueRows(p)
	bytes := v.format == cacheQ8 && b.loops.few[0].mixQ8 != nil
	var ahead, keys int
	if bytes {
		ahead, keys = b.ahead(v, p), b.keysAfter(v.at, p)
	} else {
		if b.bytes() {
			b.ask(b.keyRows(p), p, m)
		}
		v.format, v.at, v.row, ahead = b.readFew(v, p, m)
	}
	for at := 0; at < n; {
		same, seen := b.alike(i+at, n-at, p), b.seen(i+at, p)
		if seen == 0 {
			at += same
			continue
		}
		b.weigh(i+at, at, same, p, seen)
		for end := at + same; at < end; {
			l, out, weights := b.loops.pick(end-at), pointer(b.results[(i+at)*b.ValueLen:]), unsafe.Pointer(&b.scores[at])
			if bytes {
				l.mixQ8(out, weights, v.at, seen, b.ValueLen, v.row, ahead, keys)
			} else {
				l.mix[v.format](out, weights, v.at, seen, b.ValueLen, v.row, ahead)
			}
			at += l.heads
		}
	}
}

// keysAfter returns the distance from v to the keys in panels that are read after those of the chunk at p, 0 if
// there are none. The loop that adds values of q8_0 prefetches these keys: the products with keys are too short for so
// many requests, which would delay them.
func (b *block) keysAfter(v unsafe.Pointer, p int) int {
	if !b.bytes() {
		return 0
	}
	k := b.keyRows(p)
	ahead := b.ahead(k, p)
	if ahead == 0 {
		return 0
	}
	return int(uintptr(k.at)-uintptr(v)) + ahead
}

// scoreFew computes the scores of n rows from row i on for m positions from p on.
func (b *block) scoreFew(i, n, p, m int) {
	format, src, row, ahead := b.readFew(b.keyRows(p), p, m)
	for at := 0; at < n; {
		l := b.loops.pick(n - at)
		l.scores[format](unsafe.Pointer(&b.scores[at]), b.queryAt(i+at), src, m, b.KeyLen, row, ahead)
		at += l.heads
	}
}

// scoreFewPanels computes those scores from keys of f16 in panels.
func (b *block) scoreFewPanels(i, n, p, m int) {
	k := b.keyRows(p)
	for at, ahead := 0, b.ahead(k, p); at < n; {
		l := b.loops.pick(n - at)
		l.panels(unsafe.Pointer(&b.scores[at]), b.queryAt(i+at), k.at, wholePanels(m)/panelRows, b.KeyLen, ahead)
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

// weigh converts the scores of n rows from row i on, which are at scores[at] and after it, to weights. The
// first seen scores of a row count. Where the largest score of a row grows, earlier sums are scaled
// down.
func (b *block) weigh(i, at, n, p, seen int) {
	b.adjust(i, at, n, p, seen)
	b.loops.weigh(unsafe.Pointer(&b.scores[at]), unsafe.Pointer(&b.largest[i]), unsafe.Pointer(&b.sums[i]), unsafe.Pointer(&b.shrink[i]), n, seen)
	if p%tile.SegmentLen == 0 {
		return // the first chunk
	}
	for j, by := range b.shrink[i : i+n] {
		if by != 1 {
			out := pointer(b.results[(i+j)*b.ValueLen:])
			active.scale(out, out, b.ValueLen, by, 0)
		}
	}
}

// stored is rows of a state.
type stored struct {
	at     unsafe.Pointer
	format cacheFormat
	d, row int // elements and bytes of each
	head   int // rows that a head has room for
}

// keyRows returns the keys from position p on; where they are in panels, a row has as many
// bytes.
func (b *block) keyRows(p int) stored {
	k := b.rows(b.k, b.KeyLen, p)
	if b.packed {
		k.head = wholePanels(b.Context)
		k.at = unsafe.Add(b.k, (b.cache/b.Context*k.head+p%b.Context)*k.row)
	}
	return k
}

// valueRows returns the values from position p on.
func (b *block) valueRows(p int) stored { return b.rows(b.v, b.ValueLen, p) }

func (b *block) rows(state unsafe.Pointer, d, p int) stored {
	row := b.format.rowBytes(d)
	return stored{unsafe.Add(state, (b.cache+p%b.Context)*row), b.format, d, row, b.Context}
}

// read returns m rows in a format that panels are made from: in the cache, or decoded.
func (b *block) read(s stored, m int) (format cacheFormat, src unsafe.Pointer, row int) {
	switch s.format {
	case cacheQ8:
		active.decodeQ8(pointer(b.plain), s.at, m*s.d)
	case cacheQ4:
		active.decodeQ4(pointer(b.plain), s.at, m*s.d)
	default:
		return s.format, s.at, s.row
	}
	return cacheF32, pointer(b.plain), s.d * f32Bytes
}

// ahead returns the distance in bytes from the chunk at p to what is read next; 0 if nothing is.
func (b *block) ahead(s stored, p int) int {
	switch {
	case p+chunkLen < b.end:
		return ((p+chunkLen)%b.Context - p%b.Context) * s.row
	case b.last:
		return 0
	}
	return (s.head - p%b.Context) * s.row // the next head
}

// ask prefetches what is read next.
func (b *block) ask(s stored, p, m int) {
	if ahead := b.ahead(s, p); ahead > 0 && active.prefetch != nil {
		active.prefetch(unsafe.Add(s.at, ahead), (m*s.row+lineBytes-1)/lineBytes)
	}
}

// readFew returns m rows from p on as float32 or float16 for the loops for few queries: in the cache if they are of
// that format, otherwise decoded. ahead is the distance from the rows to what these loops prefetch.
func (b *block) readFew(s stored, p, m int) (format cacheFormat, src unsafe.Pointer, row, ahead int) {
	if !s.format.quantized() {
		return s.format, s.at, s.row, b.ahead(s, p)
	}
	format, src, row = b.read(s, m)
	b.ask(s, p, m)
	return format, src, row, 0
}

// multiply is a product of n rows of x with cols columns of panels. The distance between panels is
// panelBytes.
func (s tileSet) multiply(f format, dst, x, w, res unsafe.Pointer, n, xStride, dstStride, blocks, panelBytes, cols int) {
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
			t.adjacent(f, unsafe.Add(dst, at), unsafe.Add(x, r*xStride), panel, aux, xStride, dstStride, blocks, panelBytes, last, uintptr(panel))
			r += t.rows
		}
		c += g.panels * panelRows
	}
}
