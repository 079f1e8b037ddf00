package cpu

import (
	"math"
	"sync"
	"unsafe"

	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
)

// Attention with grouped queries over a KV cache. For rows [r0, r1) and KV heads [h0, h1),
// and each query head of such a KV head,
//
//	dst[r, head, :] = Σp softmax_p(Scale · q[r, head, :]·k[slot[r], h, p, :]) v[slot[r], h, p, :]
//
// over positions p in [0, pos[r]]: causal, as pos is the row's own position, unless Around is set. q is f32
// [*, Heads, KeyLen], dst f32 [*, Heads, ValueLen], k and v are the states of AttentionShape; slot
// and pos are i32 [*]. Query head i reads KV head i/(Heads/KVHeads). dst and q do not overlap. A row
// with a negative position gets zeros. sinks is nil, or f32 [Heads]: scores that take part in the softmax of a
// head without a value. Other changes of scores are in AttentionShape (attention_scores.go).
//
// With a window, positions may be more than Context: position p is in row p mod Context of the states, which keep the
// last positions of a sequence. Context is a multiple of tile.ChunkLen then, so that a chunk is in consecutive rows.
//
// There is no matrix of scores: chunks of chunkLen positions are combined in order with a
// running maximum and sum (M. Milakov, N. Gimelshein: Online normalizer calculation for
// softmax, 2018). A chunk is converted to panels of float32, with keys transposed, once for a
// block of queries: query heads that share a KV head, of one or of many tokens. With a block of 8
// queries, 64 elements and 128 positions the rest is two matrix products:
//
//	scores [8,128] = queries [8,64] · keys [128,64]ᵀ
//	results [8,64] += weights [8,128] · values [128,64]
//
// Their tiles add in one order, whatever shape they have, so that the result depends on no division of
// the work. Each segment of tile.SegmentLen positions is summed separately; attention_segments.go adds
// the sums up.

// AttentionF32 reads f32 states.
//
//go:noinline
func AttentionF32(dst, q, k, v, slot, pos, sinks unsafe.Pointer, shape AttentionShape, r0, r1, h0, h1 int) {
	a := attention{dst, q, k, v, sinks, shape, reading{format: cacheF32}}
	a.run(slot, pos, r0, r1, h0, h1)
}

// AttentionF16 reads f16 states. Keys are transposed: AttentionR16F16 is faster.
//
//go:noinline
func AttentionF16(dst, q, k, v, slot, pos, sinks unsafe.Pointer, shape AttentionShape, r0, r1, h0, h1 int) {
	a := attention{dst, q, k, v, sinks, shape, reading{format: cacheF16}}
	a.run(slot, pos, r0, r1, h0, h1)
}

// AttentionR16F16 reads f16 keys in layout r16, each head of each sequence a matrix [Context, KeyLen],
// and values as plain f16 rows. Scores are those of AttentionF16 where KeyLen and ValueLen are multiples of 8.
//
//go:noinline
func AttentionR16F16(dst, q, k, v, slot, pos, sinks unsafe.Pointer, shape AttentionShape, r0, r1, h0, h1 int) {
	a := attention{dst, q, k, v, sinks, shape, reading{format: cacheF16, packed: true}}
	a.run(slot, pos, r0, r1, h0, h1)
}

// AttentionQ8_0 reads states of plain q8_0 rows; KeyLen and ValueLen are multiples of 32. Keys are decoded:
// AttentionR16Q8_0 is faster.
//
//go:noinline
func AttentionQ8_0(dst, q, k, v, slot, pos, sinks unsafe.Pointer, shape AttentionShape, r0, r1, h0, h1 int) {
	a := attention{dst, q, k, v, sinks, shape, reading{format: cacheQ8}}
	a.run(slot, pos, r0, r1, h0, h1)
}

