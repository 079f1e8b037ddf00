package cpu_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu"
	kt "github.com/ggmlc/ggmlc/kernels/kerneltest"
)

func TestAttention(t *testing.T) {
	kt.ForEach(t, func(t *testing.T) {
		for _, c := range attentionCases {
			for _, s := range [][4]int{{4, 4, 32, 32}, {8, 2, 64, 64}, {9, 1, 96, 32}, {6, 2, 64, 128}, {2, 1, 8, 8}, {2, 1, 5, 13}, {4, 2, 20, 12}, {12, 1, 80, 80}} {
				if !c.holds(s[2]) || !c.holds(s[3]) {
					continue
				}
				t.Run(fmt.Sprint(c, s), func(t *testing.T) { testAttention(t, c, s) })
			}
		}
	})
}

func testAttention(t *testing.T, c attentionCase, s [4]int) {
	newAttention(t, c.cache, s[0], s[1], s[2], s[3]).test(t, c)
}

// scorings change the scores of a problem.
var scorings = map[string]func(a *attention){
	"cap":        func(a *attention) { a.cap = 5 },
	"window":     func(a *attention) { a.window = 100 },
	"one":        func(a *attention) { a.window = 1 },
	"alibi":      func(a *attention) { a.alibi = 8 },
	"part alibi": func(a *attention) { a.alibi, a.first, a.all = 8, 5, 21 },
	"sinks":      func(a *attention) { a.sinks = alternating(a.heads, -3, 4) },
	"high sinks": func(a *attention) { a.sinks = alternating(a.heads, 300, -300) },
	"all":        func(a *attention) { a.cap, a.window, a.alibi, a.sinks = 7, 40, 4, alternating(a.heads, 2, 0) },
}

func alternating(n int, x, y float32) []float32 {
	list := make([]float32, n)
	for i := range list {
		list[i] = []float32{x, y}[i%2]
	}
	return list
}

// TestAttentionScores: caps, windows, biases by distance and sinks.
func TestAttentionScores(t *testing.T) {
	kt.ForEach(t, func(t *testing.T) {
		for _, c := range attentionCases {
			for name, change := range scorings {
				for _, s := range [][4]int{{6, 2, 32, 64}, {2, 1, 5, 13}, {12, 1, 96, 32}} {
					if !c.holds(s[2]) || !c.holds(s[3]) {
						continue
					}
					t.Run(fmt.Sprint(c, s, name), func(t *testing.T) {
						a := newAttention(t, c.cache, s[0], s[1], s[2], s[3])
						change(a)
						a.test(t, c)
					})
				}
			}
		}
	})
}

// test compares all rows at once with the definition, and parts of them with the whole.
func (a *attention) test(t *testing.T, c attentionCase) {
	rows := len(a.pos)
	size := rows * a.heads * a.dv * 4
	q, qv := c.queries(t, a.q)
	a.qv = qv
	c.round(a)
	k, v := c.keys(a.k, a.ctx, a.dk), kt.NewBytes(a.v, 4)
	slot, pos := kt.NewInts(a.slot...), kt.NewInts(a.pos...)
	run := func(dst *kt.Buffer, r0, r1, h0, h1 int) {
		c.run(dst.Pointer(), q.Pointer(), k.Pointer(), v.Pointer(), slot.Pointer(), pos.Pointer(), a.sinkPointer(),
			a.shape(), r0, r1, h0, h1)
	}
	whole, cut := kt.NewBuffer(size, 4), kt.NewBuffer(size, 0)
	run(whole, 0, rows, 0, a.kvHeads)
	whole.Check(t, "attention")
	// Scores are sums of up to 96 products and up to 50 large; their rounding errors, of
	// some 2^-24 times that, are relative errors of the weights.
	c.compare(t, "attention", whole.Floats(), a, 1e-5)
	for _, b := range kt.Boxes(kt.Rand(t), rows, a.kvHeads, 1) {
		run(cut, b[0], b[1], b[2], b[3])
		one, head := kt.NewBuffer(size, 0), a.heads/a.kvHeads*a.dv*4
		run(one, b[0], b[1], b[2], b[3])
		one.Owned(t, "attention", a.heads*a.dv*4, b[0], b[1], b[2]*head, b[3]*head)
	}
	kt.Same(t, "attention in boxes", cut, whole)
}

