package eval_test

import (
	"math"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/eval"
)

// TestExpertsComputeTheChosenProducts computes a small block by hand: two of three experts, a matrix of one row.
func TestExpertsComputeTheChosenProducts(t *testing.T) {
	m, err := ir.Parse("t", []byte(`weight "w" : f32[3,1,2]
func @f(%x: f32[2,2], %logits: f32[2,3]) -> (idx: i32[2,2], y: f32[2,2,1], z: f32[2,1], c: f32[2,2,1], all: f32[3,1,2]) {
  %idx = top_k %logits {k=2}
  %p = take %logits, %idx
  %rows = reshape %x {shape=[2,1,2]}
  %w = weight "w"
  %y = experts_matmul %rows, %w, %idx
  %z = experts_sum %y, %p
  %one = slice %idx {axis=1, start=0, len=1}
  %copied = copy_experts %w, %idx
  %c = experts_matmul %rows, %copied, %idx
  %first = copy_experts %w, %one
  return %idx, %y, %z, %c, %first
}
`))
	if err != nil {
		t.Fatal(err)
	}
	env := &eval.Env{
		Inputs:  map[string]eval.Tensor{"x": eval.Of([]float64{1, 2, 3, 4}, 2, 2), "logits": eval.Of([]float64{5, 7, 5, 1, math.NaN(), 1}, 2, 3)},
		Weights: map[string]eval.Tensor{"w": eval.Of([]float64{1, 0, 0, 1, 1, 1}, 3, 1, 2)},
	}
	got, err := eval.Run(t.Context(), m, "f", env)
	if err != nil {
		t.Fatal(err)
	}
	nan := math.NaN()
	want := [][]float64{{1, 0, 0, 2}, {2, 1, 3, 7}, {2*7 + 1*5, 3*1 + 7*1}, {2, 1, 3, 7}, {1, 0, 0, 1, nan, nan}}
	for i, w := range want {
		if !slices.EqualFunc(got[i].Flat(), w, func(a, b float64) bool { return a == b || a != a && b != b }) {
			t.Errorf("result %d is %v, want %v", i, got[i].Flat(), w)
		}
	}
}

func TestExpertsOutOfRangeAreErrors(t *testing.T) {
	for _, node := range []string{"take %x, %idx", "experts_matmul %r, %w, %idx", "copy_experts %w, %idx"} {
		m, err := ir.Parse("t", []byte("weight \"w\" : f32[3,1,2]\nfunc @f(%x: f32[1,2], %idx: i32[1,1]) -> () {\n"+
			"  %w = weight \"w\"\n  %r = reshape %x {shape=[1,1,2]}\n  %y = "+node+"\n  return\n}\n"))
		if err != nil {
			t.Fatal(err)
		}
		env := &eval.Env{
			Inputs:  map[string]eval.Tensor{"x": eval.New(1, 2), "idx": eval.Of([]float64{3}, 1, 1)},
			Weights: map[string]eval.Tensor{"w": eval.New(3, 1, 2)},
		}
		if _, err := eval.Run(t.Context(), m, "f", env); err == nil {
			t.Errorf("%s: no error for an index of 3", node)
		}
	}
}
