package opcase

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/eval"
)

// Call is a module with the inputs for a call of one of its functions.
type Call struct {
	Module *ir.Module
	Func   string
	Env    *eval.Env
}

// Case returns a module with the function @case, which applies op to one of its sample cases and has
// the result y, and operands for it. Operands that are weights or states are named after the operand;
// others are parameters. An operand that the case wants as a view is a slice of a parameter that has
// one more block on both sides. Equal seeds give equal operands.
func Case(op ir.Op, c ir.Case, seed uint64) (*Call, error) {
	b := &caseBuilder{
		module: &ir.Module{Name: "case", Props: ir.PropImported, Last: "import"},
		rng:    rand.New(rand.NewPCG(seed, uint64(op))),
		env:    newEnv(),
		sizes:  c.Sizes,
	}
	b.fn = b.module.AddFunc("case")
	var args []*ir.Value
	for i, a := range c.Args {
		v, err := b.operand(argName(op, i), a)
		if err != nil {
			return nil, fmt.Errorf("%v case %q: %w", op, c.Name, err)
		}
		args = append(args, v)
	}
	y, err := Emit(b.fn, op, c.Attr, args, "y")
	if err != nil {
		return nil, fmt.Errorf("%v case %q: %w", op, c.Name, err)
	}
	b.fn.AddResult("y", y)
	return &Call{b.module, "case", b.env}, nil
}

func newEnv() *eval.Env {
	return &eval.Env{
		Inputs: make(map[string]eval.Tensor), Weights: make(map[string]eval.Tensor),
		States: make(map[string]eval.Tensor), Sizes: make(map[string]int64),
	}
}

// argName returns the name of operand i. Variadic operands are numbered.
func argName(op ir.Op, i int) string {
	specs := op.Info().Args
	if last := len(specs) - 1; i >= last && specs[last].Variadic {
		return fmt.Sprint(specs[last].Name, i-last)
	}
	return specs[i].Name
}

// Emit appends a node with inferred types to f and returns its first result.
func Emit(f *ir.Func, op ir.Op, attr any, args []*ir.Value, name string) (*ir.Value, error) {
	types, err := ir.Infer(&ir.Node{Op: op, Attr: attr, Args: args, Func: f})
	if err != nil {
		return nil, err
	}
	return f.Append(f.NewNode(op, attr, args, name, types...)).Result(), nil
}

// caseBuilder builds the operands of a case.
type caseBuilder struct {
	module *ir.Module
	fn     *ir.Func
	rng    *rand.Rand
	env    *eval.Env
	sizes  map[string]int64
}

func (b *caseBuilder) operand(name string, a ir.CaseArg) (*ir.Value, error) {
	b.declareSymbols(a.Type)
	if a.View {
		return b.viewed(name, a)
	}
	data, err := b.fill(a)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	switch {
	case a.Weight:
		b.module.Weights = append(b.module.Weights, &ir.Weight{Name: name, Type: a.Type})
		b.env.Weights[name] = data
		return Emit(b.fn, ir.OpWeight, &ir.WeightAttr{Name: name}, nil, name)
	case a.State:
		b.module.States = append(b.module.States, &ir.State{Name: name, Type: a.Type})
		b.env.States[name] = data
		return Emit(b.fn, ir.OpState, &ir.StateAttr{Name: name}, nil, name)
	}
	b.env.Inputs[name] = data
	return b.fn.AddParam(name, a.Type), nil
}

// viewed wraps the operand in a slice of its innermost dimension.
func (b *caseBuilder) viewed(name string, a ir.CaseArg) (*ir.Value, error) {
	border, last := int64(a.Type.DType.BlockElems()), a.Type.Rank()-1
	if last < 0 {
		return nil, fmt.Errorf("%s: a scalar has no views", name)
	}
	inner := a.Type.Shape[last]
	wide := append(append([]ir.Dim(nil), a.Type.Shape[:last]...), inner.Add(ir.Const(2*border)))
	whole := a
	whole.View, whole.Type = false, a.Type.WithShape(wide...)
	v, err := b.operand(name+".whole", whole)
	if err != nil {
		return nil, err
	}
	return Emit(b.fn, ir.OpSlice, &ir.SliceAttr{Axis: last, Start: ir.Const(border), Len: inner}, []*ir.Value{v}, name)
}

