package cpu

import (
	"math"
	"unsafe"

	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
)

// Attention over segments of a context, for workers that share heads: with few queries a
// unit of work is one KV head in one segment of tile.SegmentLen positions, unit u the
// segment u%segments of head u/segments. Its result is what has been summed for each query
// of the head, f32 [KVHeads*segments, tokens, Heads/KVHeads, dv+2] with dv the ValueLen:
//
//	row[:dv] = Σp 2^(log2(e)·score(p) - row[dv])·v[p], row[dv+1] = Σp 2^(log2(e)·score(p) - row[dv])
//
// with row[dv] the largest of log2(e)·score, or somewhat less. A token that sees nothing of a
// segment has zeros there, and -Inf as row[dv].
//
// AttentionCombineF32 adds the segments up in order. That is what AttentionF32 and its like do
// by themselves, with the same arithmetic: the results are the same bits.

// AttentionSegmentsF32 computes units [u0, u1) over f32 states. Operands are those of
// AttentionF32; all of the tokens' positions are below segments*tile.SegmentLen.
//
//go:noinline
func AttentionSegmentsF32(dst, q, k, v, slot, pos unsafe.Pointer, shape AttentionShape, tokens, segments, u0, u1 int) {
	a := attention{dst, q, k, v, nil, shape, reading{format: cacheF32}}
	a.runSegments(slot, pos, tokens, segments, u0, u1)
}

// AttentionSegmentsF16 reads f16 states.
//
//go:noinline
func AttentionSegmentsF16(dst, q, k, v, slot, pos unsafe.Pointer, shape AttentionShape, tokens, segments, u0, u1 int) {
	a := attention{dst, q, k, v, nil, shape, reading{format: cacheF16}}
	a.runSegments(slot, pos, tokens, segments, u0, u1)
}

// AttentionSegmentsR16F16 reads what AttentionR16F16 reads.
//
//go:noinline
func AttentionSegmentsR16F16(dst, q, k, v, slot, pos unsafe.Pointer, shape AttentionShape, tokens, segments, u0, u1 int) {
	a := attention{dst, q, k, v, nil, shape, reading{format: cacheF16, packed: true}}
	a.runSegments(slot, pos, tokens, segments, u0, u1)
}

// AttentionSegmentsQ8_0 reads states of plain q8_0 rows; KeyLen and ValueLen are multiples of 32.
//
//go:noinline
func AttentionSegmentsQ8_0(dst, q, k, v, slot, pos unsafe.Pointer, shape AttentionShape, tokens, segments, u0, u1 int) {
	a := attention{dst, q, k, v, nil, shape, reading{format: cacheQ8}}
	a.runSegments(slot, pos, tokens, segments, u0, u1)
}

// AttentionSegmentsR16Q8_0 reads what AttentionR16Q8_0 reads.
//
//go:noinline
func AttentionSegmentsR16Q8_0(dst, q, k, v, slot, pos unsafe.Pointer, shape AttentionShape, tokens, segments, u0, u1 int) {
	a := attention{dst, q, k, v, nil, shape, reading{format: cacheQ8, packed: true}}
	a.runSegments(slot, pos, tokens, segments, u0, u1)
}

// AttentionSegmentsBF16R16F16 reads and rounds as AttentionBF16R16F16 does.
//
//go:noinline
func AttentionSegmentsBF16R16F16(dst, q, k, v, slot, pos unsafe.Pointer, shape AttentionShape, tokens, segments, u0, u1 int) {
	a := attention{dst, q, k, v, nil, shape, reading{format: cacheF16, packed: true, round: true}}
	a.runSegments(slot, pos, tokens, segments, u0, u1)
}

// AttentionSegmentsBF16R16Q8_0 reads and rounds as AttentionBF16R16Q8_0 does.
//
//go:noinline
func AttentionSegmentsBF16R16Q8_0(dst, q, k, v, slot, pos unsafe.Pointer, shape AttentionShape, tokens, segments, u0, u1 int) {
	a := attention{dst, q, k, v, nil, shape, reading{format: cacheQ8, packed: true, round: true}}
	a.runSegments(slot, pos, tokens, segments, u0, u1)
}

// AttentionSegmentsQ4_0 reads states of plain q4_0 rows; KeyLen and ValueLen are multiples of 32.
//
//go:noinline
func AttentionSegmentsQ4_0(dst, q, k, v, slot, pos unsafe.Pointer, shape AttentionShape, tokens, segments, u0, u1 int) {
	a := attention{dst, q, k, v, nil, shape, reading{format: cacheQ4}}
	a.runSegments(slot, pos, tokens, segments, u0, u1)
}

