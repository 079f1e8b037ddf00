package flow

import (
	"github.com/ggmlc/ggmlc/ir"
)

// Rational is a positive rational number. The functions that return one reduce it.
type Rational struct{ Num, Den int64 }

func (r Rational) reduced() Rational {
	g := gcd(r.Num, r.Den)
	return Rational{r.Num / g, r.Den / g}
}

// Times returns r*s.
func (r Rational) Times(s Rational) Rational { return Rational{r.Num * s.Num, r.Den * s.Den}.reduced() }

// Inverse returns 1/r.
func (r Rational) Inverse() Rational { return Rational{r.Den, r.Num} }

// LcmRat returns the least common multiple of two rationals: the smallest number that is a whole multiple of both.
// That of 3/4 and 1/2 is 3/2.
func LcmRat(r, s Rational) Rational {
	r, s = r.reduced(), s.reduced()
	return Rational{Lcm(r.Num, s.Num), gcd(r.Den, s.Den)}
}

// Lcm returns the least common multiple of two integers.
func Lcm(a, b int64) int64 { return a / gcd(a, b) * b }

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// DimRatio returns a/b; ok is false if the ratio is not the same for all sizes.
func DimRatio(a, b ir.Dim) (ratio Rational, ok bool) {
	num, den := a.Upper(), b.Upper()
	if num <= 0 || den <= 0 {
		return Rational{}, false
	}
	r := Rational{num, den}.reduced()
	return r, a.Mul(ir.Const(r.Den)).Equal(b.Mul(ir.Const(r.Num)))
}

// AlignUp rounds n up to a multiple of align.
func AlignUp(n, align int64) int64 { return (n + align - 1) / align * align }

// BoolInt returns 1 for true and 0 for false, to count and compare with.
func BoolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
