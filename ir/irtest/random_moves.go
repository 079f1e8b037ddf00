package irtest

import (
	"fmt"
	"math"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// moves are the moves that a function consists of. A move is as likely as it is frequent here.
var moves = []func(g *generator){
	(*generator).unary, (*generator).unary, (*generator).guarded, (*generator).binary, (*generator).binary,
	(*generator).norm, (*generator).norm, (*generator).matMul, (*generator).matMul, (*generator).feedForward,
	(*generator).heads, (*generator).slice, (*generator).concat, (*generator).last, (*generator).cast,
	(*generator).reduce, (*generator).twins, (*generator).gather, (*generator).experts, (*generator).attend, (*generator).call, (*generator).repeat, (*generator).chain,
}

func (g *generator) move() { moves[g.rng.IntN(len(moves))](g) }

func (g *generator) unary() {
	f, x := g.f, g.pick()
	g.add(choose(g, f.Neg, f.Abs, f.ReLU, f.SiLU, f.GELU, f.Tanh, f.Sigmoid)(x))
}

// guarded adds ops whose operands need a moderate size or a sign.
func (g *generator) guarded() {
	f, x := g.f, g.pick()
	switch g.rng.IntN(5) {
	case 0:
		g.add(f.Exp(f.Tanh(x)))
	case 1:
		g.add(f.Log(f.Scale(f.Abs(x), 1, 0.5)))
	case 2:
		g.add(f.Sqrt(f.Abs(x)))
	case 3:
		g.add(f.Square(f.Tanh(x)))
	case 4:
		g.add(f.Clamp(f.Scale(x, 0.5, 0.25), -1, 4))
	}
}

func (g *generator) binary() {
	f, a := g.f, g.pick()
	b := g.pickWidth(width(a))
	switch g.rng.IntN(4) {
	case 0:
		b = g.vector(width(a)) // broadcast over rows
	case 1:
		b = f.ReduceMean(b) // broadcast within a row
	}
	switch g.rng.IntN(4) {
	case 0:
		g.add(f.Mul(a, f.Tanh(b)))
	case 1:
		g.add(f.Div(a, f.Scale(f.Sigmoid(b), 1, 0.5)))
	case 2:
		g.add(f.SwiGLU(f.Tanh(a), b))
	case 3:
		g.add(choose(g, f.Add, f.Sub, f.Max, f.Min)(a, b))
	}
}

func (g *generator) norm() {
	f, x := g.f, g.pick()
	n := width(x)
	switch g.rng.IntN(4) {
	case 0:
		g.add(f.LayerNorm(x, g.vector(n), nil, 1e-5))
	case 1:
		g.add(f.LayerNorm(x, g.vector(n), g.vector(n), 1e-5))
	case 2:
		g.add(f.Softmax(x))
	case 3:
		g.add(f.RMSNorm(x, g.vector(n), 1e-5))
	}
}

// matrix returns a weight of any dtype for products with rows of k elements.
func (g *generator) matrix(n, k int64) *ir.Value {
	return g.weight(g.format(k, dtype.F32, dtype.F16, dtype.BF16, dtype.Q8_0, dtype.Q4_0), n, k)
}

func (g *generator) matMul() {
	x, n := g.pick(), choose(g, widths...)
	w := g.matrix(n, width(x))
	if g.rng.IntN(3) == 0 {
		x = g.f.Quantize(x, dtype.Q8A)
	}
	if g.even() {
		g.add(g.f.MatMul(x, w, g.pickWidth(n)))
		return
	}
	g.add(g.f.MatMul(x, w))
}

// feedForward adds the feed-forward block of a transformer, with fused or plain ops.
func (g *generator) feedForward() {
	f, x, hidden := g.f, g.pick(), choose(g, inner...)
	n := width(x)
	norm := g.weight(dtype.F32, n)
	d := g.format(n, dtype.F32, dtype.BF16, dtype.Q8_0, dtype.Q4_0)
	h := f.RMSNorm(x, norm, 1e-5)
	switch {
	case g.even():
	case d == dtype.BF16:
		h = f.RMSNormQuantize(x, norm, 1e-5, dtype.BF16)
	default:
		h = f.RMSNormQuantize(x, norm, 1e-5, dtype.Q8A)
	}
	gate, up := g.weight(d, hidden, n), g.weight(d, hidden, n)
	if g.even() {
		h = f.MatMulSwiGLU(h, gate, up, g.roundedTo(d))
	} else {
		h = f.SwiGLU(f.MatMul(h, gate), f.MatMul(h, up))
	}
	if k := int64(dtype.Q8A_K.BlockElems()); h.Type.DType == dtype.F32 && hidden%k == 0 && g.even() {
		h = f.Quantize(h, dtype.Q8A_K)
	}
	down := g.matrix
	if h.Type.DType == dtype.BF16 { // products with other weights do not read bf16
		down = func(rows, cols int64) *ir.Value { return g.weight(dtype.BF16, rows, cols) }
	}
	g.add(f.Add(x, f.MatMul(h, down(n, hidden))))
}

// roundedTo returns a dtype that products with weights of d may write.
func (g *generator) roundedTo(d dtype.DType) dtype.DType {
	if d == dtype.BF16 && g.even() {
		return dtype.BF16
	}
	return dtype.F32
}

// heads adds ops on a permuted view and a permutation back to rows.
func (g *generator) heads() {
	f, x := g.f, g.dense()
	n := width(x)
	h := f.Permute(f.Reshape(x, g.rows, ir.Const(2), ir.Const(n/2)), 1, 0, 2)
	if g.even() {
		h = f.Softmax(h)
	}
	back := f.Copy(f.Permute(f.Copy(h), 1, 0, 2))
	g.add(f.Reshape(back, g.rows, ir.Const(n)))
}

func (g *generator) slice() {
	x := g.pickWidth(96)
	n := choose[int64](g, 32, 64)
	start := 32 * g.rng.Int64N((96-n)/32+1)
	g.add(g.f.Slice(x, 1, ir.Const(start), ir.Const(n)))
}

func (g *generator) concat() {
	a, b := g.pickWidth(32), g.pickWidth(choose[int64](g, 32, 64))
	g.add(g.f.Concat(1, a, b))
}

// last takes the last row, as the output of a language model does.
func (g *generator) last() {
	x := g.pick()
	row := g.f.Slice(x, 0, g.rows.Sub(ir.Const(1)), ir.Const(1))
	g.extra = append(g.extra, g.f.MatMul(row, g.matrix(32, width(x))))
}

func (g *generator) cast() {
	half := g.f.Cast(g.pick(), choose(g, dtype.F16, dtype.BF16))
	g.add(g.f.Cast(half, dtype.F32))
}

func (g *generator) reduce() {
	f := g.f
	g.extra = append(g.extra, choose(g, f.ReduceSum, f.ReduceMean, f.ReduceMax)(g.pick()))
}

// twins computes the same value twice.
func (g *generator) twins() {
	x := g.pick()
	g.add(g.f.Add(g.f.SiLU(x), g.f.SiLU(x)))
}

// chain computes several elementwise ops, as one node or as nodes whose inner values are read once.
func (g *generator) chain() {
	f, a := g.f, g.pick()
	b, row := g.pickWidth(width(a)), g.vector(width(a))
	if g.even() {
		h := f.SiLU(f.Scale(f.Add(a, b), 0.5, 0.25))
		g.add(f.Sub(f.Mul(h, row), f.Tanh(h)))
		return
	}
	x, y := func(i int) ir.ChainRef { return ir.ChainRef{Index: i} }, func(i int) ir.ChainRef { return ir.ChainRef{Step: true, Index: i} }
	g.add(f.Chain([]ir.ChainStep{
		{Op: choose(g, ir.OpAdd, ir.OpSub, ir.OpMax), Args: []ir.ChainRef{x(0), x(1)}},
		{Op: ir.OpScale, Attr: &ir.ScaleAttr{Scale: 0.5, Bias: 0.25}, Args: []ir.ChainRef{y(0)}},
		{Op: choose(g, ir.OpSiLU, ir.OpGELU, ir.OpTanh), Args: []ir.ChainRef{y(1)}},
		{Op: ir.OpMul, Args: []ir.ChainRef{y(2), x(2)}},
		{Op: ir.OpMin, Args: []ir.ChainRef{y(3), y(0)}},
	}, a, b, row))
}

func (g *generator) gather() {
	if !g.hasState {
		return
	}
	n := choose(g, inner...)
	d := g.format(n, dtype.F32, dtype.F16, dtype.Q8_0, dtype.Q4_0)
	g.add(g.f.Gather(g.weight(d, vocabulary, n), g.ids))
}

// experts adds a mixture of experts, two of four for each token. The token's id determines which:
// computed scores could be so close that rounding changes the choice.
func (g *generator) experts() {
	if !g.hasState {
		return
	}
	const count, chosen = 4, 2
	f, x := g.f, g.dense()
	n, hidden := width(x), choose(g, inner...)
	first, second := g.format(n, dtype.F32, dtype.F16, dtype.Q8_0, dtype.Q4_0), g.format(hidden, dtype.F32, dtype.F16, dtype.Q8_0, dtype.Q4_0)
	idx := f.TopK(f.Gather(g.weight(dtype.F32, vocabulary, count), g.ids), chosen)
	share := f.Softmax(f.Take(f.Tanh(x), idx))
	h := f.SiLU(f.ExpertsMatMul(f.Reshape(x, g.rows, ir.Const(1), ir.Const(n)), g.weight(first, count, hidden, n), idx))
	g.add(f.ExpertsSum(f.ExpertsMatMul(h, g.weight(second, count, n, hidden), idx), share))
}

// headSize is a whole block of every dtype that a state can have.
const headSize = 32

// segmentLen is the length of segments in the CPU kernels.
const segmentLen = 512

// attend adds an attention block with rotated queries and keys and its own states.
func (g *generator) attend() {
	if !g.hasState {
		return
	}
	f, x, kv := g.f, g.pick(), choose[int64](g, 1, 2)
	project := func(heads int64) *ir.Value {
		return f.Reshape(f.MatMul(x, g.matrix(heads*headSize, width(x))), g.rows, ir.Const(heads), ir.Const(headSize))
	}
	table := f.RopeTable(g.pos, f.Abs(g.weight(dtype.F32, headSize/2)), 1)
	pairs := ir.RopeAttr{NeoX: g.even()}
	q, k := f.Rope(project(2), table, pairs), f.Rope(project(kv), table, pairs)

	d := choose(g, dtype.F32, dtype.F16, dtype.Q8_0, dtype.Q4_0)
	keys := g.write(fmt.Sprintf("k.%v.%d", d, kv), d, kv, k)
	values := g.write(fmt.Sprintf("v.%v.%d", d, kv), d, kv, project(kv))
	a := ir.AttentionAttr{Scale: 1 / float32(math.Sqrt(headSize))}
	var y, sinks *ir.Value
	if g.even() {
		a.Cap, a.Window, a.Alibi = choose[float32](g, 0, 2), choose[int64](g, 0, 3), choose[float32](g, 0, 8)
		sinks = f.Abs(g.weight(dtype.F32, 2))
	}
	if g.even() {
		y = f.Attention(q, keys, values, g.slot, g.pos, g.lengths, sinks, a)
	} else { // the second of two segments is empty
		sums := f.AttentionSegments(q, keys, values, g.slot, g.pos, g.lengths,
			ir.AttentionSegmentsAttr{Scale: a.Scale, Cap: a.Cap, Window: a.Window, Alibi: a.Alibi, Len: segmentLen, Segments: ir.Const(2)})
		y = f.AttentionCombine(sums, sinks, kv)
	}
	g.add(f.Reshape(y, g.rows, ir.Const(2*headSize)))
}

// write writes x to the state of that name, which the functions share, and returns the new version.
func (g *generator) write(name string, d dtype.DType, heads int64, x *ir.Value) *ir.Value {
	if g.b.Module().State(name) == nil {
		g.b.State(name, ir.Type{DType: d, Shape: ir.Dims(1, heads, stateSlots, headSize)})
	}
	old := g.states[name]
	if old == nil {
		old = g.f.State(name)
	}
	g.states[name] = g.f.StateWrite(old, x, g.slot, g.pos, 0)
	return g.states[name]
}

// call calls inner with dense values of the pool.
func (g *generator) call() {
	if g.inner == nil {
		return
	}
	var args []*ir.Value
	for _, n := range widths {
		v := g.pickWidth(n)
		if !v.Type.Dense() {
			v = g.f.Copy(v)
		}
		args = append(args, v)
	}
	for i, r := range g.f.Call("inner", args...) {
		if strings.HasPrefix(g.inner.f.Func().ResultNames[i], "y") {
			g.add(r)
		}
	}
}

// repeat adds a repeat of a small block with tables of weights, a carried value and an invariant.
func (g *generator) repeat() {
	x, count := g.dense(), choose[int64](g, 2, 3)
	n := width(x)
	var norms, matrices []*ir.Value
	d := choose(g, dtype.F32, dtype.Q8_0)
	for range count {
		norms, matrices = append(norms, g.weight(dtype.F32, n)), append(matrices, g.weight(d, n, n))
	}
	results := g.f.Repeat(count, []*ir.Value{x}, []*ir.Value{g.vector(n)}, [][]*ir.Value{norms, matrices},
		func(f *ir.FuncBuilder, carried, invariant, tables []*ir.Value) []*ir.Value {
			h := f.MatMul(f.RMSNorm(carried[0], tables[0], 1e-5), tables[1], carried[0])
			return []*ir.Value{f.Add(h, f.Tanh(invariant[0]))}
		})
	g.add(results[0])
}