// TestAttentionOfPrompts has blocks of many queries: a prompt after a context, growing
// scores, a group of more heads than are read from the cache itself, and a state that is NaN
// after the last position, where it must not be read.
func TestAttentionOfPrompts(t *testing.T) {
	plain := func(*attention) {}
	kt.ForEach(t, func(t *testing.T) {
		for _, c := range attentionCases {
			for _, s := range [][3]int{{4, 1, 64}, {12, 1, 32}, {2, 2, 96}, {3, 1, 8}} {
				if c.holds(s[2]) {
					t.Run(fmt.Sprint(c, s), func(t *testing.T) { testPrompt(t, c, s[0], s[1], s[2], plain) })
				}
			}
			t.Run(c.String()+" with other scores", func(t *testing.T) { testPrompt(t, c, 4, 1, 64, scorings["all"]) })
		}
	})
}

func testPrompt(t *testing.T, c attentionCase, heads, kvHeads, d int, change func(*attention)) {
	const before, rows = 90, 41
	a := &attention{seqs: 1, heads: heads, kvHeads: kvHeads, ctx: before + rows + 20, dk: d, dv: d, scale: 1}
	change(a)
	for i := range rows {
		a.slot, a.pos = append(a.slot, 0), append(a.pos, int32(before+i))
	}
	rng := kt.Rand(t)
	a.q = kt.Uniform(rng, rows*heads*d)
	keys, values := kt.Uniform(rng, kvHeads*a.ctx*d), kt.Uniform(rng, kvHeads*a.ctx*d)
	for i := range keys {
		keys[i] *= 1 + float32(i/d%a.ctx)/30 // later positions have larger scores
	}
	a.k, a.kv = kt.EncodeValues(t, c.cache, keys)
	a.v, a.vv = kt.EncodeValues(t, c.cache, values)
	unseen := a.pos[len(a.pos)-1] + 1
	for h := range kvHeads {
		row := len(a.v) / (kvHeads * a.ctx)
		for i := (h*a.ctx + int(unseen)) * row; i < (h+1)*a.ctx*row; i++ {
			a.k[i], a.v[i] = 0xff, 0xff // NaN, or a scale that is
		}
	}
	q, qv := c.queries(t, a.q)
	a.qv = qv
	c.round(a)
	k, v := c.keys(a.k, a.ctx, d), kt.NewBytes(a.v, 4)
	slot, pos := kt.NewInts(a.slot...), kt.NewInts(a.pos...)
	run := func(r0, r1 int, dst *kt.Buffer) {
		c.run(dst.Pointer(), q.Pointer(), k.Pointer(), v.Pointer(), slot.Pointer(), pos.Pointer(), a.sinkPointer(),
			a.shape(), r0, r1, 0, kvHeads)
	}
	whole, single := kt.NewBuffer(rows*heads*d*4, 0), kt.NewBuffer(rows*heads*d*4, 0)
	run(0, rows, whole)
	// Scores reach 200: an error of 2^-24 of that is a relative one of the weights.
	c.compare(t, "a prompt", whole.Floats(), a, 5e-5)
	for r := range rows {
		run(r, r+1, single)
	}
	kt.Same(t, "token by token", single, whole)
}

