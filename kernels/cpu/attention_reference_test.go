package cpu_test

import (
	"cmp"
	"math"
	"testing"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu"
	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
	kt "github.com/ggmlc/ggmlc/kernels/kerneltest"
)

type stateWriter = func(state, x, slot, pos unsafe.Pointer, shape cpu.StateShape, r0, r1, h0, h1 int)

type attentionKernel = func(dst, q, k, v, slot, pos, sinks unsafe.Pointer, shape cpu.AttentionShape, r0, r1, h0, h1 int)

// attentionCase is a kernel and what it reads: with packed, keys in layout r16, and q in q8a where they are quantized.
// With bf16 it may round what it multiplies.
type attentionCase struct {
	cache  dtype.DType
	packed bool
	run    attentionKernel
	bf16   bool
}

var attentionCases = []attentionCase{
	{dtype.F32, false, cpu.AttentionF32, false},
	{dtype.F16, false, cpu.AttentionF16, false},
	{dtype.F16, true, cpu.AttentionR16F16, false},
	{dtype.Q8_0, false, cpu.AttentionQ8_0, false},
	{dtype.Q8_0, true, cpu.AttentionR16Q8_0, false},
	{dtype.F16, true, cpu.AttentionBF16R16F16, true},
	{dtype.Q8_0, true, cpu.AttentionBF16R16Q8_0, true},
	{dtype.Q4_0, false, cpu.AttentionQ4_0, false},
	{dtype.Q4_0, true, cpu.AttentionR16Q4_0, false},
	{dtype.Q4_0, true, cpu.AttentionBF16R16Q4_0, true},
}

func (c attentionCase) String() string {
	name := c.cache.String()
	if c.packed {
		name += ".r16"
	}
	if c.bf16 {
		name += ".bf16"
	}
	return name
}

// holds reports whether rows of d elements are whole blocks.
func (c attentionCase) holds(d int) bool { return d%c.cache.BlockElems() == 0 }

// queries returns q in the format that the kernel reads, and the values in that format.
func (c attentionCase) queries(t testing.TB, q []float32) (*kt.Buffer, []float64) {
	if !c.packed || !c.cache.IsQuantized() {
		values := make([]float64, len(q))
		for i, v := range q {
			values[i] = float64(v)
		}
		return kt.NewFloats(q, 4), values
	}
	bytes, values := kt.EncodeValues(t, dtype.Q8A, q)
	return kt.NewBytes(bytes, 4), values
}

// rounds reports whether the kernel rounds what it multiplies here.
func (c attentionCase) rounds(a *attention) bool {
	return c.bf16 && cpu.Active() == string(tile.AVX512BF16) && (a.dk|a.dv)%16 == 0
}

// compare demands the definition's results, within the tolerance without rounding and the error of rounded weights. All
// other rounding is part of the operands (see round). A weight has a relative error of up to 2^-8, and results are
// divided by the sum of rounded weights. So each weight moves a result by its share of the distance from the result to
// its value, and the average of equal values is exact.
func (c attentionCase) compare(t *testing.T, what string, got []float32, a *attention, exact float64) {
	t.Helper()
	want, spread := a.want()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
	for i, g := range got {
		tol := kt.Tolerance{Abs: exact}
		if c.rounds(a) {
			tol.Abs += spread[i] / 255
		}
		if !tol.Near(g, want[i]) {
			t.Fatalf("%s: element %d of %d is %v, want %v (tolerance %v)", what, i, len(got), g, want[i], tol)
		}
	}
}

// round rounds a's operands to what the kernel multiplies.
func (c attentionCase) round(a *attention) {
	if !c.rounds(a) {
		return
	}
	a.vv = toBF16(a.vv, 1)
	if !c.cache.IsQuantized() { // scores are of bytes there
		a.kv, a.qv = toBF16(a.kv, 1), toBF16(a.qv, float32(float64(a.scale)*math.Log2E))
	}
}

// toBF16 rounds values after multiplication by a factor.
func toBF16(x []float64, by float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(dtype.BF16ToF32(dtype.F32ToBF16(float32(v)*by))) / float64(by)
	}
	return y
}

