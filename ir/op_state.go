package ir

import (
	"cmp"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// StateWriteAttr has Ring, which is not 0 for a state that keeps only the last positions of a sequence: positions are
// below Ring then, and position p is in row p mod C of the state's C rows.
type StateWriteAttr struct {
	Ring int64 `attr:"ring,default=0"`
}

// RingOf returns the positions of a sequence for a state_write or an attention whose state is a ring; 0: its state has
// a row for each position.
func RingOf(n *Node) int64 {
	switch a := n.Attr.(type) {
	case *StateWriteAttr:
		return a.Ring
	case *AttentionAttr:
		return a.Ring
	case *AttentionSegmentsAttr:
		return a.Ring
	}
	return 0
}

// PositionsOf returns how many positions the sequences have in the state that is operand i of a state_write or an
// attention.
func PositionsOf(n *Node, i int) Dim {
	if ring := RingOf(n); ring > 0 {
		return Const(ring)
	}
	return n.Args[i].Type.Shape[2]
}

var stateWriteInfo = OpInfo{
	Name: "state_write",
	Doc: "state_write(state[S,KVH,C,D], x[T,KVH,D] f32, slot[T] i32, pos[T] i32) {ring}: the next version of state, in the same bytes: " +
		"state[slot[t],:,pos[t],:] = x[t], converted to the state's dtype (f32, f16, q8_0 or q4_0). No two tokens have the same slot and position. " +
		"With ring > 0 the state keeps the last C positions of sequences of ring: position p is row p mod C, and no two tokens have the same row. " +
		"A state of another dtype than f32 may be in layout r16: the positions of each head are the rows of a matrix.",
	Args: []Arg{
		{Name: "state", Kinds: Float | Quant},
		{Name: "x", Kinds: Float},
		{Name: "slot", Kinds: Int},
		{Name: "pos", Kinds: Int},
	},
	Attr:     StateWriteAttr{},
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
	return s, checkRing(n, 0, 1)
}

// checkRing checks that the state that is operand i has so many rows for the tokens of operand x that a step overwrites
// no position that one of its tokens reads: those of the window before the first one, and of the tokens.
func checkRing(n *Node, i, x int) error {
	ring := RingOf(n)
	if ring == 0 {
		return nil
	}
	rows, ok := n.Args[i].Type.Shape[2].IsConst()
	if ring < 0 || !ok || rows < 1 || rows >= ring {
		return argErr(n, i, "has %v rows, and cannot be a ring for %d positions: let it have fewer, a constant number", n.Args[i].Type.Shape[2], ring)
	}
	need := n.Args[x].Type.Shape[0].Upper()
	if n.Op != OpStateWrite {
		window := ScoringOf(n).Window
		if window < 1 {
			return argErr(n, i, "is a ring, and all positions are read: let the attention have a window")
		}
		need += window - 1
	}
	if rows < need {
		return argErr(n, i, "is a ring of %d rows, and a step needs %d: positions that its tokens read would be overwritten", rows, need)
	}
	return nil
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
	t, whole := Sym(symTokens), &StateWriteAttr{}
	each(yield,
		Case{Name: "f32", Args: args(state(dtype.F32, 1, 4, 24, 16), f32(3, 4, 16), zeros(dtype.I32, Const(3)), positions(Const(3))), Attr: whole},
		Case{Name: "symbolic", Args: args(state(dtype.F16, 1, 2, 24, 16), f32d(t, Const(2), Const(16)), zeros(dtype.I32, t), positions(t)), Attr: whole, Sizes: sizes(5)},
		Case{Name: "two sequences", Args: args(state(dtype.F16, 2, 2, 24, 16), f32(2, 2, 16), positions(Const(2)), zeros(dtype.I32, Const(2))), Attr: whole},
		Case{Name: "quantized", Args: args(state(dtype.Q8_0, 1, 2, 24, 64), f32(2, 2, 64), zeros(dtype.I32, Const(2)), positions(Const(2))), Attr: whole},
		Case{Name: "panels", Args: args(state(dtype.Q8_0, 2, 2, 24, 64).layout(dtype.R16), f32(2, 2, 64), positions(Const(2)), positions(Const(2))), Attr: whole},
		Case{Name: "nibbles", Args: args(state(dtype.Q4_0, 1, 2, 24, 64), f32(2, 2, 64), zeros(dtype.I32, Const(2)), positions(Const(2))), Attr: whole},
		Case{Name: "panels of nibbles", Args: args(state(dtype.Q4_0, 2, 2, 24, 64).layout(dtype.R16), f32(2, 2, 64), positions(Const(2)), positions(Const(2))), Attr: whole},
		Case{Name: "f16 panels", Args: args(state(dtype.F16, 2, 2, 24, 20).layout(dtype.R16), f32(3, 2, 20), between(dtype.I32, 1, 2, Const(3)), positions(Const(3))), Attr: whole},
		Case{Name: "ring", Args: args(state(dtype.F16, 2, 2, 128, 20).layout(dtype.R16), f32(1, 2, 20), between(dtype.I32, 0, 2, Const(1)), between(dtype.I32, 128, 400, Const(1))), Attr: &StateWriteAttr{Ring: 400}},
		Case{Name: "view", Args: args(state(dtype.F32, 1, 4, 24, 16), f32(3, 4, 16).view(), zeros(dtype.I32, Const(3)), positions(Const(3))), Attr: whole},
	)
}