// TestAttentionOfEqualValues: the average of equal values is that value, however weights are rounded.
func TestAttentionOfEqualValues(t *testing.T) {
	kt.ForEach(t, func(t *testing.T) {
		for _, c := range attentionCases {
			t.Run(c.String(), func(t *testing.T) {
				a := newAttention(t, c.cache, 6, 2, 64, 64)
				for i := range int32(40) { // a block of queries; those before it are computed one by one
					a.slot, a.pos = append(a.slot, 1), append(a.pos, 101+i)
				}
				a.q = slices.Repeat(a.q, 7)[:len(a.pos)*a.heads*a.dk]
				a.v, a.vv = kt.EncodeValues(t, c.cache, slices.Repeat(kt.Uniform(kt.Rand(t), a.dv), len(a.vv)/a.dv))
				b, dst := a.buffers(t, c), kt.NewBuffer(len(a.pos)*a.heads*a.dv*4, 0)
				a.whole(c.run, b, dst, 0, len(a.pos))
				c.compare(t, "attention", dst.Floats(), a, 1e-5)
			})
		}
	})
}

// TestAttentionPoison writes a key that is not representable. Tokens that see it get NaN, and the others are
// unaffected, though the key is in their panel.
func TestAttentionPoison(t *testing.T) {
	const ctx, d, bad = 20, 32, 9
	slot, pos := kt.NewInts(make([]int32, ctx)...), kt.NewInts(make([]int32, ctx)...)
	for i := range ctx {
		*(*int32)(unsafe.Add(pos.Pointer(), 4*i)) = int32(i)
	}
	states := []struct {
		attentionCase
		keys, values stateWriter
	}{
		{attentionCase{dtype.Q8_0, true, cpu.AttentionR16Q8_0, false}, cpu.StateWriteR16Q8_0, cpu.StateWriteQ8_0},
		{attentionCase{dtype.Q4_0, true, cpu.AttentionR16Q4_0, false}, cpu.StateWriteR16Q4_0, cpu.StateWriteQ4_0},
	}
	rng := kt.Rand(t)
	x := kt.Uniform(rng, ctx*d)
	kt.ForEach(t, func(t *testing.T) {
		for _, poison := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			for _, s := range states {
				keys := append([]float32(nil), x...)
				keys[bad*d+5] = float32(poison)
				c := s.attentionCase
				q, _ := c.queries(t, x)
				k, v, dst := kt.NewBuffer(c.cache.Bytes(32*d), 0), kt.NewBuffer(c.cache.Bytes(ctx*d), 0), kt.NewBuffer(ctx*d*4, 0)
				s.keys(k.Pointer(), kt.NewFloats(keys, 0).Pointer(), slot.Pointer(), pos.Pointer(), cpu.StateShape{Heads: 1, Context: ctx, HeadLen: d}, 0, ctx, 0, 1)
				s.values(v.Pointer(), kt.NewFloats(x, 0).Pointer(), slot.Pointer(), pos.Pointer(), cpu.StateShape{Heads: 1, Context: ctx, HeadLen: d}, 0, ctx, 0, 1)
				c.run(dst.Pointer(), q.Pointer(), k.Pointer(), v.Pointer(), slot.Pointer(), pos.Pointer(), nil, cpu.AttentionShape{Heads: 1, KVHeads: 1, Context: ctx, KeyLen: d, ValueLen: d, Scale: 1}, 0, ctx, 0, 1)
				for i, y := range dst.Floats() {
					if finite := !math.IsNaN(float64(y)); finite != (i/d < bad) {
						t.Fatalf("%v: with a key of %v at %d, token %d gets %v", c, poison, bad, i/d, y)
					}
				}
			}
		}
	})
}

// TestAttentionHidesValues has a value that is no number, or infinite, in the middle of a prompt: who sees it gets no
// number either, who does not sees nothing of it, though some kernels take it together with one that is seen. A token
// has the bits that it has alone.
func TestAttentionHidesValues(t *testing.T) {
	const ctx, d = 20, 32
	kt.ForEach(t, func(t *testing.T) {
		for _, c := range attentionCases {
			for _, heads := range []int{1, 12} {
				for bad := 8; bad < 12; bad++ {
					t.Run(fmt.Sprint(c, heads, bad), func(t *testing.T) { testHidesValues(t, c, heads, ctx, d, bad) })
				}
			}
		}
	})
}

