package irtest

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/eval"
)

// Program is a random module with the tensors that its weights come from and a sequence
// of calls that builds on the states of those before.
type Program struct {
	Module  *ir.Module
	Tensors map[string]eval.Tensor // of the source, by name
	Calls   []ProgramCall
}

// ProgramCall is one call of an entry point.
type ProgramCall struct {
	Func   string
	Inputs map[string]eval.Tensor
}

// Run makes the calls on m, which is the program's module or what passes made of it, and
// returns the results of each.
func (p *Program) Run(ctx context.Context, m *ir.Module) ([][]eval.Tensor, error) {
	weights, err := Weights(m, p.Tensors)
	if err != nil {
		return nil, err
	}
	env := &eval.Env{Weights: weights}
	var all [][]eval.Tensor
	for i, c := range p.Calls {
		env.Inputs = c.Inputs
		results, err := eval.Run(ctx, m, c.Func, env)
		if err != nil {
			return nil, fmt.Errorf("call %d: %w", i, err)
		}
		all = append(all, results)
	}
	return all, nil
}

// SameResults compares what Run returned for a program with what it returned before.
func (p *Program) SameResults(got, want [][]eval.Tensor, tol ir.Tolerance) error {
	for i, c := range p.Calls {
		if len(got[i]) != len(want[i]) {
			return fmt.Errorf("call %d of @%s: %d results, want %d", i, c.Func, len(got[i]), len(want[i]))
		}
		for j := range want[i] {
			if err := Compare(got[i][j], want[i][j], tol); err != nil {
				return fmt.Errorf("call %d of @%s: result %d: %w", i, c.Func, j, err)
			}
		}
	}
	return nil
}

// Bounds of random programs: a state holds more tokens than all calls together write.
const (
	maxTokens  = 6
	stateSlots = 32
	vocabulary = 24
)

// Random returns a well-typed module with several functions that share weights and
// states: @prefill over a symbolic number of tokens, @decode over one, and @inner, which
// @prefill may call. Each is a chain of so many random moves. Numbers stay moderate
// whatever the moves are. Equal arguments give equal programs. An error is a bug, of this
// package or of the ops' shape rules.
func Random(seed uint64, moves int) (*Program, error) {
	p := &Program{Tensors: make(map[string]eval.Tensor)}
	b := ir.NewBuilder(fmt.Sprintf("random%d", seed))
	b.Source("m", "random.gguf", 0, "")
	tokens := b.Symbol("tokens", 1, maxTokens)
	rng := rand.New(rand.NewPCG(seed, 0))

	inner := &generator{rng: rng, p: p, b: b, rows: tokens}
	inner.function("inner", moves/3)
	prefill := &generator{rng: rng, p: p, b: b, rows: tokens, hasState: true, inner: inner}
	prefill.function("prefill", moves)
	decode := &generator{rng: rng, p: p, b: b, rows: ir.Const(1), hasState: true}
	decode.function("decode", moves)

	m, err := b.Finish()
	if err != nil {
		return nil, fmt.Errorf("seed %d: %w", seed, err)
	}
	p.Module = m
	p.addCalls(rng)
	return p, nil
}

// addCalls adds two prefills of different lengths, two decodes, and inner by itself.
func (p *Program) addCalls(rng *rand.Rand) {
	pos := 0
	for _, c := range []struct {
		fn     string
		tokens int
	}{{"prefill", 1 + rng.IntN(maxTokens)}, {"decode", 1}, {"prefill", 1 + rng.IntN(maxTokens)}, {"decode", 1}, {"inner", maxTokens}} {
		inputs := make(map[string]eval.Tensor)
		for _, v := range p.Module.Func(c.fn).Params {
			inputs[v.Name] = inputFor(rng, v, c.tokens, pos)
		}
		p.Calls = append(p.Calls, ProgramCall{c.fn, inputs})
		if c.fn != "inner" {
			pos += c.tokens
		}
	}
}

