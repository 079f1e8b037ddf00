package flow

import (
	"testing"

	"github.com/ggmlc/ggmlc/ir"
)

func TestLeastCommonMultipleOfRationals(t *testing.T) {
	tests := []struct{ a, b, want Rational }{
		{Rational{16, 1}, Rational{32, 1}, Rational{32, 1}},
		{Rational{1, 2}, Rational{1, 3}, Rational{1, 1}},
		{Rational{3, 4}, Rational{1, 2}, Rational{3, 2}},
		{Rational{6, 4}, Rational{3, 2}, Rational{3, 2}},
	}
	for _, tt := range tests {
		if got := LcmRat(tt.a, tt.b); got != tt.want {
			t.Errorf("lcm of %v and %v is %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestRatioOfDimsHoldsForAllSizes(t *testing.T) {
	tokens := ir.Sym(&ir.Symbol{Name: "tokens", Min: 1, Max: 512})
	if r, ok := DimRatio(tokens.Mul(ir.Const(64)), tokens.Mul(ir.Const(16))); !ok || r != (Rational{4, 1}) {
		t.Errorf("64*tokens / 16*tokens is %v, %v", r, ok)
	}
	if r, ok := DimRatio(tokens, ir.Const(512)); ok {
		t.Errorf("tokens / 512 is %v for all sizes", r)
	}
}
