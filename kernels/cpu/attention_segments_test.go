package cpu_test

import (
	"fmt"
	"math"
	"testing"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu"
	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
	kt "github.com/ggmlc/ggmlc/kernels/kerneltest"
)

type segmentsKernel = func(dst, q, k, v, slot, pos unsafe.Pointer, shape cpu.AttentionShape, tokens, segments, u0, u1 int)

// segmentCase is an attentionCase with the kernel that sums segments.
type segmentCase struct {
	attentionCase
	cut segmentsKernel
}

var segmentCases = []segmentCase{
	{attentionCases[0], cpu.AttentionSegmentsF32},
	{attentionCases[1], cpu.AttentionSegmentsF16},
	{attentionCases[2], cpu.AttentionSegmentsR16F16},
	{attentionCases[3], cpu.AttentionSegmentsQ8_0},
	{attentionCases[4], cpu.AttentionSegmentsR16Q8_0},
	{attentionCases[5], cpu.AttentionSegmentsBF16R16F16},
	{attentionCases[6], cpu.AttentionSegmentsBF16R16Q8_0},
	{attentionCases[7], cpu.AttentionSegmentsQ4_0},
	{attentionCases[8], cpu.AttentionSegmentsR16Q4_0},
	{attentionCases[9], cpu.AttentionSegmentsBF16R16Q4_0},
}

// longAttention is a problem with a context of several segments. The scores of later positions
// are larger, then smaller again, so that both what was summed and what is added shrinks.
func longAttention(t *testing.T, cache dtype.DType, heads, kvHeads, d int, slot, pos []int32) *attention {
	t.Helper()
	a := &attention{seqs: 2, heads: heads, kvHeads: kvHeads, ctx: 3*tile.SegmentLen + 70, dk: d, dv: d, scale: 1, slot: slot, pos: pos}
	rng := kt.Rand(t)
	a.q = kt.Uniform(rng, len(pos)*heads*d)
	keys, values := kt.Uniform(rng, a.seqs*kvHeads*a.ctx*d), kt.Uniform(rng, a.seqs*kvHeads*a.ctx*d)
	for i := range keys {
		keys[i] *= 1 + 3*float32(math.Sin(float64(i/d%a.ctx)/300))
	}
	a.k, a.kv = kt.EncodeValues(t, cache, keys)
	a.v, a.vv = kt.EncodeValues(t, cache, values)
	return a
}

// buffers are the operands of a problem where kernels find them.
type buffers struct{ q, k, v, slot, pos *kt.Buffer }

func (a *attention) buffers(t testing.TB, c attentionCase) (b buffers) {
	b.q, a.qv = c.queries(t, a.q)
	c.round(a)
	return buffers{b.q, c.keys(a.k, a.ctx, a.dk), kt.NewBytes(a.v, 4), kt.NewInts(a.slot...), kt.NewInts(a.pos...)}
}

// whole computes rows [r0, r1) of dst at once.
func (a *attention) whole(f attentionKernel, b buffers, dst *kt.Buffer, r0, r1 int) {
	f(dst.Pointer(), b.q.Pointer(), b.k.Pointer(), b.v.Pointer(), b.slot.Pointer(), b.pos.Pointer(), a.sinkPointer(),
		a.shape(), r0, r1, 0, a.kvHeads)
}

// TestAttentionSegments cuts contexts of one to four segments at every place where workers
// may: the sums of all units, added up, are the bits that attention computes at once, for
// tokens that see different segments, also of two sequences, and for none.
func TestAttentionSegments(t *testing.T) {
	const s = tile.SegmentLen
	kt.ForEach(t, func(t *testing.T) {
		for _, c := range segmentCases {
			for i, pos := range [][]int32{{0}, {s - 1}, {s}, {2*s + 200}, {3*s + 60}, {3*s + 1, 5, -1, 2*s - 1}} {
				t.Run(fmt.Sprint(c, pos), func(t *testing.T) {
					slot, d := make([]int32, len(pos)), 32
					slot[len(pos)-1] = 1
					if !c.cache.IsQuantized() && i%2 == 1 {
						d = 13
					}
					a := longAttention(t, c.cache, 6, 2, d, slot, pos)
					a.testSegments(t, c)
				})
			}
			for name, change := range scorings {
				t.Run(fmt.Sprint(c, name), func(t *testing.T) {
					a := longAttention(t, c.cache, 6, 2, 32, []int32{0, 1, 0}, []int32{3*s + 1, -1, 2*s - 1})
					change(a)
					a.testSegments(t, c)
				})
			}
		}
	})
}

