package ir

import "testing"

// numbers computes with the values of symbols.
type numbers map[string]int64

func (numbers) Const(n int64) int64       { return n }
func (v numbers) Symbol(s *Symbol) int64  { return v[s.Name] }
func (numbers) Add(a, b int64) int64      { return a + b }
func (numbers) Mul(a, b int64) int64      { return a * b }
func (numbers) FloorDiv(a, b int64) int64 { return floorDiv(a, b) }
func (numbers) Min(a, b int64) int64      { return min(a, b) }
func (numbers) Max(a, b int64) int64      { return max(a, b) }

// TestComputeIsEval compares Compute with Eval.
func TestComputeIsEval(t *testing.T) {
	n, p := &Symbol{"n", 1, 64}, &Symbol{"p", 0, 1000}
	a, b := Sym(n), Sym(p)
	dims := []Dim{
		{}, Const(7), a, a.Mul(Const(4)), a.Add(b).Mul(a).Sub(Const(3)), b.CeilDiv(64), a.Mul(b).FloorDiv(Const(5)).Add(a),
		a.Min(b), a.Max(b.Add(Const(2))).Mul(Const(3)), a.Sub(b).FloorDiv(Const(4)),
	}
	for _, d := range dims {
		for _, v := range []numbers{{"n": 1, "p": 0}, {"n": 17, "p": 999}, {"n": 64, "p": 63}} {
			if got, want := Compute[int64](d, v), d.Eval(func(s *Symbol) int64 { return v[s.Name] }); got != want {
				t.Errorf("%v of %v is %d, want %d", d, v, got, want)
			}
		}
	}
}
