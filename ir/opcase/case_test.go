package opcase

import (
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/eval"
)

func TestCaseOperandsAreFilledAsTheCaseWants(t *testing.T) {
	n := &ir.Symbol{Name: "n", Min: 1, Max: 9}
	row := func(d dtype.DType, dims ...ir.Dim) ir.CaseArg {
		return ir.CaseArg{Type: ir.Type{DType: d, Shape: dims}}
	}
	x := row(dtype.F32, ir.Sym(n), ir.Const(32))
	x.View = true
	w := row(dtype.Q8_0, ir.Const(4), ir.Const(32))
	w.Weight = true
	c := ir.Case{Name: "c", Args: []ir.CaseArg{x, w}, Sizes: map[string]int64{"n": 3}}
	call, err := Case(ir.OpMatMul, c, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := call.Env.Inputs["x.whole"].Shape; !slices.Equal(got, []int{3, 34}) {
		t.Errorf("the view's operand has shape %v, want [3 34]", got)
	}
	if arg := call.Module.Funcs[0].Nodes[2].Args[0]; arg.Type.Dense() {
		t.Errorf("operand %v is dense", arg.Type)
	}
	rounded, err := eval.Round(dtype.Q8_0, call.Env.Weights["w"])
	if err != nil {
		t.Fatal(err)
	}
	if err := Compare(rounded, call.Env.Weights["w"], ir.Tolerance{NMSE: 1e-6}); err != nil {
		t.Errorf("the weight is not what its dtype can hold: %v", err)
	}
	if _, err := eval.Run(t.Context(), call.Module, call.Func, call.Env); err != nil {
		t.Error(err)
	}
}

func TestWeightsFollowTheirExpressions(t *testing.T) {
	a, b := eval.Of([]float64{1, 2}, 1, 2), eval.Of([]float64{3, 4.001}, 1, 2)
	m := &ir.Module{Weights: []*ir.Weight{
		{Name: "a"},
		{Name: "renamed", Expr: ir.Tensor("m", "b")},
		{Name: "joined", Expr: ir.Pack(ir.Concat(ir.Tensor("m", "a"), ir.Quantize(ir.Tensor("m", "b"), "f16")), "r16")},
	}}
	got, err := Weights(m, map[string]eval.Tensor{"a": a, "b": b})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got["a"].Flat(), []float64{1, 2}) || !slices.Equal(got["renamed"].Flat(), []float64{3, 4.001}) {
		t.Errorf("a is %v, renamed %v", got["a"].Flat(), got["renamed"].Flat())
	}
	// 4.001 is between the float16 numbers 4 and 4.00390625.
	if j := got["joined"]; !slices.Equal(j.Shape, []int{2, 2}) || !slices.Equal(j.Flat(), []float64{1, 2, 3, 4}) {
		t.Errorf("joined is %v %v", j.Shape, j.Flat())
	}
	m.Weights[0].Expr = ir.Tensor("m", "c")
	if _, err := Weights(m, nil); err == nil || err.Error() != `weight "a": there is no tensor "c"` {
		t.Errorf("error %v", err)
	}
}