func (a *attention) testSegments(t *testing.T, c segmentCase) {
	rows, group, at := len(a.pos), a.heads/a.kvHeads, a.buffers(t, c.attentionCase)
	whole := kt.NewBuffer(rows*a.heads*a.dv*4, 0)
	a.whole(c.run, at, whole, 0, rows)
	c.compare(t, "attention", whole.Floats(), a, 5e-5)

	seen := 0
	for _, p := range a.pos {
		seen = max(seen, int(p)+1)
	}
	segments := tile.Segments(seen)
	units := segments * a.kvHeads
	unit := rows * group * (a.dv + 2) * 4
	sums := kt.NewBuffer(units*unit, 4)
	run := func(dst *kt.Buffer, u0, u1 int) {
		c.cut(dst.Pointer(), at.q.Pointer(), at.k.Pointer(), at.v.Pointer(), at.slot.Pointer(), at.pos.Pointer(),
			a.shape(), rows, segments, u0, u1)
	}
	run(sums, 0, units)
	sums.Check(t, "segments")
	for parts := 2; parts <= units+1; parts++ {
		for part := range parts {
			u0, u1 := tile.Range(units, 1, part, parts)
			one := kt.NewBuffer(units*unit, 0)
			run(one, u0, u1)
			one.Owned(t, "segments", unit, u0, u1, 0, unit)
			copy(sums.Bytes()[u0*unit:u1*unit], one.Bytes()[u0*unit:u1*unit])
		}
	}
	combined := kt.NewBuffer(rows*a.heads*a.dv*4, 0)
	for _, b := range kt.Boxes(kt.Rand(t), rows, a.heads, 1) {
		cpu.AttentionCombineF32(combined.Pointer(), sums.Pointer(), a.sinkPointer(), cpu.CombineShape{KVHeads: a.kvHeads, Group: group, ValueLen: a.dv}, rows, segments, b[0], b[1], b[2], b[3])
	}
	kt.Same(t, "segments", combined, whole)
}

// TestAttentionOfPromptsOverSegments has a prompt that ends in another segment than it begins,
// after a context: a token has the bits that it has alone.
func TestAttentionOfPromptsOverSegments(t *testing.T) {
	kt.ForEach(t, func(t *testing.T) {
		for _, c := range segmentCases {
			t.Run(c.String(), func(t *testing.T) {
				const rows, first = 40, 2*tile.SegmentLen - 17
				slot, pos := make([]int32, rows), make([]int32, rows)
				for i := range pos {
					pos[i] = int32(first + i)
				}
				a := longAttention(t, c.cache, 4, 1, 32, slot, pos)
				a.window = tile.SegmentLen // begins within the first chunk of some tokens, not of all
				b := a.buffers(t, c.attentionCase)
				whole, single := kt.NewBuffer(rows*a.heads*a.dv*4, 0), kt.NewBuffer(rows*a.heads*a.dv*4, 0)
				a.whole(c.run, b, whole, 0, rows)
				c.compare(t, "a prompt", whole.Floats(), a, 5e-5)
				for r := range rows {
					a.whole(c.run, b, single, r, r+1)
				}
				kt.Same(t, "token by token", single, whole)
			})
		}
	})
}

func TestAttentionSegmentsAllocateNothing(t *testing.T) {
	kt.ForEach(t, func(t *testing.T) {
		for _, c := range segmentCases {
			a := longAttention(t, c.cache, 4, 2, 32, []int32{0}, []int32{tile.SegmentLen})
			b, sums, dst := a.buffers(t, c.attentionCase), kt.NewBuffer(4*2*(32+2)*4, 0), kt.NewBuffer(4*32*4, 0)
			n := testing.AllocsPerRun(10, func() {
				c.cut(sums.Pointer(), b.q.Pointer(), b.k.Pointer(), b.v.Pointer(), b.slot.Pointer(), b.pos.Pointer(),
					a.shape(), 1, 2, 0, 4)
				cpu.AttentionCombineF32(dst.Pointer(), sums.Pointer(), nil, cpu.CombineShape{KVHeads: 2, Group: 2, ValueLen: 32}, 1, 2, 0, 1, 0, 4)
			})
			if n != 0 {
				t.Errorf("%v: %v allocations", c, n)
			}
		}
	})
}