// inputFor fills a parameter by its name; positions continue at pos.
func inputFor(rng *rand.Rand, v *ir.Value, tokens, pos int) eval.Tensor {
	shape := make([]int, v.Type.Rank())
	for i, d := range v.Type.Shape {
		shape[i] = int(d.Eval(func(*ir.Symbol) int64 { return int64(tokens) }))
	}
	t := eval.New(shape...)
	for i := range t.Data {
		switch v.Name {
		case "ids":
			t.Data[i] = float64(rng.IntN(vocabulary))
		case "pos":
			t.Data[i] = float64(pos + i)
		case "slot":
		case "lengths":
			t.Data[i] = float64(pos + tokens)
		default:
			t.Data[i] = float64(float32(rng.NormFloat64()))
		}
	}
	return t
}

// generator appends random moves to one function. A move takes values from the pool and
// adds what it makes: f32 values [rows, n], n a multiple of 32, some of them views.
type generator struct {
	rng      *rand.Rand
	p        *Program
	b        *ir.Builder
	f        *ir.FuncBuilder
	rows     ir.Dim
	pool     []*ir.Value
	extra    []*ir.Value // results of other shapes
	hasState bool
	inner    *generator // whose function may be called

	ids, pos, slot, lengths *ir.Value
	states                  map[string]*ir.Value // latest versions
}

// widths are the innermost extents of pool values.
var widths = []int64{32, 64, 96}

func (g *generator) function(name string, moves int) {
	g.f = g.b.Func(name)
	g.states = make(map[string]*ir.Value)
	i32 := func(n ir.Dim) ir.Type { return ir.Type{DType: dtype.I32, Shape: []ir.Dim{n}} }
	if g.hasState {
		g.ids = g.f.Param("ids", i32(g.rows))
		g.pos, g.slot = g.f.Param("pos", i32(g.rows)), g.f.Param("slot", i32(g.rows))
		g.lengths = g.f.Param("lengths", i32(ir.Const(1)))
	}
	for _, n := range widths {
		g.add(g.f.Param(fmt.Sprintf("x%d", n), ir.Type{DType: dtype.F32, Shape: []ir.Dim{g.rows, ir.Const(n)}}))
	}
	for range moves {
		g.move()
	}
	for i, v := range g.pool[len(g.pool)-3:] {
		g.f.Return(fmt.Sprintf("y%d", i), v)
	}
	for i, v := range g.extra {
		g.f.Return(fmt.Sprintf("e%d", i), v)
	}
}

// moves are what a function consists of, as often as they stand here.
var moves = []func(g *generator){
	(*generator).unary, (*generator).unary, (*generator).guarded, (*generator).binary, (*generator).binary,
	(*generator).norm, (*generator).norm, (*generator).matMul, (*generator).matMul, (*generator).feedForward,
	(*generator).heads, (*generator).slice, (*generator).concat, (*generator).last, (*generator).cast,
	(*generator).reduce, (*generator).twins, (*generator).gather, (*generator).experts, (*generator).attend, (*generator).call, (*generator).repeat,
}

func (g *generator) move() { moves[g.rng.IntN(len(moves))](g) }

func (g *generator) add(v *ir.Value) { g.pool = append(g.pool, v) }

// pick returns a value of the pool, later ones more often.
func (g *generator) pick() *ir.Value {
	n := len(g.pool)
	return g.pool[max(g.rng.IntN(n), g.rng.IntN(n))]
}

// pickWidth returns a value of the pool whose rows have n elements.
func (g *generator) pickWidth(n int64) *ir.Value {
	for range 8 {
		if v := g.pick(); width(v) == n {
			return v
		}
	}
	for _, v := range g.pool {
		if width(v) == n {
			return v
		}
	}
	panic(fmt.Sprintf("irtest: internal error: the pool has no value of width %d", n))
}

