package ir

import (
	"slices"
	"strings"
)

// Symbol is a named dimension whose size is known only when the program runs. Memory is planned for its
// bounds. Min is at least 0 and at most Max.
type Symbol struct {
	Name     string
	Min, Max int64
}

// Dim is an extent in elements: a constant, or an expression over symbols. It is immutable; the zero
// Dim is 0.
//
// An expression is kept as a polynomial with sorted terms. Dimensions that are equal by the rules of
// arithmetic therefore have the same text and compare as equal: with a symbol n, both 2*(n+3)-n and n+6
// are the terms 6 and 1*n. Floor divisions, minima and maxima do not distribute over sums; they are
// atoms of the polynomial, identified by their text: in 2*(n/3)+1, the term 2*(n/3) has the atom n/3.
//
// Most extents are constants. They need no allocation.
type Dim struct {
	_ [0]func() // forbids ==, which would compare pointers; use Equal

	n   int64 // the constant; 0 if sum is set
	sum *sum  // nil for a constant
}

// sum is a polynomial that is not constant. Its terms are sorted by key and have no zero coefficients.
// The constant term has the key "".
type sum []term

// term is coef times the product of its atoms, which are sorted by text.
type term struct {
	coef  int64
	atoms []atom
	key   string
}

// atom is an indivisible factor of a term: a symbol, or an operation that does not distribute over
// sums.
type atom struct {
	sym  *Symbol
	op   dimOp
	a, b *Dim
	text string
}

type dimOp uint8

const (
	dimSym dimOp = iota
	dimFloorDiv
	dimMin
	dimMax
)

// Const returns the constant dimension n.
func Const(n int64) Dim { return Dim{n: n} }

// terms returns the terms of d.
func (d Dim) terms() sum {
	switch {
	case d.sum != nil:
		return *d.sum
	case d.n != 0:
		return sum{{coef: d.n}}
	}
	return nil
}

// numTerms is len(d.terms()).
func (d Dim) numTerms() int {
	switch {
	case d.sum != nil:
		return len(*d.sum)
	case d.n != 0:
		return 1
	}
	return 0
}

// dim returns the terms as a dimension, a constant if they are one.
func (ts sum) dim() Dim {
	switch {
	case len(ts) == 0:
		return Dim{}
	case len(ts) == 1 && ts[0].key == "":
		return Const(ts[0].coef)
	}
	kept := ts // so that ts escapes to the heap only here
	return Dim{sum: &kept}
}

// Sym returns the dimension that is the symbol s.
func Sym(s *Symbol) Dim { return atomDim(atom{sym: s, text: s.Name}) }

// Dims returns constant dimensions, outermost first.
func Dims(ns ...int64) []Dim {
	ds := make([]Dim, len(ns))
	for i, n := range ns {
		ds[i] = Const(n)
	}
	return ds
}

func atomDim(a atom) Dim {
	return Dim{sum: &sum{{coef: 1, atoms: []atom{a}, key: a.text}}}
}

// IsConst reports whether d has the same value for every size, and that value.
func (d Dim) IsConst() (int64, bool) { return d.n, d.sum == nil }

// Is reports whether d is the constant n.
func (d Dim) Is(n int64) bool { return d.n == n && d.sum == nil }

// Equal reports whether d and e are equal for all sizes by the rules of arithmetic.
func (d Dim) Equal(e Dim) bool {
	return d.n == e.n && (d.sum == e.sum || d.sum != nil && e.sum != nil && d.sum.equal(*e.sum))
}

func (ts sum) equal(us sum) bool {
	return slices.EqualFunc(ts, us, func(a, b term) bool { return a.coef == b.coef && a.key == b.key })
}

// Add returns d+e.
func (d Dim) Add(e Dim) Dim {
	switch {
	case d.sum == nil && e.sum == nil:
		return Const(d.n + e.n)
	case d.Is(0):
		return e
	case e.Is(0):
		return d
	}
	return normal(slices.Concat(d.terms(), e.terms()))
}

// Sub returns d-e.
func (d Dim) Sub(e Dim) Dim { return d.Add(e.Mul(Const(-1))) }

// Mul returns d*e.
func (d Dim) Mul(e Dim) Dim {
	switch {
	case d.sum == nil && e.sum == nil:
		return Const(d.n * e.n)
	case d.Is(1):
		return e
	case e.Is(1):
		return d
	}
	return normal(multiplied(d.terms(), e.terms()))
}

// multiplied returns the products of each term of ts with each of us, unsorted.
func multiplied(ts, us sum) sum {
	out := make(sum, 0, len(ts)*len(us))
	for _, a := range ts {
		for _, b := range us {
			atoms := slices.Concat(a.atoms, b.atoms)
			slices.SortFunc(atoms, func(x, y atom) int { return strings.Compare(x.text, y.text) })
			out = append(out, term{coef: a.coef * b.coef, atoms: atoms, key: atomsKey(atoms)})
		}
	}
	return out
}

// FloorDiv returns d/e rounded towards minus infinity; e must be positive. A division without remainder
// for all sizes is simplified.
func (d Dim) FloorDiv(e Dim) Dim {
	n, ok := e.IsConst()
	if ok && n <= 0 {
		panic("ir: internal error: division of a dimension by " + e.String())
	}
	if q, exact := d.divExact(n); ok && exact {
		return q
	}
	if d.Equal(e) {
		return Const(1)
	}
	if c, isConst := d.IsConst(); ok && isConst {
		return Const(floorDiv(c, n))
	}
	return floorDivOf(d, e)
}

