package cpu

import (
	"math"
	"unsafe"
)

// Attention with grouped queries over a KV cache. For rows [r0, r1) and KV heads [h0, h1),
// and each query head of such a KV head,
//
//	dst[r, head, :] = Σp softmax_p(scale · q[r, head, :]·k[slot[r], h, p, :]) v[slot[r], h, p, :]
//
// over positions p in [0, pos[r]]: causal, as pos is the row's own position. q is f32
// [*, heads, dk], dst f32 [*, heads, dv], k and v are states [S, kvHeads, ctx, dk] and
// [S, kvHeads, ctx, dv]; slot and pos are i32 [*]. heads is a multiple of kvHeads, query
// head i reads KV head i/(heads/kvHeads). dst and q do not overlap. A row with a negative
// position gets zeros.
//
// There is no matrix of scores: chunks of chunkLen positions are combined in order with a
// running maximum and sum (M. Milakov, N. Gimelshein: Online normalizer calculation for
// softmax, 2018), so the result depends on no division of the work. Each chunk of k and v
// is read once for up to groupLen query heads.

// AttentionF32 reads f32 states.
//
//go:noinline
func AttentionF32(dst, q, k, v, slot, pos unsafe.Pointer, heads, kvHeads, ctx, dk, dv int, scale float32, r0, r1, h0, h1 int) {
	a := attention{dst, q, k, v, cacheF32, heads, kvHeads, ctx, dk, dv, scale}
	a.run(slot, pos, r0, r1, h0, h1)
}

// AttentionF16 reads f16 states.
//
//go:noinline
func AttentionF16(dst, q, k, v, slot, pos unsafe.Pointer, heads, kvHeads, ctx, dk, dv int, scale float32, r0, r1, h0, h1 int) {
	a := attention{dst, q, k, v, cacheF16, heads, kvHeads, ctx, dk, dv, scale}
	a.run(slot, pos, r0, r1, h0, h1)
}

// AttentionQ8_0 reads states of plain q8_0 rows; dk and dv are multiples of 32.
//
//go:noinline
func AttentionQ8_0(dst, q, k, v, slot, pos unsafe.Pointer, heads, kvHeads, ctx, dk, dv int, scale float32, r0, r1, h0, h1 int) {
	a := attention{dst, q, k, v, cacheQ8, heads, kvHeads, ctx, dk, dv, scale}
	a.run(slot, pos, r0, r1, h0, h1)
}

// cacheFormat is how the rows of a state are stored.
type cacheFormat uint8

const (
	cacheF32 cacheFormat = iota
	cacheF16
	cacheQ8
)

// rowBytes returns the bytes of a row of d elements.
func (f cacheFormat) rowBytes(d int) int {
	switch f {
	case cacheF32:
		return d * f32Bytes
	case cacheF16:
		return d * halfBytes
	default:
		return d / blockLen * q8Bytes
	}
}

// attentionLevel says which inner loops attention calls. They are called directly, not
// through a table: scores lie on the stack, and an indirect call would move them to the heap.
type attentionLevel uint8

const (
	attentionGeneric attentionLevel = iota
	attentionAVX2
	attentionAVX512
)

const (
	chunkLen = 64 // positions per step
	groupLen = 8  // query heads that share a chunk of k and v
)

// scores holds one chunk's scores, then weights, of a group of query heads.
type scores [groupLen][chunkLen]float32

// attention is the operands of one call.
type attention struct {
	dst, q, k, v        unsafe.Pointer
	format              cacheFormat
	heads, kvHeads, ctx int
	dk, dv              int
	scale               float32
}

// run walks KV heads in the outer loop, so that one head's cache stays near for all rows.
func (a *attention) run(slot, pos unsafe.Pointer, r0, r1, h0, h1 int) {
	group := a.heads / a.kvHeads
	for h := h0; h < h1; h++ {
		for r := r0; r < r1; r++ {
			cache := (index(slot, r)*a.kvHeads + h) * a.ctx
			for g := 0; g < group; g += groupLen {
				a.group(r*a.heads+h*group+g, min(group-g, groupLen), cache, index(pos, r)+1)
			}
		}
	}
}

// group computes n query heads, the first of which is row first of q and dst, over
// positions rows of k and v from row cache on.
func (a *attention) group(first, n, cache, positions int) {
	var s scores
	var most, sum [groupLen]float32
	for i := range n {
		most[i] = float32(math.Inf(-1))
	}
	kRow, vRow := a.format.rowBytes(a.dk), a.format.rowBytes(a.dv)
	q, out := floatAt(a.q, first*a.dk), floatAt(a.dst, first*a.dv)
	clear(floats(out, n*a.dv))
	for p := 0; p < positions; p += chunkLen {
		m := min(positions-p, chunkLen)
		attentionScores(a.format, &s, q, unsafe.Add(a.k, (cache+p)*kRow), n, m, a.dk, kRow, a.scale)
		for i := range n {
			a.weigh(&s[i], &most[i], &sum[i], floatAt(out, i*a.dv), m)
		}
		attentionMix(a.format, out, &s, unsafe.Add(a.v, (cache+p)*vRow), n, m, a.dv, vRow)
	}
	for i := range n {
		if sum[i] != 0 {
			row := floatAt(out, i*a.dv)
			active.scale(row, row, a.dv, 1/sum[i], 0)
		}
	}
}

// weigh turns m scores into weights relative to the largest score so far. If that grew,
// what was summed before shrinks accordingly.
func (a *attention) weigh(s *[chunkLen]float32, most, sum *float32, out unsafe.Pointer, m int) {
	before := *most
	*most = max(before, attentionMax(s, m))
	if *most > before && *sum != 0 {
		shrink := exp(before - *most)
		*sum *= shrink
		active.scale(out, out, a.dv, shrink, 0)
	}
	*sum += attentionExp(s, m, *most)
}
