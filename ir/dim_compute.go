package ir

// Arithmetic is how a T is computed from dimensions, such as expressions of another language.
type Arithmetic[T any] interface {
	Const(n int64) T
	Symbol(s *Symbol) T
	Add(a, b T) T
	Mul(a, b T) T
	FloorDiv(a, b T) T
	Min(a, b T) T
	Max(a, b T) T
}

// Compute returns d as a T: the sum of its terms, each the product of its coefficient and its atoms.
func Compute[T any](d Dim, in Arithmetic[T]) T {
	terms := d.terms()
	if len(terms) == 0 {
		return in.Const(0)
	}
	var total T
	for i, t := range terms {
		v := computeTerm(t, in)
		if i > 0 {
			v = in.Add(total, v)
		}
		total = v
	}
	return total
}

func computeTerm[T any](t term, in Arithmetic[T]) T {
	if len(t.atoms) == 0 {
		return in.Const(t.coef)
	}
	v := computeAtom(t.atoms[0], in)
	for _, a := range t.atoms[1:] {
		v = in.Mul(v, computeAtom(a, in))
	}
	if t.coef != 1 {
		v = in.Mul(v, in.Const(t.coef))
	}
	return v
}

func computeAtom[T any](a atom, in Arithmetic[T]) T {
	if a.op == dimSym {
		return in.Symbol(a.sym)
	}
	x, y := Compute(*a.a, in), Compute(*a.b, in)
	switch a.op {
	case dimFloorDiv:
		return in.FloorDiv(x, y)
	case dimMin:
		return in.Min(x, y)
	default:
		return in.Max(x, y)
	}
}