// floorDivOf returns the symbolic quotient of d and e. It is a function of its own so that d and e
// escape to the heap only here.
func floorDivOf(d, e Dim) Dim {
	return atomDim(atom{op: dimFloorDiv, a: &d, b: &e, text: factorText(d) + "/" + factorText(e)})
}

// CeilDiv returns d/n rounded up; n must be positive.
func (d Dim) CeilDiv(n int64) Dim {
	if q, ok := d.divExact(n); ok {
		return q
	}
	return d.Add(Const(n - 1)).FloorDiv(Const(n))
}

// divExact divides each coefficient by n; ok is false if one is not a multiple of n.
func (d Dim) divExact(n int64) (q Dim, ok bool) {
	if n == 0 {
		return Dim{}, false
	}
	if c, ok := d.IsConst(); ok && c%n == 0 {
		return Const(c / n), true
	}
	if !d.DivisibleBy(n) {
		return Dim{}, false
	}
	ts := slices.Clone(d.terms())
	for i := range ts {
		ts[i].coef /= n
	}
	return ts.dim(), true
}

// DivisibleBy reports whether all coefficients of d are multiples of n, so that d is one for every
// size.
func (d Dim) DivisibleBy(n int64) bool {
	if d.sum == nil || n == 0 {
		return n != 0 && d.n%n == 0
	}
	return !slices.ContainsFunc(*d.sum, func(t term) bool { return t.coef%n != 0 })
}

// Min returns the smaller of d and e.
func (d Dim) Min(e Dim) Dim {
	if smaller, _, ok := sorted(d, e); ok {
		return smaller
	}
	return extremeOf(d, e, dimMin, "min")
}

// Max returns the larger of d and e.
func (d Dim) Max(e Dim) Dim {
	if _, larger, ok := sorted(d, e); ok {
		return larger
	}
	return extremeOf(d, e, dimMax, "max")
}

// sorted returns d and e in order of size; ok is false if the bounds do not decide it.
func sorted(d, e Dim) (smaller, larger Dim, ok bool) {
	dLo, dHi := d.Bounds()
	eLo, eHi := e.Bounds()
	switch {
	case d.Equal(e), dHi <= eLo:
		return d, e, true
	case eHi <= dLo:
		return e, d, true
	}
	return Dim{}, Dim{}, false
}

// extremeOf returns the symbolic minimum or maximum. Its operands are sorted by their text, so that equal
// ones have the same text.
func extremeOf(d, e Dim, op dimOp, name string) Dim {
	if e.String() < d.String() {
		d, e = e, d
	}
	return atomDim(atom{op: op, a: &d, b: &e, text: name + "(" + d.String() + ", " + e.String() + ")"})
}

// Subst returns d with every symbol s replaced by with(s).
func (d Dim) Subst(with func(*Symbol) Dim) Dim {
	if d.sum == nil {
		return d
	}
	var value Dim
	for _, t := range *d.sum {
		p := Const(t.coef)
		for _, a := range t.atoms {
			p = p.Mul(a.subst(with))
		}
		value = value.Add(p)
	}
	return value
}

func (a atom) subst(with func(*Symbol) Dim) Dim {
	switch a.op {
	case dimSym:
		return with(a.sym)
	case dimFloorDiv:
		return a.a.Subst(with).FloorDiv(a.b.Subst(with))
	case dimMin:
		return a.a.Subst(with).Min(a.b.Subst(with))
	default:
		return a.a.Subst(with).Max(a.b.Subst(with))
	}
}

// Symbols calls yield for each symbol in d, in the order of the text. A symbol may occur several times.
func (d Dim) Symbols(yield func(*Symbol)) {
	if d.sum == nil {
		return
	}
	for _, t := range *d.sum {
		for _, a := range t.atoms {
			if a.op == dimSym {
				yield(a.sym)
				continue
			}
			a.a.Symbols(yield)
			a.b.Symbols(yield)
		}
	}
}

// Linear returns d as scale*sym + offset, if it has that form; a constant has sym nil.
func (d Dim) Linear() (sym *Symbol, scale, offset int64, ok bool) {
	if d.sum == nil {
		return nil, 0, d.n, true
	}
	for _, t := range *d.sum {
		switch {
		case t.key == "":
			offset = t.coef
		case sym == nil && len(t.atoms) == 1 && t.atoms[0].op == dimSym:
			sym, scale = t.atoms[0].sym, t.coef
		default:
			return nil, 0, 0, false
		}
	}
	return sym, scale, offset, true
}

// normal returns the sum of terms as a Dim: sorted, with equal products added up and zero terms
// dropped.
func normal(ts sum) Dim {
	slices.SortStableFunc(ts, func(a, b term) int { return strings.Compare(a.key, b.key) })
	out := ts[:0]
	for _, t := range ts {
		if n := len(out); n > 0 && out[n-1].key == t.key {
			out[n-1].coef += t.coef
			continue
		}
		out = append(out, t)
	}
	return slices.DeleteFunc(out, func(t term) bool { return t.coef == 0 }).dim()
}
