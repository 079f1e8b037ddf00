package ir

import (
	"math"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// ScaleAttr is y = Scale*x + Bias.
type ScaleAttr struct {
	Scale float32 `attr:"scale"`
	Bias  float32 `attr:"bias,default=0"`
}

// ClampAttr is the range of y: [Lo, Hi], which may be infinite.
type ClampAttr struct {
	Lo float32 `attr:"lo"`
	Hi float32 `attr:"hi"`
}

// Work per element in FLOPs. That of a transcendental function is about the length of its polynomial,
// for all backends.
const (
	flopsArith = 1
	flopsFunc  = 12
)

var (
	negInfo     = unary("neg", "y = -x", flopsArith, exact, -8).linear([]int{0})
	absInfo     = unary("abs", "y = |x|", flopsArith, exact, -8)
	expInfo     = unary("exp", "y = e^x", flopsFunc, approx, -8)
	logInfo     = unary("log", "y = ln x; NaN below 0, -Inf at 0", flopsFunc, approx, 0.01)
	sqrtInfo    = unary("sqrt", "y = √x; NaN below 0", flopsArith, rounded, 0.01)
	squareInfo  = unary("square", "y = x²", flopsArith, rounded, -8)
	reluInfo    = unary("relu", "y = max(x, 0)", flopsArith, exact, -8)
	siluInfo    = unary("silu", "y = x / (1 + e^-x)", flopsFunc, approx, -8)
	geluInfo    = unary("gelu", "y = x/2 * (1 + tanh(√(2/π) * (x + 0.044715 x³))), the tanh form that ggml and GPT-2 use", flopsFunc, approx, -8)
	tanhInfo    = unary("tanh", "y = tanh x", flopsFunc, approx, -8)
	sigmoidInfo = unary("sigmoid", "y = 1 / (1 + e^-x)", flopsFunc, approx, -8)
)

var scaleInfo = func() OpInfo {
	info := unary("scale", "y = scale*x + bias", 2*flopsArith, rounded, -8)
	info.Attr = ScaleAttr{}
	info.Ways = scaleWays
	info.Cases = func(yield func(Case) bool) {
		unaryCases(-8)(func(c Case) bool {
			c.Attr = &ScaleAttr{Scale: 0.125, Bias: -1}
			return yield(c)
		})
	}
	return info
}()

var clampInfo = func() OpInfo {
	info := unary("clamp", "y = min(max(x, lo), hi); NaN stays; lo <= hi", 2*flopsArith, exact, -8)
	info.Attr = ClampAttr{}
	info.Infer = inferClamp
	info.Cases = func(yield func(Case) bool) {
		ranges := []*ClampAttr{{-2, 3}, {float32(math.Inf(-1)), 1}, {-1, float32(math.Inf(1))}, {2, 2}}
		unaryCases(-8)(func(c Case) bool {
			c.Attr, ranges = ranges[0], append(ranges[1:], ranges[0])
			return yield(c)
		})
	}
	return info
}()

func inferClamp(n *Node) (Type, error) {
	if a := attrOf[ClampAttr](n); !(a.Lo <= a.Hi) {
		return Type{}, argErr(n, 0, "cannot be brought into the range from %v to %v", a.Lo, a.Hi)
	}
	return inferUnary(n)
}

// unary returns an op on one f32 tensor; cases take x from [lo,8).
func unary(name, formula string, flops int64, tol Tolerance, lo float64) OpInfo {
	return OpInfo{
		Name:    name,
		Doc:     name + "(x f32): " + formula + ", for each element; result f32 of the same shape, dense.",
		Args:    []Arg{{Name: "x", Kinds: Float}},
		Traits:  Pure | Elementwise,
		InPlace: []int{0},
		Infer:   inferUnary,
		Cost:    perElement(flops),
		Axes:    elementwiseAxes,
		Cases:   unaryCases(lo),
		Tol:     tol,
	}
}

func inferUnary(n *Node) (Type, error) {
	if err := needDType(n, dtype.F32); err != nil {
		return Type{}, err
	}
	return denseF32(n.Args[0].Type.Shape), nil
}

func denseF32(shape []Dim) Type { return Type{DType: dtype.F32, Shape: shape} }

func unaryCases(lo float64) func(yield func(Case) bool) {
	x := func(shape ...Dim) CaseArg { return between(dtype.F32, lo, 8, shape...) }
	return func(yield func(Case) bool) {
		each(yield,
			Case{Name: "rows", Args: args(x(Dims(3, 65)...))},
			Case{Name: "symbolic", Args: args(x(Sym(symTokens), Const(48))), Sizes: sizes(5)},
			Case{Name: "view", Args: args(x(Dims(4, 32)...).view())},
			Case{Name: "scalar", Args: args(x())},
		)
	}
}

var (
	addInfo = binary("add", "y = a + b", Commutative, 1, rounded, -8).linear([]int{0, 1})
	subInfo = binary("sub", "y = a - b", 0, 1, rounded, -8).linear([]int{0, 1})
	mulInfo = binary("mul", "y = a * b", Commutative, 1, rounded, -8).linear([]int{0}, []int{1})
	divInfo = binary("div", "y = a / b", 0, 1, rounded, 0.5).linear([]int{0})
	maxInfo = binary("max", "y = max(a, b); NaN where one is NaN", Commutative, 1, exact, -8)
	minInfo = binary("min", "y = min(a, b); NaN where one is NaN", Commutative, 1, exact, -8)
)

var swigluInfo = func() OpInfo {
	info := binary("swiglu", "y = gate / (1 + e^-gate) * up", 0, flopsFunc, approx, -8)
	info.Args[0].Name, info.Args[1].Name = "gate", "up"
	return info
}()

// binary returns an op on two f32 tensors, the second broadcast to the shape of the first; cases take b
// from [lo,8).
func binary(name, formula string, traits Traits, flops int64, tol Tolerance, lo float64) OpInfo {
	return OpInfo{
		Name: name,
		Doc: name + "(a f32, b f32): " + formula + ", for each element. b is repeated to the shape of a: aligned at the innermost dimension, " +
			"each of its extents is that of a, or 1. Result f32 of the shape of a, dense.",
		Args:    []Arg{{Name: "a", Kinds: Float}, {Name: "b", Kinds: Float}},
		Traits:  Pure | Elementwise | traits,
		InPlace: []int{0, 1},
		Infer:   inferBinary,
		Cost:    perElement(flops),
		Axes:    elementwiseAxes,
		Cases:   binaryCases(lo),
		Tol:     tol,
	}
}

func inferBinary(n *Node) (Type, error) {
	if err := needDType(n, dtype.F32, dtype.F32); err != nil {
		return Type{}, err
	}
	a, b := n.Args[0].Type, n.Args[1].Type
	if !broadcastsTo(b.Shape, a.Shape) {
		return Type{}, argErr(n, 1, "cannot be repeated to the shape %s of the first operand", dimsText(a.Shape))
	}
	return denseF32(a.Shape), nil
}

func binaryCases(lo float64) func(yield func(Case) bool) {
	b := func(shape ...Dim) CaseArg { return between(dtype.F32, lo, 8, shape...) }
	return func(yield func(Case) bool) {
		t := Sym(symTokens)
		each(yield,
			Case{Name: "same", Args: args(f32(3, 65), b(Dims(3, 65)...))},
			Case{Name: "row", Args: args(f32d(t, Const(48)), b(Const(48))), Sizes: sizes(5)},
			Case{Name: "column", Args: args(f32d(t, Const(48)), b(t, Const(1))), Sizes: sizes(3)},
			Case{Name: "view", Args: args(f32(4, 32).view(), b(Dims(4, 32)...).view())},
			Case{Name: "scalar", Args: args(f32(2, 3, 4), b())},
		)
	}
}
