package cpu_test

import (
	"fmt"
	"math"
	"testing"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu"
	kt "github.com/ggmlc/ggmlc/kernels/kerneltest"
)

type attentionKernel = func(dst, q, k, v, slot, pos unsafe.Pointer, heads, kvHeads, ctx, dk, dv int, scale float32, r0, r1, h0, h1 int)

var attentionCases = []struct {
	cache dtype.DType
	run   attentionKernel
}{
	{dtype.F32, cpu.AttentionF32},
	{dtype.F16, cpu.AttentionF16},
	{dtype.Q8_0, cpu.AttentionQ8_0},
}

// attention is one problem, with its cache as stored and as values.
type attention struct {
	seqs, heads, kvHeads, ctx, dk, dv int
	slot, pos                         []int32
	scale                             float32
	q                                 []float32
	k, v                              []byte
	kv, vv                            []float64
}

func newAttention(t *testing.T, cache dtype.DType, heads, kvHeads, dk, dv int) *attention {
	a := &attention{seqs: 2, heads: heads, kvHeads: kvHeads, ctx: 150, dk: dk, dv: dv, scale: 0.5,
		slot: []int32{0, 1, 0, 1, 1, 0, 0}, pos: []int32{0, 3, 127, 128, 149, 100, -1}}
	rng := kt.Rand(t)
	a.q = kt.Uniform(rng, len(a.pos)*heads*dk)
	for i := range a.q {
		a.q[i] *= 4
	}
	a.k, a.kv = kt.Encode(t, rng, cache, a.seqs*kvHeads*a.ctx*dk)
	a.v, a.vv = kt.Encode(t, rng, cache, a.seqs*kvHeads*a.ctx*dv)
	return a
}

// want is the definition: softmax over all positions, in float64.
func (a *attention) want() []float64 {
	out := make([]float64, len(a.pos)*a.heads*a.dv)
	for r := range a.pos {
		for h := range a.heads {
			a.head(out[(r*a.heads+h)*a.dv:][:a.dv], r, h)
		}
	}
	return out
}

func (a *attention) head(out []float64, r, h int) {
	cache := (int(a.slot[r])*a.kvHeads + h/(a.heads/a.kvHeads)) * a.ctx
	n := int(a.pos[r]) + 1
	scores, most, sum := make([]float64, n), math.Inf(-1), 0.0
	for p := range scores {
		for i, x := range a.q[(r*a.heads+h)*a.dk:][:a.dk] {
			scores[p] += float64(a.scale) * float64(x) * a.kv[(cache+p)*a.dk+i]
		}
		most = max(most, scores[p])
	}
	for p := range scores {
		scores[p] = math.Exp(scores[p] - most)
		sum += scores[p]
	}
	for p := range scores {
		for i := range out {
			out[i] += scores[p] / sum * a.vv[(cache+p)*a.dv+i]
		}
	}
}

func TestAttention(t *testing.T) {
	kt.ForEach(t, func(t *testing.T) {
		for _, c := range attentionCases {
			for _, s := range [][4]int{{4, 4, 32, 32}, {8, 2, 64, 64}, {9, 1, 96, 32}, {6, 2, 64, 128}, {2, 1, 8, 8}, {2, 1, 5, 13}, {12, 1, 80, 80}} {
				if c.cache == dtype.Q8_0 && (s[2]%32 != 0 || s[3]%32 != 0) {
					continue
				}
				t.Run(fmt.Sprint(c.cache, s), func(t *testing.T) { testAttention(t, c.cache, c.run, s) })
			}
		}
	})
}

func testAttention(t *testing.T, cache dtype.DType, f attentionKernel, s [4]int) {
	a := newAttention(t, cache, s[0], s[1], s[2], s[3])
	rows := len(a.pos)
	size := rows * a.heads * a.dv * 4
	q, k, v := kt.NewFloats(a.q, 4), kt.NewBytes(a.k, 4), kt.NewBytes(a.v, 4)
	slot, pos := kt.NewInts(a.slot...), kt.NewInts(a.pos...)
	run := func(dst *kt.Buffer, r0, r1, h0, h1 int) {
		f(dst.Pointer(), q.Pointer(), k.Pointer(), v.Pointer(), slot.Pointer(), pos.Pointer(),
			a.heads, a.kvHeads, a.ctx, a.dk, a.dv, a.scale, r0, r1, h0, h1)
	}
	whole, cut := kt.NewBuffer(size, 4), kt.NewBuffer(size, 0)
	run(whole, 0, rows, 0, a.kvHeads)
	whole.Check(t, "attention")
	// Scores are sums of up to 96 products and up to 50 large; their rounding errors, of
	// some 2^-24 times that, are relative errors of the weights.
	kt.Compare(t, "attention", whole.Floats(), a.want(), kt.Tolerance{Abs: 1e-5})
	for _, b := range kt.Boxes(kt.Rand(t), rows, a.kvHeads, 1) {
		run(cut, b[0], b[1], b[2], b[3])
		one, head := kt.NewBuffer(size, 0), a.heads/a.kvHeads*a.dv*4
		run(one, b[0], b[1], b[2], b[3])
		one.Owned(t, "attention", a.heads*a.dv*4, b[0], b[1], b[2]*head, b[3]*head)
	}
	kt.Same(t, "attention in boxes", cut, whole)
}