func width(v *ir.Value) int64 {
	n, _ := v.Type.Inner().IsConst()
	return n
}

func choose[T any](g *generator, from ...T) T { return from[g.rng.IntN(len(from))] }

func (g *generator) even() bool { return g.rng.IntN(2) == 0 }

// weight returns a weight of that type, sometimes one that is used already. Its numbers
// are such that a product with it has about the magnitude of the other factor.
func (g *generator) weight(d dtype.DType, shape ...int64) *ir.Value {
	t := ir.Type{DType: d, Shape: ir.Dims(shape...)}
	if w := g.usedWeight(t); w != "" && g.even() {
		return g.f.Weight(w)
	}
	name := fmt.Sprintf("w%d", len(g.b.Module().Weights))
	g.b.Weight(name, t, ir.Tensor("m", name))
	g.p.Tensors[name] = g.numbers(d, shape)
	return g.f.Weight(name)
}

// vector returns n f32 values that every call reads: a weight or a constant.
func (g *generator) vector(n int64) *ir.Value {
	if g.even() {
		return g.weight(dtype.F32, n)
	}
	var data []byte
	for _, x := range g.numbers(dtype.F32, []int64{n}).Data {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(x)))
	}
	return g.f.Constant(ir.Type{DType: dtype.F32, Shape: ir.Dims(n)}, data)
}

func (g *generator) usedWeight(t ir.Type) string {
	var names []string
	for _, w := range g.b.Module().Weights {
		if w.Type.Equal(t) {
			names = append(names, w.Name)
		}
	}
	if names == nil {
		return ""
	}
	return choose(g, names...)
}

func (g *generator) numbers(d dtype.DType, shape []int64) eval.Tensor {
	ints := make([]int, len(shape))
	for i, n := range shape {
		ints[i] = int(n)
	}
	t := eval.New(ints...)
	for i := range t.Data {
		t.Data[i] = g.rng.NormFloat64()
		if len(shape) > 1 {
			t.Data[i] /= math.Sqrt(float64(t.Inner()))
		}
	}
	rounded, err := eval.Round(d, t)
	if err != nil {
		g.b.Fail(err)
	}
	return rounded
}

func (g *generator) unary() {
	f, x := g.f, g.pick()
	g.add(choose(g, f.Neg, f.Abs, f.ReLU, f.SiLU, f.GELU, f.Tanh, f.Sigmoid)(x))
}

// guarded adds ops that need operands of moderate size or sign.
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
		g.add(f.Scale(x, 0.5, 0.25))
	}
}

