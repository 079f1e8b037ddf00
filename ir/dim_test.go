package ir

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestEqualDimsHaveTheSameText(t *testing.T) {
	s, u := &Symbol{"s", 1, 100}, &Symbol{"u", 0, 50}
	a, b := Sym(s), Sym(u)
	tests := []struct {
		d    Dim
		want string
	}{
		{Dim{}, "0"},
		{Const(-3), "-3"},
		{a, "s"},
		{a.Mul(Const(-1)), "-s"},
		{a.Add(b).Sub(Const(1)), "u+s-1"},
		{a.Add(a), "2*s"},
		{a.Sub(a), "0"},
		{a.Mul(b).Mul(Const(3)), "3*s*u"},
		{a.CeilDiv(32), "(s+31)/32"},
		{a.CeilDiv(32).Mul(Const(34)), "34*((s+31)/32)"},
		{a.CeilDiv(2).Mul(Const(-1)), "-((s+1)/2)"},
		{a.CeilDiv(2).Mul(b), "((s+1)/2)*u"},
		{a.Mul(Const(64)).FloorDiv(Const(32)), "2*s"},
		{a.FloorDiv(a), "1"},
		{Const(-7).FloorDiv(Const(2)), "-4"},
		{a.FloorDiv(a.Add(b)), "s/(u+s)"},
		{a.Min(b), "min(s, u)"},
		{b.Max(a.Add(Const(1))), "max(s+1, u)"},
		{a.Min(Const(100)), "s"},
		{a.Max(Const(200)), "200"},
		{a.Min(a), "s"},
	}
	for _, tt := range tests {
		if got := tt.d.String(); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

// TestDimArithmeticAgreesWithIntegers compares random expressions, with bounds, substitution and text, with
// plain arithmetic on numbers.
func TestDimArithmeticAgreesWithIntegers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	syms := []*Symbol{{"a", 1, 9}, {"b", 0, 5}, {"c", 3, 3}}
	p := newParser("t", nil)
	p.m.Symbols = syms
	for range 2000 {
		values := map[*Symbol]int64{}
		for _, s := range syms {
			values[s] = s.Min + rng.Int64N(s.Max-s.Min+1)
		}
		d, want := randomDim(rng, syms, values, 3)
		size := func(s *Symbol) int64 { return values[s] }
		if got := d.Eval(size); got != want {
			t.Fatalf("%v is %d, want %d", d, got, want)
		}
		if lo, hi := d.Bounds(); want < lo || want > hi {
			t.Fatalf("%v is %d, outside its bounds %d to %d", d, want, lo, hi)
		}
		if got, ok := d.Subst(func(s *Symbol) Dim { return Const(values[s]) }).IsConst(); !ok || got != want {
			t.Fatalf("%v substituted is %d, want %d", d, got, want)
		}
		back := newParser("t", []byte(d.String()))
		back.m = p.m
		if e := back.dim(); back.failed() || !e.Equal(d) || back.tok.kind != tokEOF {
			t.Fatalf("%v is read as %v (%v)", d, e, back.err())
		}
	}
}

func randomDim(rng *rand.Rand, syms []*Symbol, values map[*Symbol]int64, depth int) (Dim, int64) {
	if depth == 0 || rng.IntN(4) == 0 {
		if rng.IntN(2) == 0 {
			n := rng.Int64N(20) - 5
			return Const(n), n
		}
		s := syms[rng.IntN(len(syms))]
		return Sym(s), values[s]
	}
	a, x := randomDim(rng, syms, values, depth-1)
	b, y := randomDim(rng, syms, values, depth-1)
	switch rng.IntN(6) {
	case 0:
		return a.Add(b), x + y
	case 1:
		return a.Sub(b), x - y
	case 2:
		return a.Mul(b), x * y
	case 3:
		return a.Min(b), min(x, y)
	case 4:
		return a.Max(b), max(x, y)
	}
	n := 1 + rng.Int64N(6)
	if lo, _ := b.Bounds(); lo >= 1 {
		return a.FloorDiv(b), floorDiv(x, y)
	}
	if rng.IntN(2) == 0 {
		return a.CeilDiv(n), floorDiv(x+n-1, n)
	}
	return a.FloorDiv(Const(n)), floorDiv(x, n)
}

func TestLinearFindsSymbolScaleAndOffset(t *testing.T) {
	s, u := &Symbol{"s", 1, 100}, &Symbol{"u", 1, 100}
	if sym, scale, offset, ok := Sym(s).Mul(Const(3)).Sub(Const(2)).Linear(); sym != s || scale != 3 || offset != -2 || !ok {
		t.Errorf("got %v %d %d %v", sym, scale, offset, ok)
	}
	if sym, _, offset, ok := Const(5).Linear(); sym != nil || offset != 5 || !ok {
		t.Errorf("got %v %d %v", sym, offset, ok)
	}
	for _, d := range []Dim{Sym(s).Add(Sym(u)), Sym(s).Mul(Sym(s)), Sym(s).CeilDiv(2)} {
		if _, _, _, ok := d.Linear(); ok {
			t.Errorf("%v is linear", d)
		}
	}
}

func TestBoundsSaturate(t *testing.T) {
	s := &Symbol{"s", 0, math.MaxInt64}
	d := Sym(s).Mul(Sym(s)).Add(Sym(s))
	if lo, hi := d.Bounds(); lo != 0 || hi != math.MaxInt64 {
		t.Errorf("bounds %d to %d", lo, hi)
	}
	if lo, _ := d.Mul(Const(-1)).Bounds(); lo >= 0 || lo > math.MinInt64+1 {
		t.Errorf("lower bound %d", lo)
	}
}
