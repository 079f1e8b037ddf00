package ir

import (
	"cmp"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

var stateWriteInfo = OpInfo{
	Name: "state_write",
	Doc: "state_write(state[S,KVH,C,D], x[T,KVH,D] f32, slot[T] i32, pos[T] i32): the next version of state, in the same bytes: " +
		"state[slot[t],:,pos[t],:] = x[t], converted to the state's dtype (f32, f16, q8_0 or q4_0). No two tokens have the same slot and position. " +
		"A state of another dtype than f32 may be in layout r16: the positions of each head are the rows of a matrix.",
	Args: []Arg{
		{Name: "state", Kinds: Float | Quant},
		{Name: "x", Kinds: Float},
		{Name: "slot", Kinds: Int},
		{Name: "pos", Kinds: Int},
	},
	Traits:   Alias | WritesState,
	AliasArg: 0,
	Infer:    inferStateWrite,
	Cost:     stateWriteCost,
	Axes:     stateWriteAxes,
	Cases:    stateWriteCases,
	Tol:      stepped,
}

func inferStateWrite(n *Node) (Type, error) {
	err := cmp.Or(
		needDType(n, dtype.Invalid, dtype.F32, dtype.I32, dtype.I32),
		needRank(n, 4, 3, 1, 1), needCache(n, 0), needCacheLayout(n, 0), needPlain(n, 1))
	if err != nil {
		return Type{}, err
	}
	s, x := n.Args[0].Type, n.Args[1].Type.Shape
	err = cmp.Or(
		needDim(n, 1, 1, s.Shape[1], "the heads of the state"), needDim(n, 1, 2, s.Shape[3], "the rows of the state"),
		needDim(n, 2, 0, x[0], "the tokens of x"), needDim(n, 3, 0, x[0], "the tokens of x"))
	if err != nil {
		return Type{}, err
	}
	return s, nil
}

// stateWriteCost counts only the written rows.
func stateWriteCost(n *Node) Cost {
	x := n.Args[1].Type
	rows := Type{DType: n.Args[0].Type.DType, Shape: x.Shape}
	read := x.Bytes().Add(n.Args[2].Type.Bytes()).Add(n.Args[3].Type.Bytes())
	return Cost{FLOPs: x.Elems(), Read: read, Written: rows.Bytes()}
}

func stateWriteAxes(n *Node) []Axis {
	if n.Result().Type.Shape[1].Is(1) {
		return nil
	}
	all := Read{Kind: ReadAll}
	return []Axis{{Axis: 1, Granule: 1, Reads: []Read{sameRange(1), sameRange(1), all, all}}}
}

func stateWriteCases(yield func(Case) bool) {
	t := Sym(symTokens)
	each(yield,
		Case{Name: "f32", Args: args(state(dtype.F32, 1, 4, 24, 16), f32(3, 4, 16), zeros(dtype.I32, Const(3)), positions(Const(3)))},
		Case{Name: "symbolic", Args: args(state(dtype.F16, 1, 2, 24, 16), f32d(t, Const(2), Const(16)), zeros(dtype.I32, t), positions(t)), Sizes: sizes(5)},
		Case{Name: "two sequences", Args: args(state(dtype.F16, 2, 2, 24, 16), f32(2, 2, 16), positions(Const(2)), zeros(dtype.I32, Const(2)))},
		Case{Name: "quantized", Args: args(state(dtype.Q8_0, 1, 2, 24, 64), f32(2, 2, 64), zeros(dtype.I32, Const(2)), positions(Const(2)))},
		Case{Name: "panels", Args: args(state(dtype.Q8_0, 2, 2, 24, 64).layout(dtype.R16), f32(2, 2, 64), positions(Const(2)), positions(Const(2)))},
		Case{Name: "nibbles", Args: args(state(dtype.Q4_0, 1, 2, 24, 64), f32(2, 2, 64), zeros(dtype.I32, Const(2)), positions(Const(2)))},
		Case{Name: "panels of nibbles", Args: args(state(dtype.Q4_0, 2, 2, 24, 64).layout(dtype.R16), f32(2, 2, 64), positions(Const(2)), positions(Const(2)))},
		Case{Name: "f16 panels", Args: args(state(dtype.F16, 2, 2, 24, 20).layout(dtype.R16), f32(3, 2, 20), between(dtype.I32, 1, 2, Const(3)), positions(Const(3)))},
		Case{Name: "view", Args: args(state(dtype.F32, 1, 4, 24, 16), f32(3, 4, 16).view(), zeros(dtype.I32, Const(3)), positions(Const(3)))},
	)
}
