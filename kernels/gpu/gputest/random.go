package gputest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// RandomCase returns a case of some op with extents at which kernels tend to be wrong: one, and those beside the sizes
// of workgroups and blocks. The first extent is a symbol in half of them.
func RandomCase(seed uint64) Case {
	d := &dice{Rand: rand.New(rand.NewPCG(seed, 19))}
	op, args, attr := families[d.IntN(len(families))](d)
	c := Case{Op: op, Case: ir.Case{Args: args, Attr: attr, Sizes: map[string]int64{"tokens": d.tokens}}}
	c.Name = fmt.Sprintf("%v/%d", op, seed)
	for _, a := range args {
		c.Name += " " + a.Type.String()
	}
	return c
}

// dice draws the parts of a case.
type dice struct {
	*rand.Rand
	tokens int64 // the value of the symbol
}

func (d *dice) extent() int64 { return pick(d, int64(1), 2, 7, 31, 32, 33, 64, 65, 129, 257) }

func pick[T any](d *dice, from ...T) T { return from[d.IntN(len(from))] }

// rows returns an extent that may be a symbol.
func (d *dice) rows() ir.Dim { return d.upTo(16, 1, 2, 3, 5, 7, 16) }

// upTo returns one of some extents, or a symbol of that value, whose upper bound is most.
func (d *dice) upTo(most int64, from ...int64) ir.Dim {
	d.tokens = pick(d, from...)
	if d.IntN(2) == 0 {
		return ir.Const(d.tokens)
	}
	return ir.Sym(&ir.Symbol{Name: "tokens", Min: 1, Max: most})
}

func operand(t dtype.DType, shape ...ir.Dim) ir.CaseArg {
	return ir.CaseArg{Type: ir.Type{DType: t, Shape: shape}, Lo: -8, Hi: 8}
}

func f32(shape ...ir.Dim) ir.CaseArg { return operand(dtype.F32, shape...) }

// view makes an operand a view in a quarter of the cases.
func (d *dice) view(a ir.CaseArg) ir.CaseArg {
	a.View = d.IntN(4) == 0
	return a
}

func whole(lo, hi int64, shape ...ir.Dim) ir.CaseArg {
	a := operand(dtype.I32, shape...)
	a.Fill, a.Lo, a.Hi = ir.FillUniform, float64(lo), float64(hi)
	return a
}