// AttentionR16Q8_0 reads keys in layout r16 of q8_0, each head of each sequence a matrix
// [Context, KeyLen], and values as plain q8_0 rows; q is q8a [*, Heads, KeyLen], and KeyLen and ValueLen
// are multiples of 32. Scores are products of integers, with the tiles of matrix products.
//
//go:noinline
func AttentionR16Q8_0(dst, q, k, v, slot, pos, sinks unsafe.Pointer, shape AttentionShape, r0, r1, h0, h1 int) {
	a := attention{dst, q, k, v, sinks, shape, reading{format: cacheQ8, packed: true}}
	a.run(slot, pos, r0, r1, h0, h1)
}

// AttentionQ4_0 reads states of plain q4_0 rows; KeyLen and ValueLen are multiples of 32. Keys are decoded:
// AttentionR16Q4_0 is faster.
//
//go:noinline
func AttentionQ4_0(dst, q, k, v, slot, pos, sinks unsafe.Pointer, shape AttentionShape, r0, r1, h0, h1 int) {
	a := attention{dst, q, k, v, sinks, shape, reading{format: cacheQ4}}
	a.run(slot, pos, r0, r1, h0, h1)
}

// AttentionR16Q4_0 reads keys in layout r16 of q4_0 and values as plain q4_0 rows, otherwise as AttentionR16Q8_0 does.
//
//go:noinline
func AttentionR16Q4_0(dst, q, k, v, slot, pos, sinks unsafe.Pointer, shape AttentionShape, r0, r1, h0, h1 int) {
	a := attention{dst, q, k, v, sinks, shape, reading{format: cacheQ4, packed: true}}
	a.run(slot, pos, r0, r1, h0, h1)
}

// Kernels with BF16 in their name may round what they multiply to bfloat16: queries, keys, weights and values,
// each with a relative error of at most 2^-8. They round where the processor multiplies bfloat16 (VDPBF16PS) and the
// lengths of rows are multiples of 16 elements. Otherwise they compute what the kernels without BF16 compute. Rounded
// weights are also what is summed.

// AttentionBF16R16F16 reads what AttentionR16F16 reads, and rounds.
//
//go:noinline
func AttentionBF16R16F16(dst, q, k, v, slot, pos, sinks unsafe.Pointer, shape AttentionShape, r0, r1, h0, h1 int) {
	a := attention{dst, q, k, v, sinks, shape, reading{format: cacheF16, packed: true, round: true}}
	a.run(slot, pos, r0, r1, h0, h1)
}

// AttentionBF16R16Q8_0 reads what AttentionR16Q8_0 reads, and rounds weights and values; scores are the same.
//
//go:noinline
func AttentionBF16R16Q8_0(dst, q, k, v, slot, pos, sinks unsafe.Pointer, shape AttentionShape, r0, r1, h0, h1 int) {
	a := attention{dst, q, k, v, sinks, shape, reading{format: cacheQ8, packed: true, round: true}}
	a.run(slot, pos, r0, r1, h0, h1)
}

// AttentionBF16R16Q4_0 reads what AttentionR16Q4_0 reads, and rounds weights and values; scores are the same.
//
//go:noinline
func AttentionBF16R16Q4_0(dst, q, k, v, slot, pos, sinks unsafe.Pointer, shape AttentionShape, r0, r1, h0, h1 int) {
	a := attention{dst, q, k, v, sinks, shape, reading{format: cacheQ4, packed: true, round: true}}
	a.run(slot, pos, r0, r1, h0, h1)
}

// cacheFormat is the dtype of states.
type cacheFormat uint8

const (
	cacheF32 cacheFormat = iota
	cacheF16
	cacheQ8
	cacheQ4
	numCaches
)

// ofPanels is the format of the tiles that multiply with keys in panels.
var ofPanels = [numCaches]format{formatF32, formatF16, formatQ8, formatQ4}

// quantized reports whether rows are blocks: scores are products of bytes if they are in panels, and values are
// decoded.
func (f cacheFormat) quantized() bool { return f >= cacheQ8 }