// keys returns matrices of [ctx, d] keys as the kernel reads them.
func (c attentionCase) keys(plain []byte, ctx, d int) *kt.Buffer {
	if !c.packed {
		return kt.NewBytes(plain, 4)
	}
	var packed []byte
	for n := ctx * c.cache.RowBytes(d); len(plain) > 0; plain = plain[n:] {
		packed = append(packed, kt.Pack(c.cache, plain[:n], ctx, d)...)
	}
	return kt.NewBytes(packed, 4)
}

// attention is one problem, with its cache as stored and as values.
type attention struct {
	seqs, heads, kvHeads, ctx, dk, dv int
	slot, pos                         []int32
	scale                             float32
	cap, alibi                        float32
	first, all                        int // heads in the bias
	window                            int
	sinks                             []float32 // of heads; nil: none
	q                                 []float32
	k, v                              []byte
	qv, kv, vv                        []float64
}

// shape returns the shape that kernels are called with.
func (a *attention) shape() cpu.AttentionShape {
	return cpu.AttentionShape{Heads: a.heads, KVHeads: a.kvHeads, Context: a.ctx, KeyLen: a.dk, ValueLen: a.dv, Scale: a.scale, Cap: a.cap, Window: a.window, Alibi: a.alibi,
		AlibiHead: a.first, AlibiHeads: a.all}
}

func (a *attention) sinkPointer() unsafe.Pointer {
	if a.sinks == nil {
		return nil
	}
	return unsafe.Pointer(&a.sinks[0])
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

// want is the definition: softmax over all positions, in float64. spread is the weighted average distance of values
// from the result.
func (a *attention) want() (out, spread []float64) {
	out, spread = make([]float64, len(a.pos)*a.heads*a.dv), make([]float64, len(a.pos)*a.heads*a.dv)
	for r := range a.pos {
		for h := range a.heads {
			at := (r*a.heads + h) * a.dv
			a.head(out[at:][:a.dv], spread[at:][:a.dv], r, h)
		}
	}
	return out, spread
}

func (a *attention) head(out, spread []float64, r, h int) {
	cache := (int(a.slot[r])*a.kvHeads + h/(a.heads/a.kvHeads)) * a.ctx
	weights := a.weights(r, h, cache)
	for p, w := range weights {
		for i := range out {
			out[i] += w * a.vv[(cache+p)*a.dv+i]
		}
	}
	for p, w := range weights {
		for i := range out {
			spread[i] += w * math.Abs(a.vv[(cache+p)*a.dv+i]-out[i])
		}
	}
}

// weights are those of the positions up to that of row r, of a head with keys from row cache on.
func (a *attention) weights(r, h, cache int) []float64 {
	w, most, sum := make([]float64, int(a.pos[r])+1), math.Inf(-1), 0.0
	for p := range w {
		w[p] = a.score(r, h, p, cache)
		most = max(most, w[p])
	}
	if a.sinks != nil {
		most = max(most, float64(a.sinks[h]))
		sum = math.Exp(float64(a.sinks[h]) - most)
	}
	for p := range w {
		w[p] = math.Exp(w[p] - most)
		sum += w[p]
	}
	for p := range w {
		w[p] /= sum
	}
	return w
}

func (a *attention) score(r, h, p, cache int) float64 {
	distance := int(a.pos[r]) - p
	if a.window > 0 && distance >= a.window {
		return math.Inf(-1)
	}
	z := 0.0
	for i, x := range a.qv[(r*a.heads+h)*a.dk:][:a.dk] {
		z += float64(a.scale) * x * a.kv[(cache+p)*a.dk+i]
	}
	if a.cap > 0 {
		z = float64(a.cap) * math.Tanh(z/float64(a.cap))
	}
	if a.alibi > 0 {
		z -= ir.AlibiSlope(a.alibi, int64(a.first+h), int64(cmp.Or(a.all, a.heads))) * float64(distance)
	}
	return z
}
