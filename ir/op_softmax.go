package ir

import (
	"cmp"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

var softmaxInfo = OpInfo{
	Name:    "softmax",
	Doc:     "softmax(x[…,n] f32): y = e^(x-max(x)) / Σ e^(x-max(x)) over the innermost dimension; n >= 1. Result f32 of the shape of x, dense.",
	Args:    []Arg{{Name: "x", Kinds: Float}},
	Traits:  Pure | Reduces,
	InPlace: []int{0},
	Infer: func(n *Node) (Type, error) {
		if err := needFullRow(n); err != nil {
			return Type{}, err
		}
		return denseF32(n.Args[0].Type.Shape), nil
	},
	Cost:  perElement(flopsFunc + 3),
	Axes:  rowAxes,
	Cases: unaryCases1,
	Tol:   summed,
}

// needRow checks that operand 0 is f32 and has an innermost dimension.
func needRow(n *Node) error {
	if n.Args[0].Type.Rank() < 1 {
		return argErr(n, 0, "must have rank 1 or more")
	}
	return needDType(n, dtype.F32)
}

// needFullRow is needRow for ops that are undefined for empty rows, such as the largest element or the
// mean.
func needFullRow(n *Node) error { return cmp.Or(needRow(n), needElements(n)) }

// needElements checks that rows of operand 0 are not empty for any size.
func needElements(n *Node) error {
	x := n.Args[0].Type
	if x.Rank() < 1 {
		return nil // needRow reports it
	}
	if lo, _ := x.Inner().Bounds(); lo < 1 {
		return argErr(n, 0, "its rows may have no element: let there be at least 1 for all sizes")
	}
	return nil
}

// unaryCases1 are the cases of ops over the innermost dimension of one operand.
func unaryCases1(yield func(Case) bool) {
	each(yield,
		Case{Name: "rows", Args: args(f32(3, 65))},
		Case{Name: "symbolic", Args: args(f32d(Sym(symTokens), Const(48))), Sizes: sizes(5)},
		Case{Name: "view", Args: args(f32(4, 3, 32).view())},
		Case{Name: "vector", Args: args(f32(17))},
	)
}