// families draw the op, the operands and the attributes of a case.
var families = []func(d *dice) (ir.Op, []ir.CaseArg, any){
	function,
	func(d *dice) (ir.Op, []ir.CaseArg, any) {
		r, n := d.rows(), ir.Const(d.extent())
		b := pick(d, f32(r, n), f32(n), f32(r, ir.Const(1)), f32(ir.Const(1)), f32())
		op := pick(d, ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpMax, ir.OpMin, ir.OpSwiGLU, ir.OpDiv)
		if op == ir.OpDiv {
			b = above(0.5, b)
		}
		return op, []ir.CaseArg{d.view(f32(r, n)), b}, nil
	},
	elements,
	func(d *dice) (ir.Op, []ir.CaseArg, any) {
		n := ir.Const(d.extent())
		return pick(d, ir.OpRMSNorm, ir.OpLayerNorm), []ir.CaseArg{d.view(f32(d.rows(), n)), f32(n)}, &ir.NormAttr{Eps: 1e-5}
	},
	product,
	product,
	expertsProduct,
	func(d *dice) (ir.Op, []ir.CaseArg, any) {
		t := d.format()
		rows, n := d.extent(), d.inner(t)
		return ir.OpGather, []ir.CaseArg{d.layout(operand(t, ir.Const(rows), ir.Const(n))), whole(0, rows, d.rows())}, nil
	},
	func(d *dice) (ir.Op, []ir.CaseArg, any) {
		t, heads, pairs, rest := d.rows(), ir.Const(pick(d, int64(1), 3, 8)), pick(d, int64(1), 4, 33), pick(d, int64(0), 1, 6)
		table := f32(t, ir.Const(pairs), ir.Const(2))
		return ir.OpRope, []ir.CaseArg{d.view(f32(t, heads, ir.Const(2*pairs+rest))), table}, &ir.RopeAttr{NeoX: d.IntN(2) == 0}
	},
	func(d *dice) (ir.Op, []ir.CaseArg, any) {
		freqs := f32(ir.Const(d.extent()))
		freqs.Fill, freqs.Lo, freqs.Hi = ir.FillUniform, 0, pick(d, 1, 1, 1e-30, 1000, -1e10, 1e38)
		return ir.OpRopeTable, []ir.CaseArg{whole(0, 1<<pick(d, 3, 12, 17, 30), d.rows()), freqs}, &ir.RopeTableAttr{Scale: 1}
	},
	attend, attend, combine,
	func(d *dice) (ir.Op, []ir.CaseArg, any) {
		n := d.extent()
		attr := &ir.TopKAttr{K: int(min(n, pick(d, int64(1), 2, 5, 33)))}
		x := f32(d.rows(), ir.Const(n))
		if d.IntN(2) == 0 { // with many that are equal
			x.Fill, x.Lo, x.Hi = ir.FillUniform, 0, 3
		}
		return ir.OpTopK, []ir.CaseArg{d.view(x)}, attr
	},
	func(d *dice) (ir.Op, []ir.CaseArg, any) {
		r, n := d.rows(), d.extent()
		return ir.OpTake, []ir.CaseArg{d.view(f32(r, ir.Const(n))), whole(0, n, r, ir.Const(pick(d, int64(1), 4, 33)))}, nil
	},
	func(d *dice) (ir.Op, []ir.CaseArg, any) {
		r, chosen := d.rows(), ir.Const(pick(d, int64(1), 2, 8))
		return ir.OpExpertsSum, []ir.CaseArg{d.view(f32(r, chosen, ir.Const(d.extent()))), f32(r, chosen)}, nil
	},
	func(d *dice) (ir.Op, []ir.CaseArg, any) {
		t := pick(d, dtype.F32, dtype.F16, dtype.I32)
		r, axis := d.rows(), d.IntN(2)
		var parts []ir.CaseArg
		for range 1 + d.IntN(4) {
			shape := []ir.Dim{r, ir.Const(7)}
			shape[axis] = ir.Const(d.extent())
			parts = append(parts, d.view(operand(t, shape...)))
		}
		return ir.OpConcat, parts, &ir.ConcatAttr{Axis: axis}
	},
	func(d *dice) (ir.Op, []ir.CaseArg, any) {
		x := d.view(f32(d.rows(), ir.Const(d.inner(dtype.Q8A))))
		if d.IntN(2) == 0 {
			return ir.OpQuantize, []ir.CaseArg{x}, &ir.QuantizeAttr{To: dtype.Q8A}
		}
		to := pick(d, dtype.Q8A, dtype.BF16)
		return ir.OpRMSNormQuantize, []ir.CaseArg{x, f32(x.Type.Shape[1])}, &ir.NormQuantizeAttr{Eps: 1e-5, To: to}
	},
	func(d *dice) (ir.Op, []ir.CaseArg, any) {
		t, heads, n := d.rows(), ir.Const(pick(d, int64(1), 3)), pick(d, dtype.F32, dtype.F16, dtype.Q8_0, dtype.Q4_0)
		width := ir.Const(d.inner(n))
		state := operand(n, ir.Const(2), heads, ir.Const(20), width)
		state.State, state.Fill = true, ir.FillZero
		pos := operand(dtype.I32, t)
		pos.Fill = ir.FillPositions // no two tokens have the same
		return ir.OpStateWrite, []ir.CaseArg{state, d.view(f32(t, heads, width)), whole(0, 2, t), pos}, &ir.StateWriteAttr{}
	},
	func(d *dice) (ir.Op, []ir.CaseArg, any) {
		from := pick(d, dtype.F32, dtype.F16, dtype.BF16)
		x := d.view(operand(from, d.rows(), ir.Const(d.extent())))
		if d.IntN(2) == 0 {
			return ir.OpCopy, []ir.CaseArg{x}, nil
		}
		to := dtype.F32
		if from == dtype.F32 {
			to = pick(d, dtype.F16, dtype.BF16)
		}
		return ir.OpCast, []ir.CaseArg{x}, &ir.CastAttr{To: to}
	},
}

// function draws an op on one operand of f32.
func function(d *dice) (ir.Op, []ir.CaseArg, any) {
	op := pick(d, ir.OpNeg, ir.OpAbs, ir.OpSquare, ir.OpReLU, ir.OpSiLU, ir.OpGELU, ir.OpTanh, ir.OpSigmoid, ir.OpSoftmax, ir.OpReduceSum, ir.OpReduceMean, ir.OpReduceMax,
		ir.OpExp, ir.OpLog, ir.OpSqrt, ir.OpScale, ir.OpClamp)
	x := d.view(f32(d.rows(), ir.Const(d.extent())))
	switch op {
	case ir.OpLog, ir.OpSqrt:
		x = above(0.01, x)
	case ir.OpScale:
		return op, []ir.CaseArg{x}, &ir.ScaleAttr{Scale: pick(d, float32(0.125), -3), Bias: pick(d, float32(0), -1)}
	case ir.OpClamp:
		below := float32(math.Inf(-1))
		return op, []ir.CaseArg{x}, &ir.ClampAttr{Lo: pick(d, below, -2, 0.5), Hi: pick(d, -below, 3, 0.5)}
	}
	return op, []ir.CaseArg{x}, nil
}

