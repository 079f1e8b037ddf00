package compare

import (
	"context"
	"fmt"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/eval"
)

// definition computes steps in float64.
type definition struct {
	m   *ir.Module
	env eval.Env

	// rounded are the operands that the program rounds, if this is the definition with these roundings.
	rounded map[operand]dtype.DType
}

// newDefinition reads the weights of a module.
func newDefinition(ctx context.Context, m *ir.Module, src codegen.Sources) (*definition, error) {
	d := &definition{m: m, env: eval.Env{Weights: make(map[string]eval.Tensor)}}
	d.env.Operand = d.operand
	for _, w := range m.Weights {
		t, err := readWeight(ctx, w, src)
		if err != nil {
			return nil, fmt.Errorf("weight %q: %w", w.Name, err)
		}
		d.env.Weights[w.Name] = t
	}
	return d, nil
}

func readWeight(ctx context.Context, w *ir.Weight, src codegen.Sources) (eval.Tensor, error) {
	rows, err := codegen.OpenWeight(w, src)
	if err != nil {
		return eval.Tensor{}, err
	}
	n, cols := rows.Shape()
	data := make([]byte, n*int64(rows.DType().RowBytes(int(cols))))
	if err := rows.ReadRows(ctx, data, 0, n); err != nil {
		return eval.Tensor{}, err
	}
	values := make([]float64, n*cols)
	if err := dtype.Decode(rows.DType(), values, data); err != nil {
		return eval.Tensor{}, err
	}
	var shape []int
	size := int64(1)
	for _, d := range w.Type.Shape {
		extent, _ := d.IsConst()
		shape, size = append(shape, int(extent)), size*extent
	}
	if size != n*cols {
		return eval.Tensor{}, fmt.Errorf("%d elements for the type %v", n*cols, w.Type)
	}
	return eval.Of(values, shape...), nil
}

// withRoundings returns a definition that reads operands as the program does. The states are its own.
func (d *definition) withRoundings() *definition {
	r := &definition{m: d.m, env: eval.Env{Weights: d.env.Weights}}
	r.env.Operand = r.operand
	return r
}

// operand returns what a node reads.
func (d *definition) operand(n *ir.Node, i int, t eval.Tensor) (eval.Tensor, error) {
	if to, ok := d.rounded[operand{n, i}]; ok {
		return eval.Round(to, t)
	}
	return t, nil
}

// step computes a step from the inputs that the program had, and returns all values by name. The states continue
// from the step before.
func (d *definition) step(ctx context.Context, s *Step) (map[string]eval.Tensor, error) {
	values := make(map[string]eval.Tensor)
	d.env.Sizes, d.env.Inputs = s.Sizes, make(map[string]eval.Tensor)
	for name, file := range s.inputs {
		t, err := s.read(file)
		if err != nil {
			return nil, err
		}
		d.env.Inputs[name] = t
	}
	d.env.Observe = func(n *ir.Node, results []eval.Tensor) {
		for i, r := range n.Results {
			values[r.Name()] = results[i]
		}
	}
	_, err := eval.Run(ctx, d.m, s.Func, &d.env)
	return values, err
}
