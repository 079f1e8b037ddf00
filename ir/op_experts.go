package ir

import (
	"cmp"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Ops of a mixture of experts. For each of T tokens a router scores E experts, of which C are chosen;
// only their matrices are used. With softmax, swiglu and mul a block is
//
//	%idx = top_k %logits {k=C}           which experts, i32[T,C]
//	%p   = softmax (take %logits, %idx)  how much of each, f32[T,C]
//	%h   = experts_matmul %x, %up, %idx  x as [T,1,K]: every choice reads the same row
//	%y   = experts_matmul %h, %down, %idx
//	%z   = experts_sum %y, %p
//
// experts_matmul is the product that ggml calls mul_mat_id (ggml/include/ggml.h), with dimensions in
// reverse order.

// TopKAttr is the number of elements to choose.
type TopKAttr struct {
	K int `attr:"k"`
}

var topKInfo = OpInfo{
	Name: "top_k",
	Doc: "top_k(x[…,n] f32) {k}: the indices of the k largest elements of each row, the largest first; of equal elements the lower index comes first; " +
		"NaN is below all numbers. 1 <= k <= n. Result i32[…,k], dense.",
	Args:   []Arg{{Name: "x", Kinds: Float}},
	Attr:   TopKAttr{},
	Traits: Pure,
	Infer:  inferTopK,
	Cost: func(n *Node) Cost {
		c := moved(n)
		c.FLOPs = n.Args[0].Type.Elems()
		return c
	},
	Axes: rowAxes,
	Cases: func(yield func(Case) bool) {
		each(yield,
			Case{Name: "rows", Args: args(f32(3, 65)), Attr: &TopKAttr{K: 4}},
			Case{Name: "symbolic", Args: args(f32d(Sym(symTokens), Const(8))), Attr: &TopKAttr{K: 2}, Sizes: sizes(5)},
			Case{Name: "view", Args: args(f32(4, 3, 32).view()), Attr: &TopKAttr{K: 1}},
			Case{Name: "ties", Args: args(zeros(dtype.F32, Dims(2, 6)...)), Attr: &TopKAttr{K: 3}},
			Case{Name: "vector", Args: args(f32(17)), Attr: &TopKAttr{K: 17}},
			Case{Name: "parts of a vocabulary", Args: args(between(dtype.F32, 0, 40, Dims(5, 700)...)), Attr: &TopKAttr{K: 40}},
			Case{Name: "one of many", Args: args(f32(1, 1500)), Attr: &TopKAttr{K: 1}},
		)
	},
	Tol: exact,
}

func inferTopK(n *Node) (Type, error) {
	if err := needRow(n); err != nil {
		return Type{}, err
	}
	x, k := n.Args[0].Type, attrOf[TopKAttr](n).K
	if lo, _ := x.Inner().Bounds(); k < 1 || int64(k) > lo {
		return Type{}, argErr(n, 0, "has no %d largest elements in each row", k)
	}
	return Type{DType: dtype.I32, Shape: replaceInner(x.Shape, Const(int64(k)))}, nil
}

var takeInfo = OpInfo{
	Name: "take",
	Doc: "take(x[…,n] f32, idx[…,k] i32): y[…,j] = x[…,idx[…,j]], row by row; the indices are in [0,n), " +
		"and the dimensions before the innermost are those of x. Result f32[…,k], dense.",
	Args:   []Arg{{Name: "x", Kinds: Float}, {Name: "idx", Kinds: Int}},
	Traits: Pure,
	Infer:  inferTake,
	Cost: func(n *Node) Cost {
		idx, y := n.Args[1].Type, n.Result().Type
		return Cost{FLOPs: y.Elems(), Read: y.Bytes().Add(idx.Bytes()), Written: y.Bytes()}
	},
	Axes: takeAxes,
	Cases: func(yield func(Case) bool) {
		each(yield,
			Case{Name: "rows", Args: args(f32(3, 20), between(dtype.I32, 0, 20, Dims(3, 4)...))},
			Case{Name: "symbolic", Args: args(f32d(Sym(symTokens), Const(8)), between(dtype.I32, 0, 8, Sym(symTokens), Const(2))), Sizes: sizes(5)},
			Case{Name: "view", Args: args(f32(4, 16).view(), between(dtype.I32, 0, 16, Dims(4, 3)...))},
			Case{Name: "vector", Args: args(f32(17), between(dtype.I32, 0, 17, Const(5)))},
		)
	},
	Tol: exact,
}

func inferTake(n *Node) (Type, error) {
	if err := cmp.Or(needRow(n), needDType(n, dtype.F32, dtype.I32)); err != nil {
		return Type{}, err
	}
	x, idx := n.Args[0].Type, n.Args[1].Type
	if idx.Rank() != x.Rank() || !EqualDims(idx.Shape[:idx.Rank()-1], x.Shape[:x.Rank()-1]) {
		return Type{}, argErr(n, 1, "must have as many rows as x %v", x)
	}
	return denseF32(idx.Shape), nil
}

// takeAxes divides by rows, which are the same in both operands.
func takeAxes(n *Node) []Axis {
	axes := rowAxes(n)
	for i := range axes {
		axes[i].Reads[1] = axes[i].Reads[0]
	}
	return axes
}

var expertsMatMulInfo = OpInfo{
	Name: "experts_matmul",
	Doc: "experts_matmul(x[T,S,K] f32, bf16, q8a or q8a_k, w[E,N,K], idx[T,C] i32): y[t,c,n] = Σk x[t,s,k]*w[idx[t,c],n,k], where s is c if S is C, and 0 if S is 1. " +
		"The indices are in [0,E). w holds a matrix for each expert, of any float or quantized dtype, plain or packed. Result f32[T,C,N], dense.",
	Args: []Arg{
		{Name: "x", Kinds: Float | ActFmt},
		{Name: "w", Kinds: Float | Quant},
		{Name: "idx", Kinds: Int},
	},
	Traits: Pure | Reduces,
	Infer:  inferExpertsMatMul,
	Cost:   expertsMatMulCost,
	Axes:   expertsMatMulAxes,
	Ways:   expertsMatMulWays,
	Cases:  expertsMatMulCases,
	Tol:    summed,
}

func inferExpertsMatMul(n *Node) (Type, error) {
	if err := cmp.Or(needRank(n, 3, 3, 2), needDType(n, dtype.Invalid, dtype.Invalid, dtype.I32)); err != nil {
		return Type{}, err
	}
	x, w, idx := n.Args[0].Type, n.Args[1].Type, n.Args[2].Type
	switch {
	case !activation(x.DType):
		return Type{}, argErr(n, 0, "must be f32, bf16, q8a or q8a_k")
	case !w.Shape[2].Equal(x.Shape[2]):
		return Type{}, argErr(n, 1, "its rows must have %v elements, as those of x %v", x.Shape[2], x)
	case !idx.Shape[0].Equal(x.Shape[0]):
		return Type{}, argErr(n, 2, "must have %v rows, the tokens of x", x.Shape[0])
	case !x.Shape[1].Is(1) && !x.Shape[1].Equal(idx.Shape[1]):
		return Type{}, argErr(n, 0, "must have one row for each token, or %v, one for each choice", idx.Shape[1])
	}
	return denseF32([]Dim{idx.Shape[0], idx.Shape[1], w.Shape[1]}), nil
}

// ExpertBytes returns the bytes of one expert of w[E,…], in its layout.
func ExpertBytes(w Type) Dim {
	w.Shape = append([]Dim{Const(1)}, w.Shape[1:]...)
	w.Strides = nil
	return w.Bytes()
}

// expertsMatMulCost counts each expert once, and at most as many as idx has elements.
func expertsMatMulCost(n *Node) Cost {
	x, w, idx, y := n.Args[0].Type, n.Args[1].Type, n.Args[2].Type, n.Result().Type
	return Cost{
		FLOPs:   product(y.Elems(), w.Shape[2], Const(2)),
		Read:    x.Bytes().Add(idx.Bytes()).Add(chosenBytes(w, idx)),
		Written: y.Bytes(),
	}
}

// chosenBytes returns the largest number of bytes of the experts that idx names.
func chosenBytes(w, idx Type) Dim { return ExpertBytes(w).Mul(w.Shape[0].Min(idx.Elems())) }

// expertsMatMulAxes divides by rows of the matrices first, like matmul, then by tokens.
func expertsMatMulAxes(n *Node) []Axis {
	all := Read{Kind: ReadAll}
	axes := []Axis{{Axis: 2, Granule: n.Args[1].Type.Layout.Rows(), Reads: []Read{all, sameRange(1), all}}}
	if !n.Result().Type.Shape[0].Is(1) {
		axes = append(axes, Axis{Axis: 0, Granule: 1, Reads: []Read{sameRange(0), all, sameRange(0)}})
	}
	return axes
}

func expertsMatMulCases(yield func(Case) bool) {
	t := Sym(symTokens)
	idx := func(shape ...Dim) CaseArg { return between(dtype.I32, 0, 5, shape...) }
	w := func(d dtype.DType) CaseArg { return weight(d, 5, 40, 96) }
	chosen, one := idx(t, Const(2)), Const(1)
	q8a := func(s int64) CaseArg { return operand(dtype.Q8A, t, Const(s), Const(96)) }
	withSchemed(yield, func(d dtype.DType, k int64) Case {
		return Case{Args: args(operand(bytesFor(d), t, one, Const(k)), weight(d, 5, 40, k).layout(dtype.R16), chosen), Sizes: sizes(3)}
	}, append(unpacked(func(d dtype.DType, k int64, l dtype.Layout) Case {
		return Case{Args: args(operand(dtype.Q8A, Dims(3, 2, k)...), weight(d, 5, 40, k).layout(l), idx(Dims(3, 2)...))}
	}),
		Case{Name: "f32", Args: args(f32(3, 1, 96), w(dtype.F32), idx(Dims(3, 2)...))},
		Case{Name: "symbolic", Args: args(f32d(t, Const(2), Const(96)), w(dtype.F32), chosen), Sizes: sizes(5)},
		Case{Name: "view", Args: args(f32(4, 2, 96).view(), w(dtype.F16), idx(Dims(4, 2)...))},
		Case{Name: "one token", Args: args(f32(1, 1, 96), w(dtype.BF16), idx(one, Const(3)))},
		Case{Name: "quantized", Args: args(q8a(1), w(dtype.Q8_0), chosen), Sizes: sizes(7)},
		Case{Name: "packed quantized", Args: args(q8a(2), w(dtype.Q8_0).layout(dtype.R16), chosen), Sizes: sizes(7)},
		Case{Name: "packed four bits", Args: args(q8a(1), w(dtype.Q4_0).layout(dtype.R16), chosen), Sizes: sizes(1)},
		Case{Name: "packed bf16", Args: args(operand(dtype.BF16, Dims(3, 1, 96)...), w(dtype.BF16).layout(dtype.R16), idx(Dims(3, 2)...))},
		Case{Name: "packed f32", Args: args(f32(3, 1, 96), w(dtype.F32).layout(dtype.R16), idx(Dims(3, 2)...))},
		Case{Name: "planar", Args: args(f32(3, 1, 96), w(dtype.Q8_0).layout(dtype.Planar), idx(Dims(3, 2)...))},
		Case{Name: "planar four bits", Args: args(f32d(t, Const(2), Const(96)), w(dtype.Q4_0).layout(dtype.Planar), chosen), Sizes: sizes(5)},
		Case{Name: "planar quantized", Args: args(q8a(2), w(dtype.Q4_0).layout(dtype.Planar), chosen), Sizes: sizes(7)},
	)...)
}

var expertsSumInfo = OpInfo{
	Name:   "experts_sum",
	Doc:    "experts_sum(y[T,C,N] f32, p[T,C] f32): z[t,n] = Σc p[t,c]*y[t,c,n]. Result f32[T,N], dense.",
	Args:   []Arg{{Name: "y", Kinds: Float}, {Name: "p", Kinds: Float}},
	Traits: Pure | Reduces,
	Infer:  inferExpertsSum,
	Ways:   linearWays([]int{0}),
	Cost: func(n *Node) Cost {
		c := moved(n)
		c.FLOPs = n.Args[0].Type.Elems().Mul(Const(2))
		return c
	},
	Axes: func(n *Node) []Axis {
		axes := []Axis{{Axis: 1, Granule: vectorElems, Reads: []Read{sameRange(2), {Kind: ReadAll}}}}
		if !n.Result().Type.Shape[0].Is(1) {
			axes = append(axes, Axis{Axis: 0, Granule: 1, Reads: []Read{sameRange(0), sameRange(0)}})
		}
		return axes
	},
	Cases: func(yield func(Case) bool) {
		t := Sym(symTokens)
		each(yield,
			Case{Name: "tokens", Args: args(f32(3, 2, 48), f32(3, 2))},
			Case{Name: "symbolic", Args: args(f32d(t, Const(4), Const(65)), f32d(t, Const(4))), Sizes: sizes(5)},
			Case{Name: "view", Args: args(f32(1, 3, 32).view(), f32(1, 3).view())},
		)
	},
	Tol: summed,
}

func inferExpertsSum(n *Node) (Type, error) {
	if err := cmp.Or(needRank(n, 3, 2), needDType(n, dtype.F32, dtype.F32)); err != nil {
		return Type{}, err
	}
	y, p := n.Args[0].Type, n.Args[1].Type
	if !EqualDims(p.Shape, y.Shape[:2]) {
		return Type{}, argErr(n, 1, "must be f32%s, as y is %v", dimsText(y.Shape[:2]), y)
	}
	return denseF32([]Dim{y.Shape[0], y.Shape[2]}), nil
}

var copyExpertsInfo = OpInfo{
	Name: "copy_experts",
	Doc: "copy_experts(w[E,…], idx[…] i32): new bytes of the size of w in the space of the result's type, of which only the matrices w[e] that idx names are written; " +
		"the others are undefined, and only an experts_matmul with the same indices may read the result. w is dense. In a copy between spaces, idx is in the space of w, as the copy needs it there.",
	Args:   []Arg{{Name: "w", Kinds: Float | Quant}, {Name: "idx", Kinds: Int}},
	Traits: Pure,
	Infer:  inferCopyExperts,

	Undivided: "copies of experts are made after values are divided, and name experts of the whole",

	Cost: func(n *Node) Cost {
		bytes := chosenBytes(n.Args[0].Type, n.Args[1].Type)
		return Cost{Read: bytes.Add(n.Args[1].Type.Bytes()), Written: bytes}
	},
	Axes: func(n *Node) []Axis {
		return []Axis{{Axis: 0, Granule: 1, Reads: []Read{sameRange(0), {Kind: ReadAll}}}}
	},
	Cases: func(yield func(Case) bool) {
		idx := func(n Dim) CaseArg { return between(dtype.I32, 0, 2, n) } // all experts are named, so that no byte is undefined
		each(yield,
			Case{Name: "f32", Args: args(weight(dtype.F32, 2, 3, 8), idx(Const(20)))},
			Case{Name: "symbolic", Args: args(weight(dtype.Q8_0, 2, 16, 32), idx(Sym(symTokens))), Sizes: sizes(16)},
			Case{Name: "packed", Args: args(weight(dtype.Q4_0, 2, 24, 32).layout(dtype.R16), idx(Const(20)))},
			Case{Name: "planar", Args: args(weight(dtype.Q4_0, 2, 24, 32).layout(dtype.Planar), idx(Const(20)))},
			Case{Name: "view", Args: args(weight(dtype.F16, 2, 3, 8), idx(Const(20)).view())},
		)
	},
	Tol: exact,
}

func inferCopyExperts(n *Node) (Type, error) {
	w, idx := n.Args[0].Type, n.Args[1].Type
	switch {
	case w.Rank() < 2:
		return Type{}, argErr(n, 0, "must have rank 2 or more")
	case !w.Dense():
		return Type{}, argErr(n, 0, "must be dense")
	case idx.DType != dtype.I32:
		return Type{}, argErr(n, 1, "must be i32")
	}
	w.Space = ""
	return w, nil
}