// above makes an operand one of numbers from lo to 8.
func above(lo float64, a ir.CaseArg) ir.CaseArg {
	a.Fill, a.Lo = ir.FillUniform, lo
	return a
}

// format returns the dtype of a matrix, inner a row length that it can have.
func (d *dice) format() dtype.DType {
	if d.IntN(2) == 0 {
		return pick(d, dtype.F32, dtype.F16, dtype.BF16, dtype.Q8_0, dtype.Q4_0)
	}
	return pick(d, dtype.Q4_1, dtype.Q5_0, dtype.Q5_1, dtype.Q2_K, dtype.Q3_K, dtype.Q4_K, dtype.Q5_K, dtype.Q6_K, dtype.IQ4_NL, dtype.IQ4_XS, dtype.MXFP4)
}

func (d *dice) inner(t dtype.DType) int64 {
	switch n := int64(t.BlockElems()); {
	case n > 32:
		return n * pick(d, int64(1), 2, 3)
	case n > 1:
		return n * pick(d, int64(1), 2, 3, 9)
	}
	return d.extent()
}

// layout lays out a matrix in half of the cases that have another layout than plain.
func (d *dice) layout(a ir.CaseArg) ir.CaseArg {
	if dtype.Planar.Holds(a.Type.DType) && d.IntN(2) == 0 {
		a.Type.Layout = dtype.Planar
	}
	return a
}

// activations returns what is multiplied with a matrix of a dtype: floats, or blocks of bytes if the matrix has such.
func (d *dice) activations(t dtype.DType, shape ...ir.Dim) ir.CaseArg {
	if t.BlockElems() > 1 && d.IntN(3) == 0 {
		return operand(dtype.Q8A, shape...)
	}
	return d.view(f32(shape...))
}

// product has a number of rows below, at or beyond those at which kernels compute tiles, or beyond a tile.
func product(d *dice) (ir.Op, []ir.CaseArg, any) {
	t := d.format()
	r, k, n := d.upTo(200, 1, 3, 7, 16, 17, 33, 64, 65), d.inner(t), pick(d, int64(1), 3, 7, 33, 64, 65)
	if d.IntN(4) == 0 {
		r = d.rows()
	}
	if t.BlockElems() == 1 && d.IntN(3) > 0 {
		k = pick(d, int64(4), 8, 40, 96, 172) // rows that are read in vectors
	}
	if d.tokens > 16 && k > 200 {
		k = max(64, int64(t.BlockElems())) // tiles take their time in the interpreter
	}
	form := d.IntN(3)
	if form == 1 && k <= 64 && d.IntN(2) == 0 {
		n = k // x and the residual have one type
	}
	x, w := d.activations(t, r, ir.Const(k)), d.layout(operand(t, ir.Const(n), ir.Const(k)))
	w.Weight = true
	switch form {
	case 0:
		return ir.OpMatMulSwiGLU, []ir.CaseArg{x, w, w}, &ir.MatMulSwiGLUAttr{To: dtype.F32}
	case 1:
		return ir.OpMatMul, []ir.CaseArg{x, w, f32(r, ir.Const(n))}, nil
	}
	return ir.OpMatMul, []ir.CaseArg{x, w}, nil
}

// expertsProduct has one row of x for each token, or one for each of its experts. Half of the cases may have as many
// tokens as prompts, for which kernels compute tiles.
func expertsProduct(d *dice) (ir.Op, []ir.CaseArg, any) {
	t, experts := d.format(), pick(d, int64(1), 2, 5)
	r, k, n, chosen := d.rows(), d.inner(t), pick(d, int64(1), 7, 33, 64), pick(d, int64(1), 2, 3)
	if d.IntN(2) == 0 {
		r, n, experts = d.upTo(200, 2, 9, 17, 40, 71), pick(d, int64(1), 33, 65), pick(d, int64(1), 2, 5, 8)
		if k > 200 {
			k = max(64, int64(t.BlockElems()))
		}
	}
	x, w := d.activations(t, r, ir.Const(pick(d, 1, chosen)), ir.Const(k)), d.layout(operand(t, ir.Dims(experts, n, k)...))
	w.Weight = true
	named := pick(d, experts, (experts+1)/2) // in half of the cases no token chooses the others
	return ir.OpExpertsMatMul, []ir.CaseArg{x, w, whole(0, named, r, ir.Const(chosen))}, nil
}