// rowBytes returns the bytes of a row of d elements.
func (f cacheFormat) rowBytes(d int) int {
	switch f {
	case cacheF32:
		return d * f32Bytes
	case cacheF16:
		return d * halfBytes
	case cacheQ8:
		return d / blockLen * q8Bytes
	default:
		return d / blockLen * q4Bytes
	}
}

// attentionLoops is what an implementation has for attention.
type attentionLoops struct {
	lanes int      // rows of k and v are multiples of so many elements
	tiles *tileSet // products with panels

	// Convert n rows of d elements, whose distance is row bytes, to panels. A panel of keys is the first
	// elements of 16 positions, then their second elements and so on; one of values is 16 elements of
	// each position.
	keys, values [cacheQ8]panelsFunc

	few   []fewLoops // by heads, most first; the last has one, if there is any
	weigh func(s, largest, sums, shrink unsafe.Pointer, n, m int)

	exponent float64 // weigh takes powers of e^(1/exponent): queries are multiplied by it

	// keyPairs makes pairs of bfloat16 of n lines of panels of f16 keys. It is there where what is multiplied is
	// rounded to bfloat16: queries are that then, weights at the head of their rows, and panels of values pairs of
	// positions.
	keyPairs func(dst, k unsafe.Pointer, n int)
}

// rounds reports whether factors are rounded to bfloat16.
func (l *attentionLoops) rounds() bool { return l.keyPairs != nil }

// fewLoops is both products for a few queries, from the cache itself: scores sets
// s[i][p] = q[i]·k[p], mix adds Σp s[i][p]·v[p] to dst[i], for m positions. Both prefetch what is ahead
// bytes further on, and add in the order of the tiles. Without mixQ8, values of q8_0 are decoded first. Values of q4_0,
// and keys in rows of both, always are.
type fewLoops struct {
	heads  int
	scores [cacheQ8]scoresFunc
	panels panelScoresFunc // with keys of f16 in panels
	mix    [cacheQ8]mixFunc
	mixQ8  mixQ8Func
}

type (
	panelsFunc      func(dst, src unsafe.Pointer, n, d, row int)
	scoresFunc      func(s, q, k unsafe.Pointer, m, d, kRow, ahead int)
	panelScoresFunc func(s, q, k unsafe.Pointer, n, d, ahead int)
	mixFunc         func(dst, s, v unsafe.Pointer, m, d, vRow, ahead int)
	mixQ8Func       func(dst, s, v unsafe.Pointer, m, d, vRow, ahead, beside int)
)

// roundedAttentionFor returns the loops for rows of these lengths that round, or those of attentionFor if there are
// none.
func roundedAttentionFor(dk, dv int) *attentionLoops {
	if l := active.roundedAttention; l != nil && (dk|dv)%l.lanes == 0 {
		return l
	}
	return attentionFor(dk, dv)
}

// attentionFor returns the loops for rows of these lengths that do not round.
func attentionFor(dk, dv int) *attentionLoops {
	for _, l := range active.attention {
		if (dk|dv)%l.lanes == 0 {
			return l
		}
	}
	panic("cpu: internal error: no attention for any length of rows")
}

const (
	chunkLen   = tile.ChunkLen // positions per step
	mostRows   = 256           // queries of a block
	rowFloats  = 16384         // elements of a block's queries: with their results they stay in L2
	scoredRows = 32            // queries whose scores are in memory at once: they stay in L1
	fewRows    = 8             // so many queries read the cache itself: panels would cost more
)

// attention is the operands of one call.
type attention struct {
	dst, q, k, v, sinks unsafe.Pointer
	AttentionShape
	reading
}

// reading is how states are read.
type reading struct {
	format cacheFormat
	packed bool // keys are in panels
	round  bool // products may round
}

// run walks KV heads in the outer loop, so that one head's cache stays near for all rows.
func (a *attention) run(slot, pos unsafe.Pointer, r0, r1, h0, h1 int) {
	b := a.block()
	for h := h0; h < h1; h++ {
		b.last = h == h1-1
		b.head(slot, pos, h, r0, r1)
	}
	b.release()
}

