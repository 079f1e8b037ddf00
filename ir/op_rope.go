package ir

import (
	"cmp"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// RopeTableAttr multiplies cosines and sines (the attention factor of YaRN; 1 otherwise).
type RopeTableAttr struct {
	Scale float32 `attr:"scale,default=1"`
}

// RopeAttr determines which elements of a head are rotated together: neighbours (2i, 2i+1) or, with
// NeoX, (i, i+half).
type RopeAttr struct {
	NeoX bool `attr:"neox,default=false"`
}

var ropeTableInfo = OpInfo{
	Name: "rope_table",
	Doc: "rope_table(pos[T] i32, freqs[h] f32) {scale}: the angle of token t and pair i is pos[t]*freqs[i], computed in float64; " +
		"y[t,i] = (scale*cos, scale*sin). Result f32[T,h,2], dense.",
	Args:   []Arg{{Name: "pos", Kinds: Int}, {Name: "freqs", Kinds: Float}},
	Attr:   RopeTableAttr{},
	Traits: Pure,
	Infer: func(n *Node) (Type, error) {
		if err := cmp.Or(needDType(n, dtype.I32, dtype.F32), needRank(n, 1, 1)); err != nil {
			return Type{}, err
		}
		return denseF32([]Dim{n.Args[0].Type.Shape[0], n.Args[1].Type.Shape[0], Const(2)}), nil
	},
	Cost: perElement(2 * flopsFunc),
	Axes: func(n *Node) []Axis {
		return byRows(n, []Read{sameRange(0), {Kind: ReadAll}})
	},
	Cases: func(yield func(Case) bool) {
		t := Sym(symTokens)
		freqs := between(dtype.F32, 0.001, 1, Const(8))
		each(yield,
			Case{Name: "one", Args: args(between(dtype.I32, 0, 4096, Const(1)), freqs), Attr: &RopeTableAttr{Scale: 1}},
			Case{Name: "symbolic", Args: args(positions(t), freqs), Attr: &RopeTableAttr{Scale: 1.25}, Sizes: sizes(5)},
			Case{Name: "view", Args: args(positions(Const(4)).view(), freqs), Attr: &RopeTableAttr{Scale: 1}},
		)
	},
	Tol: rounded,
}

// byRows divides along axis 0, if it has more than one row.
func byRows(n *Node, reads []Read) []Axis {
	if n.Result().Type.Shape[0].Is(1) {
		return nil
	}
	return []Axis{{Axis: 0, Granule: 1, Reads: reads}}
}

var ropeInfo = OpInfo{
	Name: "rope",
	Doc: "rope(x[T,H,D] f32, table[T,h,2] f32) {neox}: the first 2h elements of each head are h pairs (a, b), each turned by its angle: " +
		"(a*cos - b*sin, a*sin + b*cos); the pairs are (2i, 2i+1), with neox (i, i+h). The other elements stay. Result f32[T,H,D], dense. " +
		"The rotation is that of Su et al. 2021, RoFormer.",
	Args:    []Arg{{Name: "x", Kinds: Float}, {Name: "table", Kinds: Float}},
	Attr:    RopeAttr{},
	Traits:  Pure,
	InPlace: []int{0},
	Infer:   inferRope,
	Cost:    perElement(3),
	Axes: func(n *Node) []Axis {
		axes := byRows(n, []Read{sameRange(0), sameRange(0)})
		if !n.Result().Type.Shape[1].Is(1) {
			axes = append([]Axis{{Axis: 1, Granule: 1, Reads: []Read{sameRange(1), {Kind: ReadAll}}}}, axes...)
		}
		return axes
	},
	Cases: ropeCases,
	Tol:   Tolerance{NMSE: 1e-12, MaxAbs: 1e-5, Why: "two products and a sum, rounded to f32"},
}

func inferRope(n *Node) (Type, error) {
	if err := cmp.Or(needDType(n, dtype.F32, dtype.F32), needRank(n, 3, 3)); err != nil {
		return Type{}, err
	}
	x, table := n.Args[0].Type, n.Args[1].Type
	err := cmp.Or(
		needDim(n, 1, 0, x.Shape[0], "the tokens of x"),
		needDim(n, 1, 2, Const(2), "cosine and sine"))
	if err != nil {
		return Type{}, err
	}
	if lo, _ := x.Shape[2].Sub(table.Shape[1].Mul(Const(2))).Bounds(); lo < 0 {
		return Type{}, argErr(n, 1, "%v pairs are more than a head of %v elements has", table.Shape[1], x.Shape[2])
	}
	return denseF32(x.Shape), nil
}

func ropeCases(yield func(Case) bool) {
	t := Sym(symTokens)
	each(yield,
		Case{Name: "neighbours", Args: args(f32(3, 4, 16), f32(3, 8, 2)), Attr: &RopeAttr{}},
		Case{Name: "symbolic", Args: args(f32d(t, Const(4), Const(16)), f32d(t, Const(8), Const(2))), Attr: &RopeAttr{NeoX: true}, Sizes: sizes(5)},
		Case{Name: "part", Args: args(f32(2, 4, 16), f32(2, 4, 2)), Attr: &RopeAttr{NeoX: true}},
		Case{Name: "view", Args: args(f32(3, 4, 16).view(), f32(3, 8, 2)), Attr: &RopeAttr{}},
	)
}
