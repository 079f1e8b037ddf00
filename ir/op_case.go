package ir

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Helpers for the Cases of the op files.

// symTokens is the symbol for a variable number of rows.
var symTokens = &Symbol{Name: "tokens", Min: 1, Max: 16}

// sizes returns the value of the symbol in a case.
func sizes(tokens int64) map[string]int64 { return map[string]int64{"tokens": tokens} }

func each(yield func(Case) bool, cases ...Case) {
	for _, c := range cases {
		if !yield(c) {
			return
		}
	}
}

func args(as ...CaseArg) []CaseArg { return as }

// f32 is an operand of normally distributed numbers.
func f32(shape ...int64) CaseArg { return f32d(Dims(shape...)...) }

func f32d(shape ...Dim) CaseArg { return operand(dtype.F32, shape...) }

func operand(d dtype.DType, shape ...Dim) CaseArg {
	return CaseArg{Type: Type{DType: d, Shape: shape}, Lo: -8, Hi: 8}
}

func weight(d dtype.DType, shape ...int64) CaseArg {
	a := operand(d, Dims(shape...)...)
	a.Weight = true
	return a
}

// withSchemed yields cases, then one for each format with a scheme: c is called with it and the length of rows, a
// block of 256 or three of 32. The case has the format's name.
func withSchemed(yield func(Case) bool, c func(d dtype.DType, k int64) Case, cases ...Case) {
	for d := range dtype.NumDTypes {
		if d.Scheme() != nil {
			made := c(d, max(96, int64(d.BlockElems())))
			made.Name = d.String() + made.Name
			cases = append(cases, made)
		}
	}
	each(yield, cases...)
}

// unpacked returns cases for each format with a scheme in layout plain, and in layout planar if it has that: c is
// called as in withSchemed.
func unpacked(c func(d dtype.DType, k int64, l dtype.Layout) Case) (list []Case) {
	for _, l := range []dtype.Layout{dtype.Plain, dtype.Planar} {
		withSchemed(func(c Case) bool { list = append(list, c); return true }, func(d dtype.DType, k int64) Case {
			if !l.Holds(d) {
				return Case{}
			}
			made := c(d, k, l)
			made.Name += " " + l.String()
			return made
		})
	}
	return slices.DeleteFunc(list, func(c Case) bool { return c.Args == nil })
}

// bytesFor returns the format of quantized activations that the CPU multiplies with panels of d: blocks as long as
// those of d.
func bytesFor(d dtype.DType) dtype.DType {
	if d.Scheme().Super {
		return dtype.Q8A_K
	}
	return dtype.Q8A
}

// state is a state of zeros.
func state(d dtype.DType, shape ...int64) CaseArg {
	a := operand(d, Dims(shape...)...)
	a.State, a.Fill = true, FillZero
	return a
}

// positive is an operand of numbers in [lo,hi), such as divisors or indices.
func between(d dtype.DType, lo, hi float64, shape ...Dim) CaseArg {
	a := operand(d, shape...)
	a.Fill, a.Lo, a.Hi = FillUniform, lo, hi
	return a
}

// positions is 0, 1, 2, …
func positions(shape ...Dim) CaseArg {
	a := operand(dtype.I32, shape...)
	a.Fill = FillPositions
	return a
}

func zeros(d dtype.DType, shape ...Dim) CaseArg {
	a := operand(d, shape...)
	a.Fill = FillZero
	return a
}

func (a CaseArg) view() CaseArg {
	a.View = true
	return a
}

func (a CaseArg) layout(l dtype.Layout) CaseArg {
	a.Type.Layout = l
	return a
}

// Tolerances of several families.
var (
	exact   = Tolerance{Why: "moves or selects bytes: nothing is rounded"}
	rounded = Tolerance{NMSE: 1e-13, MaxAbs: 1e-6, Why: "one or two roundings to f32 (2^-24 each)"}
	approx  = Tolerance{NMSE: 1e-11, MaxAbs: 1e-5, Why: "f32 polynomial of a few roundings for a transcendental function"}
	summed  = Tolerance{NMSE: 1e-10, MaxAbs: 1e-4, Why: "f32 sums in blocks: the error grows with the root of the length"}
	stepped = Tolerance{NMSE: 1e-5, MaxAbs: 2e-2, Why: "an f32 rounding can move a number to the neighbouring quantization step (1/127 of the block's maximum)"}
)
