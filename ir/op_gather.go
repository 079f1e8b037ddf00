package ir

import (
	"cmp"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

var gatherInfo = OpInfo{
	Name: "gather",
	Doc: "gather(table[R,n], idx[T] i32): y[t] = table[idx[t]], converted to f32; the indices are in [0,R). " +
		"The table has any float or quantized dtype, plain or packed. Result f32[T,n], dense.",
	Args:   []Arg{{Name: "table", Kinds: Float | Quant}, {Name: "idx", Kinds: Int}},
	Traits: Pure,
	Infer:  inferGather,
	Cost:   gatherCost,
	Axes:   gatherAxes,
	Cases:  gatherCases,
	Tol:    Tolerance{NMSE: 1e-13, MaxAbs: 1e-6, Why: "scale times quantum is rounded to f32"},
}

func inferGather(n *Node) (Type, error) {
	if err := cmp.Or(needDType(n, dtype.Invalid, dtype.I32), needRank(n, 2, 1)); err != nil {
		return Type{}, err
	}
	table, idx := n.Args[0].Type, n.Args[1].Type
	return denseF32([]Dim{idx.Shape[0], table.Shape[1]}), nil
}

// gatherCost counts only the rows that are read.
func gatherCost(n *Node) Cost {
	table, idx, y := n.Args[0].Type, n.Args[1].Type, n.Result().Type
	rows := Type{DType: table.DType, Shape: y.Shape}
	return Cost{FLOPs: y.Elems(), Read: rows.Bytes().Add(idx.Bytes()), Written: y.Bytes()}
}

func gatherAxes(n *Node) []Axis {
	granule := max(int64(n.Args[0].Type.DType.BlockElems()), vectorElems)
	axes := []Axis{{Axis: 1, Granule: granule, Reads: []Read{sameRange(1), {Kind: ReadAll}}}}
	if !n.Result().Type.Shape[0].Is(1) {
		axes = append(axes, Axis{Axis: 0, Granule: 1, Reads: []Read{{Kind: ReadAll}, sameRange(0)}})
	}
	return axes
}

func gatherCases(yield func(Case) bool) {
	idx := func(shape Dim) CaseArg { return between(dtype.I32, 0, 20, shape) }
	schemed := func(d dtype.DType, k int64, l dtype.Layout) Case {
		return Case{Args: args(weight(d, 20, k).layout(l), idx(Const(4)))}
	}
	withSchemed(yield, func(d dtype.DType, k int64) Case { return schemed(d, k, dtype.R16) }, append(unpacked(schemed),
		Case{Name: "f32", Args: args(weight(dtype.F32, 20, 48), idx(Const(3)))},
		Case{Name: "f16", Args: args(weight(dtype.F16, 20, 48), idx(Const(3)))},
		Case{Name: "symbolic", Args: args(weight(dtype.Q8_0, 20, 96), idx(Sym(symTokens))), Sizes: sizes(5)},
		Case{Name: "four bits", Args: args(weight(dtype.Q4_0, 20, 96), idx(Const(4)))},
		Case{Name: "packed", Args: args(weight(dtype.Q8_0, 20, 96).layout(dtype.R16), idx(Const(4)))},
		Case{Name: "packed four bits", Args: args(weight(dtype.Q4_0, 20, 96).layout(dtype.R16), idx(Const(4)))},
		Case{Name: "planar", Args: args(weight(dtype.Q8_0, 20, 96).layout(dtype.Planar), idx(Const(4)))},
		Case{Name: "planar four bits", Args: args(weight(dtype.Q4_0, 20, 96).layout(dtype.Planar), idx(Sym(symTokens))), Sizes: sizes(5)},
		Case{Name: "view", Args: args(f32(20, 16).view(), idx(Const(4)))},
	)...)
}