// block returns a block that works on a.
func (a *attention) block() *block {
	b := spare.Get().(*block)
	loops := attentionFor
	if a.round {
		loops = roundedAttentionFor
	}
	b.attention, b.loops, b.wanted = *a, loops(a.KeyLen, a.ValueLen), wanted{}
	b.fit(max(a.KeyLen, a.ValueLen, 1))
	return b
}

// release gives b back; nothing is kept alive by it.
func (b *block) release() {
	b.attention, b.wanted = attention{}, wanted{}
	spare.Put(b)
}

// head does rows [r0, r1) of the query heads that share KV head h.
func (b *block) head(slot, pos unsafe.Pointer, h, r0, r1 int) {
	group := b.Heads / b.KVHeads
	for g := 0; g < group; g += b.shared {
		b.shared = min(group-g, b.most)
		for r := r0; r < r1; r += b.tokens {
			b.tokens = sameSlot(slot, r, min(r1, r+b.most/b.shared))
			b.cache = (index(slot, r)*b.KVHeads + h) * b.Context
			b.take(r, h*group+g, slot, pos)
			if b.wanted.n > 0 {
				b.storeSegments(r, g)
			} else {
				b.compute(r, h*group+g)
			}
		}
	}
}

// sameSlot returns how many rows from r on, below r1, are of one sequence.
func sameSlot(slot unsafe.Pointer, r, r1 int) int {
	n := 1
	for r+n < r1 && index(slot, r+n) == index(slot, r) {
		n++
	}
	return n
}

// block is queries that share chunks of a cache: as rows, tokens outermost.
type block struct {
	attention
	loops          *attentionLoops
	tokens, shared int  // so many rows of q and dst, and heads of each
	cache          int  // row of k and v where the head begins
	last           bool // no other KV head follows
	most           int  // queries that there is memory for
	begin, end     int  // positions that some token sees
	latest, common int  // positions that all see
	firstHead      int  // of the queries of a row

	queries      []float32 // queries times scale; as q8a for panels of q8_0, or bfloat16
	keys, values []float32 // a chunk in panels
	plain        []float32 // a chunk's rows as float32, where the format is not read directly

	starts [mostRows]int // by token: positions that it sees
	limits [mostRows]int
	own    [mostRows]int // its position
	scores [scoredRows][chunkLen]float32
	shrink [mostRows]float32 // by query: what a chunk multiplies earlier weights by

	partial         // sums of the segment
	total   partial // of all segments so far
	factors factors

	wanted wanted // the segments whose sums are asked for, if not all together
}

// spare holds blocks between calls. They are not on the stack, as their memory would be
// cleared in every call.
var spare = sync.Pool{New: func() any { return new(block) }}

// fit makes room for rows of up to d elements.
func (b *block) fit(d int) {
	b.most = min(max(rowFloats/d, 1), mostRows)
	const widest = panelRows // of the unused rest of the last panel
	if n := max(b.most, chunkLen) * (d + widest); len(b.keys) < n {
		for _, to := range []*[]float32{&b.queries, &b.results, &b.total.results, &b.keys, &b.values, &b.plain} {
			*to = make([]float32, n)
		}
	}
}

// take begins work on rows from r on, heads from head on.
func (b *block) take(r, head int, slot, pos unsafe.Pointer) {
	b.begin, b.end, b.latest, b.common = math.MaxInt, 0, 0, math.MaxInt
	b.firstHead = head
	scale := float32(float64(b.Scale) * b.loops.exponent)
	for t := range b.tokens {
		b.limits[t] = index(pos, r+t) + 1
		b.starts[t], b.own[t] = b.windowStart(b.limits[t]), b.limits[t]-1
		if b.Around > 0 {
			b.own[t] = rowsBefore(slot, r) + t
			b.starts[t], b.limits[t] = max(0, b.own[t]-b.Around), min(b.limits[t], b.own[t]+b.Around+1)
		}
		b.begin, b.end = min(b.begin, b.starts[t]), max(b.end, b.limits[t])
		b.latest, b.common = max(b.latest, b.starts[t]), min(b.common, b.limits[t])
		b.query(t*b.shared, (r+t)*b.Heads+head, scale)
	}
}