func testHidesValues(t *testing.T, c attentionCase, heads, ctx, d, bad int) {
	a := &attention{seqs: 1, heads: heads, kvHeads: 1, ctx: ctx, dk: d, dv: d, scale: 1, slot: make([]int32, ctx), pos: ascending(int32(ctx))}
	rng := kt.Rand(t)
	a.q = kt.Uniform(rng, ctx*heads*d)
	a.k, _ = kt.Encode(t, rng, c.cache, ctx*d)
	values := kt.Uniform(rng, ctx*d)
	switch {
	case c.cache.IsQuantized():
	case bad%4 == 0:
		values[bad*d+3] = float32(math.NaN())
	default:
		values[bad*d+3] = float32(math.Inf(1))
	}
	a.v, _ = kt.EncodeValues(t, c.cache, values)
	if c.cache.IsQuantized() {
		copy(a.v[bad*c.cache.RowBytes(d):], []byte{0xff, 0x7f}) // a scale that is no number
	}
	b := a.buffers(t, c)
	whole, single := kt.NewBuffer(ctx*heads*d*4, 0), kt.NewBuffer(ctx*heads*d*4, 0)
	a.whole(c.run, b, whole, 0, ctx)
	for r := range ctx {
		a.whole(c.run, b, single, r, r+1)
	}
	kt.Same(t, "token by token", single, whole)
	for r := range ctx {
		row := whole.Floats()[r*heads*d:][:heads*d]
		if finite := !slices.ContainsFunc(row, func(y float32) bool { return y-y != 0 }); finite != (r < bad) {
			t.Fatalf("token %d gets %v", r, row)
		}
	}
}

// TestAttentionPanelsAreRows writes keys of f16 as rows and as panels, all positions at once or some, with one that is
// no number or infinite: every token gets the same bits from both, in a prompt and alone, and those before that key see
// nothing of it. (With heads that are no multiple of 8, rows are for loops in Go, whose sums are others.)
func TestAttentionPanelsAreRows(t *testing.T) {
	kt.ForEach(t, func(t *testing.T) {
		for _, s := range []struct{ heads, d int }{{4, 64}, {7, 72}, {9, 40}, {3, 144}} {
			for _, bad := range []float64{1, math.NaN(), math.Inf(1), math.Inf(-1), 70000} {
				t.Run(fmt.Sprint(s, bad), func(t *testing.T) { testPanelsAreRows(t, s.heads, s.d, float32(bad)) })
			}
		}
	})
}

func testPanelsAreRows(t *testing.T, heads, d int, bad float32) {
	const ctx, at = 150, 41
	rng := kt.Rand(t)
	x := kt.Uniform(rng, ctx*d)
	q, v := kt.NewFloats(kt.Uniform(rng, ctx*heads*d), 4), kt.NewBuffer(ctx*d*2, 0)
	slot, pos := kt.NewInts(make([]int32, ctx)...), kt.NewInts(ascending(ctx)...)
	state := cpu.StateShape{Heads: 1, Context: ctx, HeadLen: d}
	shape := cpu.AttentionShape{Heads: heads, KVHeads: 1, Context: ctx, KeyLen: d, ValueLen: d, Scale: 0.5}
	cpu.StateWriteF16(v.Pointer(), kt.NewFloats(x, 0).Pointer(), slot.Pointer(), pos.Pointer(), state, 0, ctx, 0, 1)
	x[at*d+2] = bad
	results := func(write stateWriter, run attentionKernel, step int) *kt.Buffer {
		k, dst := kt.NewBuffer((ctx+10)*d*2, 0), kt.NewBuffer(ctx*heads*d*4, 4)
		clear(k.Bytes())
		for r := 0; r < ctx; r += step {
			r1 := min(r+step, ctx)
			write(k.Pointer(), kt.NewFloats(x, 0).Pointer(), slot.Pointer(), pos.Pointer(), state, r, r1, 0, 1)
			run(dst.Pointer(), q.Pointer(), k.Pointer(), v.Pointer(), slot.Pointer(), pos.Pointer(), nil, shape, r, r1, 0, 1)
		}
		k.Check(t, "keys")
		dst.Check(t, "attention")
		return dst
	}
	want := results(cpu.StateWriteF16, cpu.AttentionF16, ctx)
	for i, y := range want.Floats()[:at*heads*d] {
		if y-y != 0 {
			t.Fatalf("token %d sees the key %v at %d: it gets %v", i/(heads*d), bad, at, y)
		}
	}
	for _, step := range []int{ctx, 1, 19} {
		kt.Same(t, fmt.Sprint(step, " tokens at once"), results(cpu.StateWriteR16F16, cpu.AttentionR16F16, step), want)
	}
}