func (g *generator) binary() {
	f, a := g.f, g.pick()
	b := g.pickWidth(width(a))
	switch g.rng.IntN(4) {
	case 0:
		b = g.vector(width(a)) // repeated over rows
	case 1:
		b = f.ReduceMean(b) // repeated within a row
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
	return g.weight(choose(g, dtype.F32, dtype.F16, dtype.BF16, dtype.Q8_0, dtype.Q4_0), n, k)
}

func (g *generator) matMul() {
	x, n := g.pick(), choose(g, widths...)
	w := g.matrix(n, width(x))
	if g.rng.IntN(3) == 0 {
		x = g.f.Quantize(x)
	}
	if g.even() {
		g.add(g.f.MatMul(x, w, g.pickWidth(n)))
		return
	}
	g.add(g.f.MatMul(x, w))
}

// feedForward is the block of that name in a transformer, in fused and plain spelling.
func (g *generator) feedForward() {
	f, x, hidden := g.f, g.pick(), choose(g, widths...)
	n := width(x)
	norm := g.weight(dtype.F32, n)
	d := choose(g, dtype.F32, dtype.BF16, dtype.Q8_0, dtype.Q4_0)
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
	down := g.matrix
	if h.Type.DType == dtype.BF16 { // which products with other weights do not read
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

// heads works on a permuted view and comes back to rows.
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

// dense returns a value of the pool that is no view.
func (g *generator) dense() *ir.Value {
	if v := g.pick(); v.Type.Dense() {
		return v
	}
	return g.f.Copy(g.pick())
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

// twins computes one thing twice.
func (g *generator) twins() {
	x := g.pick()
	g.add(g.f.Add(g.f.SiLU(x), g.f.SiLU(x)))
}

func (g *generator) gather() {
	if !g.hasState {
		return
	}
	d, n := choose(g, dtype.F32, dtype.F16, dtype.Q8_0, dtype.Q4_0), choose(g, widths...)
	g.add(g.f.Gather(g.weight(d, vocabulary, n), g.ids))
}

// experts is a mixture of experts, two of four for each token. Which ones follows from the
// token's id: scores that are computed could be so close that rounding changes the choice.
func (g *generator) experts() {
	if !g.hasState {
		return
	}
	const count, chosen = 4, 2
	f, x := g.f, g.dense()
	n, hidden := width(x), choose(g, widths...)
	d := choose(g, dtype.F32, dtype.F16, dtype.Q8_0, dtype.Q4_0)
	idx := f.TopK(f.Gather(g.weight(dtype.F32, vocabulary, count), g.ids), chosen)
	share := f.Softmax(f.Take(f.Tanh(x), idx))
	h := f.SiLU(f.ExpertsMatMul(f.Reshape(x, g.rows, ir.Const(1), ir.Const(n)), g.weight(d, count, hidden, n), idx))
	g.add(f.ExpertsSum(f.ExpertsMatMul(h, g.weight(d, count, n, hidden), idx), share))
}

// headSize is that of attention: a whole block of every dtype that a state can have.
const headSize = 32

// segmentLen is the length of segments that the CPU's kernels know.
const segmentLen = 512

// attend is an attention block with rotated queries and keys and states of its own dtype.
func (g *generator) attend() {
	if !g.hasState {
		return
	}
	f, x, kv := g.f, g.pick(), choose[int64](g, 1, 2)
	project := func(heads int64) *ir.Value {
		return f.Reshape(f.MatMul(x, g.matrix(heads*headSize, width(x))), g.rows, ir.Const(heads), ir.Const(headSize))
	}
	table := f.RopeTable(g.pos, f.Abs(g.weight(dtype.F32, headSize/2)), 1)
	neox := g.even()
	q, k := f.Rope(project(2), table, neox), f.Rope(project(kv), table, neox)

	d := choose(g, dtype.F32, dtype.F16, dtype.Q8_0)
	keys := g.write(fmt.Sprintf("k.%v.%d", d, kv), d, kv, k)
	values := g.write(fmt.Sprintf("v.%v.%d", d, kv), d, kv, project(kv))
	y, scale := (*ir.Value)(nil), 1/float32(math.Sqrt(headSize))
	if g.even() {
		y = f.Attention(q, keys, values, g.slot, g.pos, g.lengths, scale, false)
	} else { // of two segments nothing is in the second
		sums := f.AttentionSegments(q, keys, values, g.slot, g.pos, g.lengths, scale, segmentLen, ir.Const(2), false)
		y = f.AttentionCombine(sums, kv)
	}
	g.add(f.Reshape(y, g.rows, ir.Const(2*headSize)))
}

// write stores x in the state of that name, which the functions share, and returns the
// new version.
func (g *generator) write(name string, d dtype.DType, heads int64, x *ir.Value) *ir.Value {
	if g.b.Module().State(name) == nil {
		g.b.State(name, ir.Type{DType: d, Shape: ir.Dims(1, heads, stateSlots, headSize)})
	}
	old := g.states[name]
	if old == nil {
		old = g.f.State(name)
	}
	g.states[name] = g.f.StateWrite(old, x, g.slot, g.pos)
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

// repeat runs a small block with weights from tables, a carried and an invariant value.
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
