package archtest

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/eval"
)

// Env returns the weights of a module of the model, and the inputs for a prompt in an empty cache.
func (m Model) Env(mod *ir.Module, prompt []int32) (*eval.Env, error) {
	e := &eval.Env{Weights: make(map[string]eval.Tensor), Inputs: make(map[string]eval.Tensor), States: make(map[string]eval.Tensor)}
	for _, w := range mod.Weights {
		x, err := m.Weight(w)
		if err != nil {
			return nil, err
		}
		e.Weights[w.Name] = x
	}
	n := len(prompt)
	tokens, pos := make([]float64, n), make([]float64, n)
	for i, id := range prompt {
		tokens[i], pos[i] = float64(id), float64(i)
	}
	e.Inputs["tokens"], e.Inputs["pos"] = eval.Of(tokens, n), eval.Of(pos, n)
	if mod.LM == nil { // an encoder
		e.Inputs["last"] = eval.Of(slices.Repeat([]float64{float64(n - 1)}, n), n)
		if mod.Encoder.First >= 0 {
			e.Inputs["first"] = eval.New(1)
		}
	}
	sequences := mod.Funcs[0].Param("lengths").Type.Inner()
	most, _ := sequences.IsConst()
	lengths := make([]float64, most)
	lengths[0] = float64(n)
	e.Inputs["slot"], e.Inputs["lengths"] = eval.New(n), eval.Of(lengths, int(most))
	return e, nil
}

// Weight returns the values of a weight: those of the tensor of its name, or of its literal.
func (m Model) Weight(w *ir.Weight) (eval.Tensor, error) {
	shape := make([]int, len(w.Type.Shape))
	for i, d := range w.Type.Shape {
		n, _ := d.IsConst()
		shape[i] = int(n)
	}
	if w.Expr.Op == ir.ExprLiteral {
		return eval.Decode(dtype.F32, w.Expr.Data, shape...)
	}
	i := slices.IndexFunc(m.Tensors, func(t Tensor) bool { return t.Name == w.Name })
	if i < 0 {
		return eval.Tensor{}, fmt.Errorf("no tensor has the name of weight %s", w.Name)
	}
	if t := m.Tensors[i]; t.stored != nil {
		return eval.Decode(t.Type, t.stored, shape...)
	}
	data := make([]float64, len(m.Tensors[i].Data))
	for k, x := range m.Tensors[i].Data {
		data[k] = float64(x)
	}
	return eval.Of(data, shape...), nil
}
