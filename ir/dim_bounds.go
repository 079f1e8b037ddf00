package ir

import (
	"math"
	"math/bits"
	"slices"
)

// Eval returns the value of d if size gives the value of each symbol.
func (d Dim) Eval(size func(*Symbol) int64) int64 {
	if d.sum == nil {
		return d.n
	}
	var value int64
	for _, t := range *d.sum {
		v := t.coef
		for _, a := range t.atoms {
			v *= a.eval(size)
		}
		value += v
	}
	return value
}

func (a atom) eval(size func(*Symbol) int64) int64 {
	switch a.op {
	case dimSym:
		return size(a.sym)
	case dimFloorDiv:
		return floorDiv(a.a.Eval(size), a.b.Eval(size))
	case dimMin:
		return min(a.a.Eval(size), a.b.Eval(size))
	default:
		return max(a.a.Eval(size), a.b.Eval(size))
	}
}

// Upper returns an upper bound of d within the bounds of its symbols. It is exact if each symbol occurs
// once.
func (d Dim) Upper() int64 { _, hi := d.Bounds(); return hi }

// Bounds returns an interval that contains every value of d, by interval arithmetic that saturates at
// the limits of int64. In the difference n-n/2 with n in [0,8], the two n are independent for it: the
// result is [-4,8].
func (d Dim) Bounds() (lo, hi int64) {
	if d.sum == nil {
		return d.n, d.n
	}
	return d.sum.bounds()
}

func (ts sum) bounds() (lo, hi int64) {
	for _, t := range ts {
		tLo, tHi := t.coef, t.coef
		for _, a := range t.atoms {
			aLo, aHi := a.bounds()
			p := [4]int64{satMul(tLo, aLo), satMul(tLo, aHi), satMul(tHi, aLo), satMul(tHi, aHi)}
			tLo, tHi = slices.Min(p[:]), slices.Max(p[:])
		}
		lo, hi = satAdd(lo, tLo), satAdd(hi, tHi)
	}
	return lo, hi
}

func (a atom) bounds() (lo, hi int64) {
	if a.op == dimSym {
		return a.sym.Min, a.sym.Max
	}
	aLo, aHi := a.a.Bounds()
	bLo, bHi := a.b.Bounds()
	switch a.op {
	case dimFloorDiv:
		bLo, bHi = max(bLo, 1), max(bHi, 1)
		q := [4]int64{floorDiv(aLo, bLo), floorDiv(aLo, bHi), floorDiv(aHi, bLo), floorDiv(aHi, bHi)}
		return slices.Min(q[:]), slices.Max(q[:])
	case dimMin:
		return min(aLo, bLo), min(aHi, bHi)
	default:
		return max(aLo, bLo), max(aHi, bHi)
	}
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func satAdd(a, b int64) int64 {
	s := a + b
	switch {
	case (s > a) == (b > 0):
		return s
	case b > 0:
		return math.MaxInt64
	}
	return math.MinInt64
}

func satMul(a, b int64) int64 {
	neg := (a < 0) != (b < 0)
	hi, lo := bits.Mul64(abs64(a), abs64(b))
	switch {
	case hi != 0 || lo > math.MaxInt64:
		if neg {
			return math.MinInt64
		}
		return math.MaxInt64
	case neg:
		return -int64(lo)
	}
	return int64(lo)
}

func abs64(a int64) uint64 {
	if a < 0 {
		return uint64(-a)
	}
	return uint64(a)
}
