package ir

import (
	"slices"
	"strings"
)

// Symbol is a named dimension whose actual size is known only when the program runs,
// with the bounds for which memory is planned. Min is at least 0 and at most Max.
type Symbol struct {
	Name     string
	Min, Max int64
}

// Dim is an extent in elements: a constant or an expression over symbols. An expression is
// kept as a polynomial with sorted terms, so that two dimensions that are equal by the rules
// of arithmetic print alike and compare equal. A Dim is immutable; the zero Dim is 0.
//
// Nearly all extents are constants: they take no memory of their own, and what is asked of
// them is answered without a look elsewhere.
type Dim struct {
	_ [0]func() // == would compare pointers: see Equal

	n   int64 // the constant; 0 where there is a sum
	sum *sum  // nil for a constant
}

// sum is a polynomial that is no constant: terms sorted by key, no zero coefficients. The
// constant term has the key "".
type sum []term

// term is coef times the product of its atoms, which are sorted by their text.
type term struct {
	coef  int64
	atoms []atom
	key   string
}

// atom is what a polynomial cannot look into: a symbol, or one of the operations that do
// not distribute over sums.
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

// dim returns the dimension that has these terms, which are those of a sum, of a constant or
// none.
func (ts sum) dim() Dim {
	switch {
	case len(ts) == 0:
		return Dim{}
	case len(ts) == 1 && ts[0].key == "":
		return Const(ts[0].coef)
	}
	kept := ts // of what is kept only here, memory is taken only here
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

// multiplied returns the products of each term with each, not yet in order.
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

// FloorDiv returns d/e rounded towards minus infinity; e must be positive.
// A division that leaves no rest for any size is carried out.
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

// floorDivOf returns d/e as it is. It is apart from FloorDiv, so that only what is kept goes to
// the heap.
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

// divExact divides every coefficient by n, if all of them allow it.
func (d Dim) divExact(n int64) (Dim, bool) {
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

// DivisibleBy reports whether d is a multiple of n for every size, as far as its
// coefficients show.
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

// Subst returns d with every symbol replaced by what with gives for it.
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

// Symbols calls yield for every symbol in d, in the order of the text.
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

// normal sorts terms, joins those with equal atoms and drops what cancels out.
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
