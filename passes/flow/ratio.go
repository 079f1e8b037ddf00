package flow

import (
	"github.com/ggmlc/ggmlc/ir"
)

// Rational is a positive rational number. It is reduced where it comes from a function.
type Rational struct{ Num, Den int64 }

func (r Rational) reduced() Rational {
	g := gcd(r.Num, r.Den)
	return Rational{r.Num / g, r.Den / g}
}

func (r Rational) Times(s Rational) Rational { return Rational{r.Num * s.Num, r.Den * s.Den}.reduced() }

func (r Rational) Inverse() Rational { return Rational{r.Den, r.Num} }

// LcmRat returns the smallest number of which both are divisors.
func LcmRat(r, s Rational) Rational {
	r, s = r.reduced(), s.reduced()
	return Rational{Lcm(r.Num, s.Num), gcd(r.Den, s.Den)}
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func Lcm(a, b int64) int64 { return a / gcd(a, b) * b }

// DimRatio returns a/b where that is the same number for all sizes.
func DimRatio(a, b ir.Dim) (Rational, bool) {
	num, den := a.Upper(), b.Upper()
	if num <= 0 || den <= 0 {
		return Rational{}, false
	}
	r := Rational{num, den}.reduced()
	return r, a.Mul(ir.Const(r.Den)).Equal(b.Mul(ir.Const(r.Num)))
}