// attend draws an attention, or one of segments.
func attend(d *dice) (ir.Op, []ir.CaseArg, any) {
	t, c := d.rows(), pick(d, int64(1), 33, 64, 65, 130, 300)
	kv, share, sequences := pick(d, int64(1), 2, 3), pick(d, int64(1), 3, 4, 10), int64(1+d.IntN(3))
	k, v := pick(d, int64(8), 16, 33, 64, 128), pick(d, int64(8), 64, 65, 128)
	dt := pick(d, dtype.F32, dtype.F16, dtype.Q8_0, dtype.Q4_0)
	if dt == dtype.Q8_0 || dt == dtype.Q4_0 {
		k, v = pick(d, int64(32), 64, 128), pick(d, int64(32), 96)
	}
	cache := func(n int64) ir.CaseArg { return operand(dt, ir.Dims(sequences, kv, c, n)...) }
	args := []ir.CaseArg{
		d.view(f32(t, ir.Const(kv*share), ir.Const(k))), cache(k), cache(v),
		whole(0, sequences, t), whole(0, c, t), whole(c/2, c+1, ir.Const(sequences)),
	}
	most, window, alibi := pick(d, float32(0), 0, 1.5), pick(d, int64(0), 0, 1, 9, 70, 1000), pick(d, float32(0), 0, 8)
	ring, positions := int64(0), c
	if window > 0 && window-1+t.Upper() <= c && d.IntN(2) == 0 {
		ring, positions = 3*c+5, 3*c+5
		args[4], args[5] = whole(0, ring, t), whole(ring/2, ring+1, ir.Const(sequences))
	}
	if d.IntN(2) == 0 {
		if d.IntN(3) == 0 {
			args = append(args, sinks(kv*share))
		}
		return ir.OpAttention, args, &ir.AttentionAttr{Scale: 0.25, Cap: most, Window: window, Alibi: alibi, Ring: ring}
	}
	n := pick(d, int64(7), 64, 256)
	return ir.OpAttentionSegments, args, &ir.AttentionSegmentsAttr{
		Scale: 0.25, Cap: most, Window: window, Alibi: alibi, Ring: ring, Len: n, Segments: ir.Const((positions + n - 1) / n)}
}

// sinks draws a score for each head, some of which outweigh all others.
func sinks(heads int64) ir.CaseArg {
	s := f32(ir.Const(heads))
	s.Fill, s.Lo, s.Hi = ir.FillUniform, -4, 12
	return s
}

// combine draws the sums of segments. Sums of weights are positive.
func combine(d *dice) (ir.Op, []ir.CaseArg, any) {
	kv, segments, group := pick(d, int64(1), 3), pick(d, int64(1), 2, 9), pick(d, int64(1), 4)
	x := f32(ir.Const(kv*segments), d.rows(), ir.Const(group), ir.Const(2+pick(d, int64(1), 31, 64)))
	x.Fill, x.Lo, x.Hi = ir.FillUniform, 0.5, 3
	args := []ir.CaseArg{d.view(x)}
	if d.IntN(3) == 0 {
		args = append(args, sinks(kv*group))
	}
	return ir.OpAttentionCombine, args, &ir.AttentionCombineAttr{KVHeads: kv}
}

// elements draws a chain: each step reads the one before it and an operand, or an earlier step.
func elements(d *dice) (ir.Op, []ir.CaseArg, any) {
	r, n := d.rows(), ir.Const(d.extent())
	args := []ir.CaseArg{d.view(f32(r, n))}
	attr := &ir.ChainAttr{Steps: []ir.ChainStep{{Op: ir.OpTanh, Args: []ir.ChainRef{{}}}}}
	for i := range d.IntN(ir.MaxChainSteps) {
		last, other := ir.ChainRef{Step: true, Index: i}, ir.ChainRef{Step: true, Index: d.IntN(i + 1)}
		if d.IntN(2) == 0 {
			attr.Steps = append(attr.Steps, ir.ChainStep{Op: pick(d, ir.OpNeg, ir.OpAbs, ir.OpReLU, ir.OpSiLU, ir.OpTanh), Args: []ir.ChainRef{last}})
			continue
		}
		if len(args) < ir.MaxChainOperands && d.IntN(2) == 0 {
			other = ir.ChainRef{Index: len(args)}
			args = append(args, pick(d, d.view(f32(r, n)), f32(n), f32(r, ir.Const(1)), f32(ir.Const(1)), f32()))
		}
		attr.Steps = append(attr.Steps, ir.ChainStep{Op: pick(d, ir.OpAdd, ir.OpSub, ir.OpMax, ir.OpMin), Args: []ir.ChainRef{last, other}})
	}
	return ir.OpChain, args, attr
}