// ascending returns 0 to n-1.
func ascending(n int32) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i)
	}
	return list
}

// TestAttentionRounding states the error of queries that are rounded to bytes, and for comparison that of keys. With
// scores of some ±20, where weights show every error of them, both are below 1 % of the results. Rounding queries and
// keys to bf16 costs less than half of what bytes cost.
func TestAttentionRounding(t *testing.T) {
	a := newAttention(t, dtype.Q8_0, 8, 2, 64, 64)
	keys := kt.Uniform(kt.Rand(t), len(a.kv))
	_, exact := attentionCase{}.queries(t, keys)
	_, rounded := kt.EncodeValues(t, dtype.Q8_0, keys)
	_, queries := attentionCase{}.queries(t, a.q)
	result := func(q, k []float64) []float64 {
		a.qv, a.kv = q, k
		out, _ := a.want()
		return out
	}
	want := result(queries, exact)
	byKeys := relative(result(queries, rounded), want)
	_, bytes := attentionCase{cache: dtype.Q8_0, packed: true}.queries(t, a.q)
	byQueries := relative(result(bytes, exact), want)
	t.Logf("relative errors: %.2g of rounding keys, %.2g of rounding queries", byKeys, byQueries)
	byBF16 := relative(result(toBF16(queries, 1), toBF16(exact, 1)), want)
	t.Logf("%.2g of rounding both to bf16", byBF16)
	if byBF16 > 0.5*math.Hypot(byKeys, byQueries) {
		t.Errorf("rounding queries and keys to bf16 gives a relative error of %.2g, to bytes %.2g", byBF16, math.Hypot(byKeys, byQueries))
	}
	if byQueries > 0.01 || byQueries > 1.5*byKeys {
		t.Errorf("rounding queries gives a relative error of %.2g, rounding keys %.2g", byQueries, byKeys)
	}
}

// relative is the root mean square of the errors of got, relative to that of want.
func relative(got, want []float64) float64 {
	var off, all float64
	for i, w := range want {
		off, all = off+(got[i]-w)*(got[i]-w), all+w*w
	}
	return math.Sqrt(off / all)
}

func TestAttentionAllocatesNothing(t *testing.T) {
	kt.ForEach(t, func(t *testing.T) {
		for _, c := range attentionCases {
			a := newAttention(t, c.cache, 4, 2, 32, 32)
			q, _ := c.queries(t, a.q)
			k, v, dst := c.keys(a.k, a.ctx, a.dk), kt.NewBytes(a.v, 0), kt.NewBuffer(len(a.q)*4, 0)
			slot, pos := kt.NewInts(a.slot...), kt.NewInts(a.pos...)
			n := testing.AllocsPerRun(10, func() {
				c.run(dst.Pointer(), q.Pointer(), k.Pointer(), v.Pointer(), slot.Pointer(), pos.Pointer(), nil,
					a.shape(), 0, len(a.pos), 0, a.kvHeads)
			})
			if n != 0 {
				t.Errorf("%v: %v allocations", c, n)
			}
		}
	})
}