// TestAttentionOfPrompts has blocks of many queries: a prompt behind a context, growing
// scores, a group of more heads than are read from the cache itself, and a state that must
// not be seen behind the last position: it is NaN.
func TestAttentionOfPrompts(t *testing.T) {
	kt.ForEach(t, func(t *testing.T) {
		for _, c := range attentionCases {
			for _, s := range [][3]int{{4, 1, 64}, {12, 1, 32}, {2, 2, 96}, {3, 1, 8}} {
				if c.cache == dtype.Q8_0 && s[2]%32 != 0 {
					continue
				}
				t.Run(fmt.Sprint(c.cache, s), func(t *testing.T) { testPrompt(t, c.cache, c.run, s[0], s[1], s[2]) })
			}
		}
	})
}

func testPrompt(t *testing.T, cache dtype.DType, f attentionKernel, heads, kvHeads, d int) {
	const before, rows = 90, 41
	a := &attention{seqs: 1, heads: heads, kvHeads: kvHeads, ctx: before + rows + 20, dk: d, dv: d, scale: 1}
	for i := range rows {
		a.slot, a.pos = append(a.slot, 0), append(a.pos, int32(before+i))
	}
	rng := kt.Rand(t)
	a.q = kt.Uniform(rng, rows*heads*d)
	keys, values := kt.Uniform(rng, kvHeads*a.ctx*d), kt.Uniform(rng, kvHeads*a.ctx*d)
	for i := range keys {
		keys[i] *= 1 + float32(i/d%a.ctx)/30 // later positions have larger scores
	}
	a.k, a.kv = kt.EncodeValues(t, cache, keys)
	a.v, a.vv = kt.EncodeValues(t, cache, values)
	unseen := a.pos[len(a.pos)-1] + 1
	for h := range kvHeads {
		row := len(a.v) / (kvHeads * a.ctx)
		for i := (h*a.ctx + int(unseen)) * row; i < (h+1)*a.ctx*row; i++ {
			a.k[i], a.v[i] = 0xff, 0xff // NaN, or a scale that is
		}
	}
	q, k, v := kt.NewFloats(a.q, 4), kt.NewBytes(a.k, 4), kt.NewBytes(a.v, 4)
	slot, pos := kt.NewInts(a.slot...), kt.NewInts(a.pos...)
	run := func(r0, r1 int, dst *kt.Buffer) {
		f(dst.Pointer(), q.Pointer(), k.Pointer(), v.Pointer(), slot.Pointer(), pos.Pointer(),
			heads, kvHeads, a.ctx, d, d, a.scale, r0, r1, 0, kvHeads)
	}
	whole, single := kt.NewBuffer(rows*heads*d*4, 0), kt.NewBuffer(rows*heads*d*4, 0)
	run(0, rows, whole)
	// Scores reach 200: an error of 2^-24 of that is a relative one of the weights.
	kt.Compare(t, "a prompt", whole.Floats(), a.want(), kt.Tolerance{Abs: 5e-5})
	for r := range rows {
		run(r, r+1, single)
	}
	kt.Same(t, "token by token", single, whole)
}

func TestAttentionAllocatesNothing(t *testing.T) {
	kt.ForEach(t, func(t *testing.T) {
		for _, c := range attentionCases {
			a := newAttention(t, c.cache, 4, 2, 32, 32)
			q, k, v, dst := kt.NewFloats(a.q, 0), kt.NewBytes(a.k, 0), kt.NewBytes(a.v, 0), kt.NewBuffer(len(a.q)*4, 0)
			slot, pos := kt.NewInts(a.slot...), kt.NewInts(a.pos...)
			n := testing.AllocsPerRun(10, func() {
				c.run(dst.Pointer(), q.Pointer(), k.Pointer(), v.Pointer(), slot.Pointer(), pos.Pointer(),
					a.heads, a.kvHeads, a.ctx, a.dk, a.dv, a.scale, 0, len(a.pos), 0, a.kvHeads)
			})
			if n != 0 {
				t.Errorf("%v: %v allocations", c.cache, n)
			}
		}
	})
}