func (b *caseBuilder) declareSymbols(t ir.Type) {
	for _, d := range t.Shape {
		d.Symbols(func(s *ir.Symbol) {
			if b.module.Symbol(s.Name) == nil {
				b.module.Symbols = append(b.module.Symbols, s)
				b.env.Sizes[s.Name] = b.sizes[s.Name]
			}
		})
	}
}

// fill returns the values of an operand, rounded to its dtype.
func (b *caseBuilder) fill(a ir.CaseArg) (eval.Tensor, error) {
	shape := make([]int, a.Type.Rank())
	for i, d := range a.Type.Shape {
		shape[i] = int(d.Eval(func(s *ir.Symbol) int64 { return b.sizes[s.Name] }))
	}
	t := eval.New(shape...)
	for i := range t.Data {
		t.Data[i] = draw(b.rng, a, i)
	}
	return settle(a.Type.DType, t)
}

// settle rounds t until another rounding changes nothing: what holds the operand is encoded from its values, and the
// scales of a format with a scheme may not be found again in the first ones.
func settle(d dtype.DType, t eval.Tensor) (eval.Tensor, error) {
	for {
		next, err := eval.Round(d, t)
		if err != nil || d.Scheme() == nil || slices.Equal(next.Data, t.Data) {
			return next, err
		}
		t = next
	}
}

// draw returns element i of an operand.
func draw(rng *rand.Rand, a ir.CaseArg, i int) float64 {
	switch a.Fill {
	case ir.FillPositions:
		return float64(i)
	case ir.FillZero:
		return 0
	case ir.FillNormal:
		if a.Type.DType.IsInt() {
			return math.Round(8 * rng.NormFloat64())
		}
		return rng.NormFloat64()
	}
	x := a.Lo + (a.Hi-a.Lo)*rng.Float64()
	if a.Type.DType.IsInt() {
		return math.Floor(x)
	}
	return x
}

// Weights returns the tensors of m's weights, computed by their expressions from the tensors of
// sources. A weight without an expression is the tensor of its own name. Packing does not change a
// tensor; literals and files are not supported.
func Weights(m *ir.Module, tensors map[string]eval.Tensor) (map[string]eval.Tensor, error) {
	out := make(map[string]eval.Tensor, len(m.Weights))
	for _, w := range m.Weights {
		e := w.Expr
		if e == nil {
			e = ir.Tensor("", w.Name)
		}
		t, err := weightTensor(e, tensors)
		if err != nil {
			return nil, fmt.Errorf("weight %q: %w", w.Name, err)
		}
		out[w.Name] = t
	}
	return out, nil
}

func weightTensor(e *ir.Expr, tensors map[string]eval.Tensor) (eval.Tensor, error) {
	if e.Op == ir.ExprTensor {
		t, ok := tensors[e.Tensor]
		if !ok {
			return t, fmt.Errorf("there is no tensor %q", e.Tensor)
		}
		return t, nil
	}
	var args []eval.Tensor
	for _, a := range e.Args {
		t, err := weightTensor(a, tensors)
		if err != nil {
			return t, err
		}
		args = append(args, t)
	}
	switch e.Op {
	case ir.ExprPack, ir.ExprExpand:
		return args[0], nil
	case ir.ExprConcat:
		return stack(args), nil
	case ir.ExprRows, ir.ExprColumns:
		return matrixPart(e, args[0])
	case ir.ExprQuantize:
		d, err := dtype.Parse(e.To)
		if err != nil {
			return eval.Tensor{}, err
		}
		return eval.Round(d, args[0])
	}
	return eval.Tensor{}, fmt.Errorf("it is a literal or a file, which is not supported here")
}

// matrixPart returns rows or columns of a tensor, seen as a matrix.
func matrixPart(e *ir.Expr, t eval.Tensor) (eval.Tensor, error) {
	axis, cols := 0, t.Inner()
	if e.Op == ir.ExprColumns {
		axis = 1
	}
	m, err := t.Dense().Reshape(t.Len()/max(cols, 1), cols)
	if err != nil {
		return t, err
	}
	part, err := m.Slice(axis, int(e.First), int(e.Count))
	return part.Dense(), err
}

// stack joins tensors along the outermost dimension.
func stack(ts []eval.Tensor) eval.Tensor {
	shape := append([]int(nil), ts[0].Shape...)
	var data []float64
	shape[0] = 0
	for _, t := range ts {
		shape[0] += t.Shape[0]
		data = append(data, t.Flat()...)
	}
	return eval.Of(data, shape...)
}
