package eval

import (
	"fmt"
	"math"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// call is one execution of a node. Operands and attributes keep the op's shape rule.
type call struct {
	*frame
	node *ir.Node
	args []value
}

// evalFunc computes the results of a node.
type evalFunc func(c *call) ([]value, error)

// table has the meaning of every op. It is filled in init, as the functions of call and
// repeat lead back to it.
var table [ir.NumOps]evalFunc

func init() {
	table = [ir.NumOps]evalFunc{
		ir.OpInvalid: invalid,

		ir.OpWeight:   one(weight),
		ir.OpState:    state,
		ir.OpConstant: one(constant),

		ir.OpReshape: view(reshape),
		ir.OpPermute: view(permute),
		ir.OpSlice:   view(slice),

		ir.OpNeg:     unary(func(x float64) float64 { return -x }),
		ir.OpAbs:     unary(math.Abs),
		ir.OpExp:     unary(math.Exp),
		ir.OpLog:     unary(math.Log),
		ir.OpSqrt:    unary(math.Sqrt),
		ir.OpSquare:  unary(func(x float64) float64 { return x * x }),
		ir.OpReLU:    unary(func(x float64) float64 { return max(x, 0) }),
		ir.OpSiLU:    unary(silu),
		ir.OpGELU:    unary(gelu),
		ir.OpTanh:    unary(math.Tanh),
		ir.OpSigmoid: unary(sigmoid),
		ir.OpScale:   one(scale),

		ir.OpAdd:    binary(func(a, b float64) float64 { return a + b }),
		ir.OpSub:    binary(func(a, b float64) float64 { return a - b }),
		ir.OpMul:    binary(func(a, b float64) float64 { return a * b }),
		ir.OpDiv:    binary(func(a, b float64) float64 { return a / b }),
		ir.OpMax:    binary(func(a, b float64) float64 { return max(a, b) }),
		ir.OpMin:    binary(func(a, b float64) float64 { return min(a, b) }),
		ir.OpSwiGLU: binary(swiglu),

		ir.OpMatMul:       one(matMul),
		ir.OpMatMulSwiGLU: one(matMulSwiGLU),

		ir.OpRMSNorm:         one(rmsNorm),
		ir.OpRMSNormQuantize: one(rmsNormQuantize),
		ir.OpLayerNorm:       one(layerNorm),
		ir.OpSoftmax:         one(softmax),
		ir.OpReduceSum:       reduce(sum),
		ir.OpReduceMean:      reduce(mean),
		ir.OpReduceMax:       reduce(largest),

		ir.OpGather: one(gather),

		ir.OpTopK:          one(topK),
		ir.OpTake:          one(take),
		ir.OpExpertsMatMul: one(expertsMatMul),
		ir.OpExpertsSum:    one(expertsSum),
		ir.OpCopyExperts:   one(copyExperts),

		ir.OpRopeTable: one(ropeTable),
		ir.OpRope:      one(rope),
		ir.OpAttention: one(attention),

		ir.OpAttentionSegments: one(attentionSegments),
		ir.OpAttentionCombine:  one(attentionCombine),

		ir.OpStateWrite: stateWrite,

		ir.OpCopy:     one(func(c *call) (Tensor, error) { return c.args[0].Dense(), nil }),
		ir.OpCast:     one(cast),
		ir.OpQuantize: one(quantize),
		ir.OpPack:     one(func(c *call) (Tensor, error) { return c.args[0].Dense(), nil }),
		ir.OpConcat:   one(concat),

		ir.OpCall:    callFunc,
		ir.OpRepeat:  repeat,
		ir.OpForeign: foreign,
	}
}

// attr returns the attributes of a call.
func attr[T any](c *call) *T { return c.node.Attr.(*T) }

func invalid(*call) ([]value, error) { return nil, fmt.Errorf("is no operation") }

func foreign(c *call) ([]value, error) {
	return nil, fmt.Errorf("%s: nobody knows what it computes", attr[ir.ForeignAttr](c).Op)
}

// one is an op with one result that has bytes of its own.
func one(f func(c *call) (Tensor, error)) evalFunc {
	return func(c *call) ([]value, error) {
		t, err := f(c)
		return []value{{Tensor: t}}, err
	}
}

// view is an op whose result names bytes of operand 0.
func view(f func(c *call) (Tensor, error)) evalFunc {
	return func(c *call) ([]value, error) {
		t, err := f(c)
		return []value{{t, c.args[0].state}}, err
	}
}

func unary(f func(float64) float64) evalFunc {
	return one(func(c *call) (Tensor, error) { return c.args[0].mapped(f), nil })
}

func binary(f func(a, b float64) float64) evalFunc {
	return one(func(c *call) (Tensor, error) { return zip(c.args[0].Tensor, c.args[1].Tensor, f) })
}

// zip is f of each element of a and of b, repeated to the shape of a.
func zip(a, b Tensor, f func(a, b float64) float64) (Tensor, error) {
	b, err := b.Broadcast(a.Shape...)
	if err != nil {
		return Tensor{}, err
	}
	x, y := a.Flat(), b.Flat()
	out := make([]float64, len(x))
	for i := range out {
		out[i] = f(x[i], y[i])
	}
	return Of(out, a.Shape...), nil
}

// byRow is f of each row of the innermost dimension, which f replaces in place.
func byRow(t Tensor, f func(row []float64)) Tensor {
	out := Of(append([]float64(nil), t.Flat()...), t.Shape...)
	for i := range out.rows() {
		f(out.row(out.Data, i))
	}
	return out
}

func reduce(f func(row []float64) float64) evalFunc {
	return one(func(c *call) (Tensor, error) {
		x := c.args[0].Tensor
		flat, out := x.Flat(), New(replaceInner(x.Shape, 1)...)
		for i := range out.Data {
			out.Data[i] = f(x.row(flat, i))
		}
		return out, nil
	})
}

func replaceInner(shape []int, n int) []int {
	return append(append([]int(nil), shape[:len(shape)-1]...), n)
}

func sigmoid(x float64) float64   { return 1 / (1 + math.Exp(-x)) }
func silu(x float64) float64      { return x / (1 + math.Exp(-x)) }
func swiglu(g, u float64) float64 { return silu(g) * u }

// gelu is the tanh form.
func gelu(x float64) float64 {
	return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}

func scale(c *call) (Tensor, error) {
	a := attr[ir.ScaleAttr](c)
	return c.args[0].mapped(func(x float64) float64 { return float64(a.Scale)*x + float64(a.Bias) }), nil
}

func sum(row []float64) float64 {
	var s float64
	for _, x := range row {
		s += x
	}
	return s
}

func mean(row []float64) float64 { return sum(row) / float64(len(row)) }

func largest(row []float64) float64 {
	m := math.Inf(-1)
	for _, x := range row {
		m = max(m, x)
	}
	return m
}

func softmax(c *call) (Tensor, error) { return byRow(c.args[0].Tensor, softmaxRow), nil }

func softmaxRow(row []float64) {
	m, total := largest(row), 0.0
	for i, x := range row {
		row[i] = math.Exp(x - m)
		total += row[i]
	}
	for i := range row {
		row[i] /= total
	}
}

func rmsNorm(c *call) (Tensor, error) {
	return normRows(c, float64(attr[ir.NormAttr](c).Eps)), nil
}

// normRows is operand 0 over the root of its mean square, times operand 1.
func normRows(c *call, eps float64) Tensor {
	w := c.args[1].Flat()
	return byRow(c.args[0].Tensor, func(row []float64) {
		var squares float64
		for _, x := range row {
			squares += x * x
		}
		r := 1 / math.Sqrt(squares/float64(len(row))+eps)
		for i := range row {
			row[i] *= r * w[i]
		}
	})
}

func layerNorm(c *call) (Tensor, error) {
	w, eps := c.args[1].Flat(), float64(attr[ir.NormAttr](c).Eps)
	b := make([]float64, len(w))
	if len(c.args) > 2 && c.node.Args[2] != nil {
		b = c.args[2].Flat()
	}
	return byRow(c.args[0].Tensor, func(row []float64) {
		m, variance := mean(row), 0.0
		for _, x := range row {
			variance += (x - m) * (x - m)
		}
		r := 1 / math.Sqrt(variance/float64(len(row))+eps)
		for i, x := range row {
			row[i] = (x-m)*r*w[i] + b[i]
		}
	}), nil
}

func matMul(c *call) (Tensor, error) {
	y := product(c.args[0].Tensor, c.args[1].Tensor)
	if len(c.args) > 2 && c.node.Args[2] != nil {
		return zip(y, c.args[2].Tensor, func(a, b float64) float64 { return a + b })
	}
	return y, nil
}

func matMulSwiGLU(c *call) (Tensor, error) {
	x := c.args[0].Tensor
	y, err := zip(product(x, c.args[1].Tensor), product(x, c.args[2].Tensor), swiglu)
	if to := attr[ir.MatMulSwiGLUAttr](c).To; err == nil && to != dtype.F32 {
		return Round(to, y)
	}
	return y, err
}

// product is x[…,K] times w[N,K], row by row.
func product(x, w Tensor) Tensor {
	xs, ws := x.Flat(), w.Flat()
	y := New(replaceInner(x.Shape, w.Shape[0])...)
	for i := range y.rows() {
		row, out := x.row(xs, i), y.row(y.Data, i)
		for j := range out {
			out[j] = dot(row, w.row(ws, j))
		}
	}
	return y
}

func dot(a, b []float64) float64 {
	var s float64
	for i, x := range a {
		s += x * b[i]
	}
	return s
}

func gather(c *call) (Tensor, error) {
	table, idx := c.args[0].Tensor, c.args[1].Flat()
	flat, y := table.Flat(), New(len(idx), table.Shape[1])
	for i := range idx {
		r, err := index(idx, i, table.Shape[0], "idx")
		if err != nil {
			return Tensor{}, err
		}
		copy(y.row(y.Data, i), table.row(flat, r))
	}
	return y, nil
}

// index returns element i of an operand of indices below n.
func index(idx []float64, i, n int, name string) (int, error) {
	x := int(idx[i])
	if x < 0 || x >= n {
		return 0, fmt.Errorf("%s[%d] is %d: it must be in [0,%d)", name, i, x, n)
	}
	return x, nil
}

func reshape(c *call) (Tensor, error) {
	shape, err := c.dims(attr[ir.ReshapeAttr](c).Shape)
	if err != nil {
		return Tensor{}, err
	}
	return c.args[0].Reshape(shape...)
}

func permute(c *call) (Tensor, error) {
	return c.args[0].Permute(attr[ir.PermuteAttr](c).Perm...)
}

func slice(c *call) (Tensor, error) {
	a := attr[ir.SliceAttr](c)
	at, err := c.dims([]ir.Dim{a.Start, a.Len})
	if err != nil {
		return Tensor{}, err
	}
	return c.args[0].Slice(a.Axis, at[0], at[1])
}

func concat(c *call) (Tensor, error) {
	axis := attr[ir.ConcatAttr](c).Axis
	shape := append([]int(nil), c.args[0].Shape...)
	for _, a := range c.args[1:] {
		shape[axis] += a.Shape[axis]
	}
	y, start := New(shape...), 0
	for _, a := range c.args {
		part, err := y.Slice(axis, start, a.Shape[axis])
		if err != nil {
			return Tensor{}, err
		}
		flat, i := a.Flat(), 0
		part.each(func(at int) {
			y.Data[at] = flat[i]
			i++
		})
		start += a.Shape[axis]
	}
	return y, nil
}
