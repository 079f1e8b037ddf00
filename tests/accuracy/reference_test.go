package accuracy

import (
	"context"
	"fmt"
	"math"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/eval"
)

// reference returns the logits after each of the tokens, in float64, by one call of decode
// for each.
func (r *random) reference(m *ir.Module, tokens []int32) ([][]float64, error) {
	env, err := r.env(m)
	if err != nil {
		return nil, err
	}
	var rows [][]float64
	for i, id := range tokens {
		out, err := r.eval(m, env, "decode", tokens[i:i+1], i)
		if err != nil {
			return nil, fmt.Errorf("token %d (%d): %w", i, id, err)
		}
		rows = append(rows, out)
	}
	return rows, nil
}

// referencePrefill returns the logits after a prompt that one call of prefill takes.
func (r *random) referencePrefill(m *ir.Module, tokens []int32) ([]float64, error) {
	env, err := r.env(m)
	if err != nil {
		return nil, err
	}
	return r.eval(m, env, "prefill", tokens, 0)
}

func (r *random) eval(m *ir.Module, env *eval.Env, fn string, tokens []int32, at int) ([]float64, error) {
	n := len(tokens)
	ids, pos := make([]float64, n), make([]float64, n)
	for i, id := range tokens {
		ids[i], pos[i] = float64(id), float64(at+i)
	}
	env.Inputs = map[string]eval.Tensor{
		"tokens":  eval.Of(ids, n),
		"pos":     eval.Of(pos, n),
		"slot":    eval.New(n),
		"lengths": eval.Of([]float64{float64(at + n)}, 1),
	}
	out, err := eval.Run(context.Background(), m, fn, env)
	if err != nil {
		return nil, err
	}
	return out[0].Flat(), nil
}

// env holds the weights of an imported module: what the file's bytes decode to, and with
// --quantize or --allow-bf16 what those become. The formats that ggmlc itself puts in the place of others
// are not looked at: their rounding counts as error.
func (r *random) env(m *ir.Module) (*eval.Env, error) {
	env := &eval.Env{Weights: make(map[string]eval.Tensor)}
	for _, w := range m.Weights {
		data, err := r.weight(w)
		if err == nil && r.bf16 && multiplied(m, w) {
			data, err = requantized(dtype.BF16, data)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.Name, err)
		}
		var shape []int
		for _, d := range w.Type.Shape {
			n, _ := d.IsConst()
			shape = append(shape, int(n))
		}
		env.Weights[w.Name] = eval.Of(data, shape...)
	}
	return env, nil
}

// multiplied reports whether w is a matrix of a product.
func multiplied(m *ir.Module, w *ir.Weight) bool {
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			if n.Op != ir.OpMatMul && n.Op != ir.OpMatMulSwiGLU {
				continue
			}
			for _, v := range n.Args {
				if v != nil && v.Def != nil && v.Def.Op == ir.OpWeight && v.Def.Attr.(*ir.WeightAttr).Name == w.Name {
					return true
				}
			}
		}
	}
	return false
}

func (r *random) weight(w *ir.Weight) ([]float64, error) {
	switch e := w.Expr; e.Op {
	case ir.ExprTensor:
		return r.weights[e.Tensor], nil
	case ir.ExprExpand:
		return r.weights[e.Args[0].Tensor], nil
	case ir.ExprQuantize:
		data := r.weights[e.Args[0].Tensor]
		if r.quantize == dtype.Invalid || !w.Type.DType.IsQuantized() {
			return data, nil
		}
		return requantized(w.Type.DType, data)
	case ir.ExprLiteral:
		data := make([]float64, len(e.Data)/w.Type.DType.BlockBytes())
		return data, dtype.Decode(w.Type.DType, data, e.Data)
	default:
		return nil, fmt.Errorf("the test does not know expressions of kind %d", e.Op)
	}
}

// requantized returns what data becomes in d.
func requantized(d dtype.DType, data []float64) ([]float64, error) {
	single := make([]float32, len(data))
	for i, x := range data {
		single[i] = float32(x)
	}
	b, out := make([]byte, d.Bytes(len(data))), make([]float64, len(data))
	if err := dtype.Encode(d, b, single); err != nil {
		return nil, err
	}
	return out, dtype.Decode(d, out, b)
}

// deviation is the root of the mean square difference, as a share of want's range.
func deviation(got []float32, want []float64) float64 {
	lo, hi, sum := math.Inf(1), math.Inf(-1), 0.0
	for i, w := range want {
		lo, hi = min(lo, w), max(hi, w)
		d := float64(got[i]) - w
		sum += d * d
	}
	return math.Sqrt(sum/float64(len(want))) / (hi - lo)
}