// AttentionSegmentsR16Q4_0 reads what AttentionR16Q4_0 reads.
//
//go:noinline
func AttentionSegmentsR16Q4_0(dst, q, k, v, slot, pos unsafe.Pointer, shape AttentionShape, tokens, segments, u0, u1 int) {
	a := attention{dst, q, k, v, nil, shape, reading{format: cacheQ4, packed: true}}
	a.runSegments(slot, pos, tokens, segments, u0, u1)
}

// AttentionSegmentsBF16R16Q4_0 reads and rounds as AttentionBF16R16Q4_0 does.
//
//go:noinline
func AttentionSegmentsBF16R16Q4_0(dst, q, k, v, slot, pos unsafe.Pointer, shape AttentionShape, tokens, segments, u0, u1 int) {
	a := attention{dst, q, k, v, nil, shape, reading{format: cacheQ4, packed: true, round: true}}
	a.runSegments(slot, pos, tokens, segments, u0, u1)
}

// sumTail is the number of elements after the values in a row of sums: the exponent that the values are
// relative to, and the sum of weights.
const sumTail = 2

// wanted is the segments of a KV head whose sums are results. Without segments the result is
// attention.
type wanted struct {
	dst      unsafe.Pointer // sums of the head's first segment
	tokens   int
	first, n int
}

// runSegments takes as many segments of a head at once as it has to do.
func (a *attention) runSegments(slot, pos unsafe.Pointer, tokens, segments, u0, u1 int) {
	b := a.block()
	unit := tokens * (a.Heads / a.KVHeads) * (a.ValueLen + sumTail)
	for u := u0; u < u1; u += b.wanted.n {
		h, first := u/segments, u%segments
		b.wanted = wanted{floatAt(a.dst, h*segments*unit), tokens, first, min(segments-first, u1-u)}
		b.last = u+b.wanted.n == u1
		b.head(slot, pos, h, 0, tokens)
	}
	b.release()
}

// storeSegments sums the wanted segments one by one for the rows that were taken: tokens from
// r on, heads from head g of the KV head's group on.
func (b *block) storeSegments(r, g int) {
	w := &b.wanted
	b.end = min(b.end, (w.first+w.n)*tile.SegmentLen)
	for s := w.first; s < w.first+w.n; s++ {
		p := s * tile.SegmentLen
		b.sum(p, min(b.end, p+tile.SegmentLen))
		for t := range b.tokens {
			at := (s*w.tokens+r+t)*(b.Heads/b.KVHeads) + g
			b.storeSums(floatAt(w.dst, at*(b.ValueLen+sumTail)), t)
		}
	}
}

// storeSums writes what has been summed for token t.
func (b *block) storeSums(dst unsafe.Pointer, t int) {
	for h := range b.shared {
		i := t*b.shared + h
		row := floats(floatAt(dst, h*(b.ValueLen+sumTail)), b.ValueLen+sumTail)
		copy(row, b.results[i*b.ValueLen:][:b.ValueLen])
		row[b.ValueLen], row[b.ValueLen+1] = b.largest[i], b.sums[i]
	}
}

// partial is what has been summed over some positions, by query of a block.
type partial struct {
	results []float32         // Σ weight·value
	largest [mostRows]float32 // what weights are relative to: e^largest in chunks, 2^largest between segments
	sums    [mostRows]float32 // Σ weight
}

// clear begins sums of rows of d elements.
func (s *partial) clear(rows, d int) {
	clear(s.results[:rows*d])
	clear(s.sums[:rows])
	for i := range s.largest[:rows] {
		s.largest[i] = float32(math.Inf(-1))
	}
}

// toPowersOf2 changes what weights are relative to from powers of e^(1/exponent) to powers
// of 2: for assembly they are that.
func toPowersOf2(largest []float32, exponent float64) {
	unit := float32(math.Log2E / exponent)
	for i := range largest {
		largest[i] *= unit
	}
}

// sinkFactor returns what results relative to 2^largest are multiplied by: 1/sum, with the sink of a head as a part of
// the sum if there are sinks. It is 0 where nothing has been summed.
func sinkFactor(sinks unsafe.Pointer, head int, largest, sum float32) float32 {
	if sum == 0 {
		return 0
	}
	if sinks == nil {
		return 1 / sum
	}
	z := math.Log2E*float64(*(*float32)(floatAt(sinks, head))) - float64(largest)
	if z > 0 { // relative to the sink: powers of it could overflow
		small := math.Exp2(-z)
		return float32(small / (float64(sum)*small + 1))
	}
	return float32(1 / (float64(sum) + math.Exp2(z)))
}

