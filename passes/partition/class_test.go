package partition

import (
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/flow"
)

func TestRat(t *testing.T) {
	tests := []struct{ a, b, want flow.Rational }{
		{flow.Rational{Num: 16, Den: 1}, flow.Rational{Num: 32, Den: 1}, flow.Rational{Num: 32, Den: 1}},
		{flow.Rational{Num: 1, Den: 2}, flow.Rational{Num: 1, Den: 3}, flow.Rational{Num: 1, Den: 1}},
		{flow.Rational{Num: 3, Den: 4}, flow.Rational{Num: 1, Den: 2}, flow.Rational{Num: 3, Den: 2}},
		{flow.Rational{Num: 6, Den: 4}, flow.Rational{Num: 3, Den: 2}, flow.Rational{Num: 3, Den: 2}},
	}
	for _, tt := range tests {
		if got := flow.LcmRat(tt.a, tt.b); got != tt.want {
			t.Errorf("lcm of %v and %v is %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
	tokens := ir.Sym(&ir.Symbol{Name: "tokens", Min: 1, Max: 512})
	if r, ok := flow.DimRatio(tokens.Mul(ir.Const(64)), tokens.Mul(ir.Const(16))); !ok || r != (flow.Rational{Num: 4, Den: 1}) {
		t.Errorf("64*tokens / 16*tokens is %v, %v", r, ok)
	}
	if r, ok := flow.DimRatio(tokens, ir.Const(512)); ok {
		t.Errorf("tokens / 512 is %v for all sizes", r)
	}
}

// TestClass: granules follow each other by their ratios, up to the smallest common one.
func TestClass(t *testing.T) {
	f := ir.NewBuilder("m").Func("f")
	x := f.Param("x", ir.Type{DType: dtype.F32, Shape: ir.Dims(1, 64)})
	node := func() *ir.Node { return f.Neg(x).Def }
	a, b, c := node(), node(), node()
	alone := func(n *ir.Node, granule int64) *class { return aloneClass(n, &ir.Axis{Axis: 1, Granule: granule}) }
	ab, ok := joinClasses(alone(a, 16), a, alone(b, 3), b, flow.Rational{Num: 1, Den: 4})
	if !ok || ab.granule(a) != 48 || ab.granule(b) != 12 {
		t.Fatalf("granules %d and %d", ab.granule(a), ab.granule(b))
	}
	abc, ok := joinClasses(ab, b, alone(c, 8), c, flow.Rational{Num: 1, Den: 3})
	if !ok || abc.granule(a) != 96 || abc.granule(b) != 24 || abc.granule(c) != 8 || abc.units() != 1 {
		t.Errorf("granules %d, %d, %d", abc.granule(a), abc.granule(b), abc.granule(c))
	}
	if _, ok := joinClasses(abc, a, abc, c, flow.Rational{Num: 1, Den: 12}); !ok {
		t.Error("the class does not know what it holds already")
	}
	if _, ok := joinClasses(abc, a, abc, c, flow.Rational{Num: 1, Den: 6}); ok {
		t.Error("two ratios of the same two nodes are possible")
	}
	if got := abc.need(c, 16).granule(a); got != 192 {
		t.Errorf("granule %d, want 192", got)
	}
}
