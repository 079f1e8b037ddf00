package eval

import (
	"fmt"
	"math"

	"github.com/ggmlc/ggmlc/ir"
)

// call is one execution of a node. Operands and attributes conform to the op's shape rule.
type call struct {
	*frame
	node *ir.Node
	args []value
}

// evalFunc computes the results of a node.
type evalFunc func(c *call) ([]value, error)

// table has the function of every op. It is filled in init, as the functions of call and repeat refer
// to it.
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
		ir.OpClamp:   one(clamp),

		ir.OpAdd:    binary(func(a, b float64) float64 { return a + b }),
		ir.OpSub:    binary(func(a, b float64) float64 { return a - b }),
		ir.OpMul:    binary(func(a, b float64) float64 { return a * b }),
		ir.OpDiv:    binary(func(a, b float64) float64 { return a / b }),
		ir.OpMax:    binary(func(a, b float64) float64 { return max(a, b) }),
		ir.OpMin:    binary(func(a, b float64) float64 { return min(a, b) }),
		ir.OpSwiGLU: binary(swiglu),
		ir.OpChain:  one(chain),

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

		ir.OpCopy:     one(dense),
		ir.OpCast:     one(cast),
		ir.OpQuantize: one(quantize),
		ir.OpPack:     one(dense),
		ir.OpConcat:   one(concat),

		// The devices of a group have the same value before and after.
		ir.OpAllReduce:     one(dense),
		ir.OpAllGather:     one(dense),
		ir.OpReduceScatter: one(dense),
		ir.OpTakePart:      one(dense),

		ir.OpObserve: observe,

		ir.OpCall:    callFunc,
		ir.OpRepeat:  repeat,
		ir.OpForeign: foreign,
	}
}

// attr returns the attributes of a call.
func attr[T any](c *call) *T { return c.node.Attr.(*T) }

func invalid(*call) ([]value, error) { return nil, fmt.Errorf("is not an operation") }

func foreign(c *call) ([]value, error) {
	return nil, fmt.Errorf("%s: its meaning is unknown", attr[ir.ForeignAttr](c).Op)
}

// one returns the function of an op with one result in new bytes.
func one(f func(c *call) (Tensor, error)) evalFunc {
	return func(c *call) ([]value, error) {
		t, err := f(c)
		return []value{{Tensor: t}}, err
	}
}

// dense is operand 0.
func dense(c *call) (Tensor, error) { return c.args[0].Dense(), nil }

// view returns the function of an op whose result names bytes of operand 0.
func view(f func(c *call) (Tensor, error)) evalFunc {
	return func(c *call) ([]value, error) {
		t, err := f(c)
		return []value{{t, c.args[0].state}}, err
	}
}

// byRow returns a copy of t after f has changed each row of its innermost dimension in place.
func byRow(t Tensor, f func(row []float64)) Tensor {
	out := Of(append([]float64(nil), t.Flat()...), t.Shape...)
	for i := range out.rows() {
		f(out.row(out.Data, i))
	}
	return out
}

func replaceInner(shape []int, n int) []int {
	return append(append([]int(nil), shape[:len(shape)-1]...), n)
}