// rowsBefore returns how many rows directly before row r are of its sequence.
func rowsBefore(slot unsafe.Pointer, r int) int {
	n := 0
	for n < r && index(slot, r-1-n) == index(slot, r) {
		n++
	}
	return n
}

// compute does the rows that were taken, from r on, heads from head on.
func (b *block) compute(r, head int) {
	rows := b.tokens * b.shared
	b.sum(0, min(b.end, tile.SegmentLen))
	b.results, b.total.results = b.total.results, b.results
	copy(b.total.largest[:], b.largest[:rows])
	copy(b.total.sums[:], b.sums[:rows])
	for p := tile.SegmentLen; p < b.end; p += tile.SegmentLen {
		b.sum(p, min(b.end, p+tile.SegmentLen))
		b.merge(rows)
	}
	for t := range b.tokens {
		b.store(floatAt(b.dst, ((r+t)*b.Heads+head)*b.ValueLen), t, head)
	}
}

// sum makes the sums of one segment, or its beginning: of positions [p, end), for the rows
// that were taken.
func (b *block) sum(p, end int) {
	rows := b.tokens * b.shared
	b.partial.clear(rows, b.ValueLen)
	for p = max(p, b.begin&^(chunkLen-1)); p < end; p += chunkLen {
		b.chunk(p, min(end-p, chunkLen))
	}
	toPowersOf2(b.largest[:rows], b.loops.exponent)
}

// chunk adds the m positions from p on, for the tokens that see some of them.
func (b *block) chunk(p, m int) {
	first, last := 0, b.tokens
	for first < last && !b.sees(first, p) {
		first++
	}
	for first < last && !b.sees(last-1, p) {
		last--
	}
	if first == last {
		return
	}
	i, n := first*b.shared, (last-first)*b.shared
	if n <= fewRows && b.loops.few != nil {
		b.addFew(i, n, p, m)
	} else {
		b.addMany(i, n, p, m)
	}
}

// sees reports whether token t sees some position of the chunk from p on.
func (b *block) sees(t, p int) bool { return b.limits[t] > p && b.starts[t] < p+chunkLen }

// seen returns how many positions of the chunk from p on are before the end of what row i sees; 0 if it sees none of
// them.
func (b *block) seen(i, p int) int {
	if t := i / b.shared; b.sees(t, p) {
		return min(b.limits[t]-p, chunkLen)
	}
	return 0
}

// hidden returns how many positions of the chunk from p on are before the first one that row i sees.
func (b *block) hidden(i, p int) int { return max(b.starts[i/b.shared]-p, 0) }

// alike returns how many of n rows from row i on see the same positions of the chunk as row i.
func (b *block) alike(i, n, p int) int {
	if b.common >= p+chunkLen && b.latest <= p {
		return n
	}
	seen, hidden, same := b.seen(i, p), b.hidden(i, p), 1
	for same < n && b.seen(i+same, p) == seen && b.hidden(i+same, p) == hidden {
		same++
	}
	return same
}

// store writes the results of token t, of heads from head on.
func (b *block) store(dst unsafe.Pointer, t, head int) {
	for h := range b.shared {
		i := t*b.shared + h
		by := sinkFactor(b.sinks, head+h, b.total.largest[i], b.total.sums[i])
		active.scale(floatAt(dst, h*b.ValueLen), pointer(b.total.results[i*b.ValueLen:]), b.ValueLen, by, 0)
	}
}

// pointer returns the address of the first element of s.
func pointer(s []float32) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s)) }
