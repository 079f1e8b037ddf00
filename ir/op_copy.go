package ir

import (
	"cmp"
	"slices"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// CastAttr is the dtype of the result.
type CastAttr struct {
	To dtype.DType `attr:"to"`
}

// PackAttr is the layout of the result.
type PackAttr struct {
	To dtype.Layout `attr:"to"`
}

// QuantizeAttr is the dtype of the result: q8a or q8a_k.
type QuantizeAttr struct {
	To dtype.DType `attr:"to,default=q8a"`
}

// ConcatAttr is the axis along which operands are joined.
type ConcatAttr struct {
	Axis int `attr:"axis"`
}

var copyInfo = OpInfo{
	Name:    "copy",
	Doc:     "copy(x): the same elements, dense, in new bytes in the space of the result's type; x may be a strided view or in another space.",
	Args:    []Arg{{Name: "x", Kinds: AnyKind}},
	Traits:  Pure,
	InPlace: []int{0},
	Infer: func(n *Node) (Type, error) {
		t := n.Args[0].Type
		t.Strides, t.Space = nil, ""
		return t, nil
	},
	Cost: moved,
	Axes: copyAxes,
	Ways: linearWays([]int{0}),
	Cases: func(yield func(Case) bool) {
		each(yield,
			Case{Name: "dense", Args: args(f32(3, 65))},
			Case{Name: "symbolic", Args: args(f32d(Sym(symTokens), Const(48))), Sizes: sizes(5)},
			Case{Name: "view", Args: args(f32(4, 3, 32).view())},
			Case{Name: "integers", Args: args(between(dtype.I32, 0, 99, Const(9)))},
		)
	},
	Tol: exact,
}

// copyAxes divides plain values like elementwise ops. Packed values are not divided.
func copyAxes(n *Node) []Axis {
	if n.Args[0].Type.Layout != dtype.Plain {
		return nil
	}
	return elementwiseAxes(n)
}

var castInfo = OpInfo{
	Name:   "cast",
	Doc:    "cast(x) {to}: x converted between f32, f16, bf16 and f64, rounded to nearest, ties to even. Result of the shape of x, dense.",
	Args:   []Arg{{Name: "x", Kinds: Float}},
	Attr:   CastAttr{},
	Traits: Pure | Elementwise,
	Infer: func(n *Node) (Type, error) {
		to := attrOf[CastAttr](n).To
		if !Float.Has(to) {
			return Type{}, argErr(n, 0, "cannot be cast to %v: only between floats; quantize and pack do the rest", to)
		}
		if err := needPlain(n, 0); err != nil {
			return Type{}, err
		}
		return Type{DType: to, Shape: n.Args[0].Type.Shape}, nil
	},
	Cost: perElement(flopsArith),
	Axes: elementwiseAxes,
	Cases: func(yield func(Case) bool) {
		t := Sym(symTokens)
		each(yield,
			Case{Name: "f16", Args: args(f32(3, 65)), Attr: &CastAttr{To: dtype.F16}},
			Case{Name: "bf16", Args: args(f32(3, 65)), Attr: &CastAttr{To: dtype.BF16}},
			Case{Name: "symbolic", Args: args(operand(dtype.F16, t, Const(48))), Attr: &CastAttr{To: dtype.F32}, Sizes: sizes(5)},
			Case{Name: "view", Args: args(operand(dtype.BF16, Dims(4, 32)...).view()), Attr: &CastAttr{To: dtype.F32}},
		)
	},
	Tol: exact,
}

var quantizeInfo = OpInfo{
	Name: "quantize",
	Doc: "quantize(x[…,n] f32) {to}: x in an activation format, q8a, which is the default, or q8a_k: for each block, of 32 elements in q8a and of 256 in q8a_k, " +
		"d = max|x|/127, q = round(x/d), half away from zero, and sums of q. n is a multiple of the block. Result to of the shape of x, dense.",
	Args:   []Arg{{Name: "x", Kinds: Float}},
	Attr:   QuantizeAttr{},
	Traits: Pure,
	Infer: func(n *Node) (Type, error) {
		if err := needRow(n); err != nil {
			return Type{}, err
		}
		to := attrOf[QuantizeAttr](n).To
		if !to.IsActivation() {
			return Type{}, argErr(n, 0, "cannot be quantized to %v: only to q8a or q8a_k", to)
		}
		return checked(Type{DType: to, Shape: n.Args[0].Type.Shape})
	},
	Cost:  perElement(4),
	Axes:  elementwiseAxes,
	Cases: quantizeCases,
	Tol:   stepped,
}

func quantizeCases(yield func(Case) bool) {
	attr, super := &QuantizeAttr{To: dtype.Q8A}, &QuantizeAttr{To: dtype.Q8A_K}
	each(yield,
		Case{Name: "rows", Args: args(f32(3, 64)), Attr: attr},
		Case{Name: "symbolic", Args: args(f32d(Sym(symTokens), Const(96))), Attr: attr, Sizes: sizes(5)},
		Case{Name: "view", Args: args(f32(4, 3, 32).view()), Attr: attr},
		Case{Name: "long blocks", Args: args(f32d(Sym(symTokens), Const(512))), Attr: super, Sizes: sizes(5)},
		Case{Name: "view of long blocks", Args: args(f32(4, 3, 256).view()), Attr: super},
	)
}

var packInfo = OpInfo{
	Name:   "pack",
	Doc:    "pack(x[N,K]) {to}: the same elements in another layout; the last panel of r16 is padded with rows of zeros. x is plain and dense.",
	Args:   []Arg{{Name: "x", Kinds: Float | Quant}},
	Attr:   PackAttr{},
	Traits: Pure,
	Infer:  inferPack,
	Cost:   moved,
	Axes: func(n *Node) []Axis {
		return []Axis{{Axis: 0, Granule: n.Result().Type.Layout.Rows(), Reads: []Read{sameRange(0)}}}
	},
	Cases: func(yield func(Case) bool) {
		attr := &PackAttr{To: dtype.R16}
		each(yield,
			Case{Name: "f32", Args: args(f32(40, 64)), Attr: attr},
			Case{Name: "symbolic", Args: args(f32d(Sym(symTokens), Const(48))), Attr: attr, Sizes: sizes(5)},
			Case{Name: "view", Args: args(f32(32, 32).view()), Attr: attr},
			Case{Name: "q8_0", Args: args(weight(dtype.Q8_0, 40, 96)), Attr: attr},
			Case{Name: "q4_0", Args: args(weight(dtype.Q4_0, 40, 96)), Attr: attr},
			Case{Name: "planar", Args: args(weight(dtype.Q4_0, 40, 96)), Attr: &PackAttr{To: dtype.Planar}},
		)
	},
	Tol: exact,
}

func inferPack(n *Node) (Type, error) {
	if err := cmp.Or(needPlain(n, 0), needRank(n, 2)); err != nil {
		return Type{}, err
	}
	x, to := n.Args[0].Type, attrOf[PackAttr](n).To
	if to == dtype.Plain {
		return Type{}, argErr(n, 0, "the layout to pack into must not be plain")
	}
	return checked(Type{DType: x.DType, Layout: to, Shape: x.Shape})
}

var concatInfo = OpInfo{
	Name:   "concat",
	Doc:    "concat(x…) {axis}: the operands joined along an axis; they have the same dtype and, except for that axis, the same shape. Result dense, in new bytes.",
	Args:   []Arg{{Name: "x", Kinds: AnyKind, Variadic: true}},
	Attr:   ConcatAttr{},
	Traits: Pure,
	Infer:  inferConcat,
	Cost:   moved,
	Axes:   concatAxes,
	Ways:   concatWays,
	Cases:  concatCases,
	Tol:    exact,
}

func inferConcat(n *Node) (Type, error) {
	x, axis := n.Args[0].Type, attrOf[ConcatAttr](n).Axis
	if err := cmp.Or(checkAxis(axis, x.Rank()), needPlain(n, 0)); err != nil {
		return Type{}, err
	}
	shape := slices.Clone(x.Shape)
	for i, a := range n.Args[1:] {
		rest := slices.Clone(a.Type.Shape)
		if len(rest) == len(shape) {
			rest[axis] = x.Shape[axis]
		}
		if a.Type.DType != x.DType || !EqualDims(rest, x.Shape) {
			return Type{}, argErr(n, i+1, "does not fit %v along axis %d", x, axis)
		}
		shape[axis] = shape[axis].Add(a.Type.Shape[axis])
	}
	return checked(Type{DType: x.DType, Shape: shape})
}

// concatAxes divides along every axis except the joined one.
func concatAxes(n *Node) []Axis {
	joined := attrOf[ConcatAttr](n).Axis
	return slices.DeleteFunc(elementwiseAxes(n), func(a Axis) bool { return a.Axis == joined })
}

func concatCases(yield func(Case) bool) {
	t := Sym(symTokens)
	each(yield,
		Case{Name: "rows", Args: args(f32(2, 32), f32(3, 32)), Attr: &ConcatAttr{Axis: 0}},
		Case{Name: "symbolic", Args: args(f32d(t, Const(16)), f32d(t, Const(32)), f32d(t, Const(1))), Attr: &ConcatAttr{Axis: 1}, Sizes: sizes(5)},
		Case{Name: "view", Args: args(f32(4, 8).view(), f32(4, 8)), Attr: &ConcatAttr{Axis: 1}},
		Case{Name: "two of rank 3", Args: args(f32d(t, Const(3), Const(16)), f32d(t, Const(3), Const(5))), Attr: &ConcatAttr{Axis: 2}, Sizes: sizes(4)},
	)
}