// merge adds the sums of a segment to those of the segments before. Rows that see nothing
// of it stay as they are.
func (b *block) merge(rows int) {
	t := &b.total
	for i := range rows {
		b.factors.set(i, &t.largest[i], b.largest[i])
	}
	b.factors.exp(rows)
	for i, sum := range b.sums[:rows] {
		if sum != 0 {
			b.factors.add(i, &t.sums[i], sum, pointer(t.results[i*b.ValueLen:]), pointer(b.results[i*b.ValueLen:]), b.ValueLen)
		}
	}
}

// factors are what sums of segments are multiplied by when they are added up: by the place of
// the sum, that of what was there and that of what is added. One of the two is 1.
type factors struct{ keep, new [mostRows]float32 }

// set prepares place i for sums relative to 2^next, where *largest is what those before are
// relative to, and becomes what the total is relative to. exp has to follow.
func (f *factors) set(i int, largest *float32, next float32) {
	most := max(*largest, next)
	f.keep[i], f.new[i] = (*largest-most)*math.Ln2, (next-most)*math.Ln2
	*largest = most
}

// exp makes the first n factors of what set has left.
func (f *factors) exp(n int) {
	for _, x := range []*float32{&f.keep[0], &f.new[0]} {
		active.unary[unaryExp](unsafe.Pointer(x), unsafe.Pointer(x), n)
	}
}

// add adds a sum of weights, and d sums of weighted values, by the factors of place i.
func (f *factors) add(i int, total *float32, sum float32, results, x unsafe.Pointer, d int) {
	*total = float32(*total*f.keep[i]) + float32(sum*f.new[i])
	active.blend(results, x, d, f.keep[i], f.new[i])
}

// AttentionCombineF32 adds the sums of AttentionSegmentsF32 and its like up: x f32
// [KVHeads*segments, tokens, Group, ValueLen+2], dst f32 [tokens, KVHeads*Group, ValueLen]. It computes
// rows [r0, r1) of heads [h0, h1) of queries. sinks are those of AttentionF32.
//
//go:noinline
func AttentionCombineF32(dst, x, sinks unsafe.Pointer, shape CombineShape, tokens, segments, r0, r1, h0, h1 int) {
	b := spare.Get().(*block)
	group, dv := shape.Group, shape.ValueLen
	row := dv + sumTail
	for r := r0; r < r1; r++ {
		for h := h0; h < h1; h++ {
			at := (h/group*segments*tokens+r)*group + h%group
			c := sums{floatAt(x, at*row), tokens * group * row, dv, sinks, h}
			c.combine(&b.factors, floatAt(dst, (r*shape.KVHeads*group+h)*dv), segments)
		}
	}
	spare.Put(b)
}

// sums are those of one query, for one segment after the other.
type sums struct {
	x        unsafe.Pointer
	unit, dv int // elements from one segment to the next, of a value

	sinks unsafe.Pointer // nil: none
	head  int
}

// at returns the sums of segment s: the address of the results, the exponent that they are relative to, and
// the sum of weights.
func (c *sums) at(s int) (results unsafe.Pointer, largest, sum float32) {
	results = floatAt(c.x, s*c.unit)
	tail := floats(floatAt(results, c.dv), sumTail)
	return results, tail[0], tail[1]
}

// combine adds so many segments up in dst, with the factors of some of them at a time. The sum of
// none is zero.
func (c *sums) combine(f *factors, dst unsafe.Pointer, segments int) {
	if segments == 0 {
		clear(floats(dst, c.dv))
		return
	}
	first, largest, total := c.at(0)
	copy(floats(dst, c.dv), floats(first, c.dv))
	for s := 1; s < segments; s += mostRows {
		n := min(segments-s, mostRows)
		for i := range n {
			_, next, _ := c.at(s + i)
			f.set(i, &largest, next)
		}
		f.exp(n)
		for i := range n {
			if x, _, sum := c.at(s + i); sum != 0 {
				f.add(i, &total, sum, dst, x, c.dv)
			}
		}
	}
	active.scale(dst, dst, c.dv, sinkFactor(c.sinks, c.head, largest, total), 0)
}
