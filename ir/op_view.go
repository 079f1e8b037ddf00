package ir

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// ReshapeAttr is the shape of the result; it has as many elements as the operand.
type ReshapeAttr struct {
	Shape []Dim `attr:"shape"`
}

// PermuteAttr reorders dimensions: dimension i of the result is dimension Perm[i] of the
// operand.
type PermuteAttr struct {
	Perm []int `attr:"perm"`
}

// SliceAttr takes the range [Start, Start+Len) of one axis.
type SliceAttr struct {
	Axis  int `attr:"axis"`
	Start Dim `attr:"start"`
	Len   Dim `attr:"len"`
}

var reshapeInfo = OpInfo{
	Name:   "reshape",
	Doc:    "reshape(x) {shape}: x seen in another shape with as many elements, without moving bytes; row order stays.",
	Args:   []Arg{{Name: "x", Kinds: AnyKind}},
	Attr:   ReshapeAttr{},
	Traits: Pure | View,
	Infer:  inferReshape,
	Ways:   reshapeWays,
	Cost:   noWork,
	Cases:  reshapeCases,
	Tol:    exact,
}

func inferReshape(n *Node) (Type, error) {
	x, shape := n.Args[0].Type, attrOf[ReshapeAttr](n).Shape
	to := x.WithShape(shape...)
	if err := needPlain(n, 0); err != nil {
		return Type{}, err
	}
	if err := CheckType(to); err != nil {
		return Type{}, err
	}
	if !to.Elems().Equal(x.Elems()) {
		return Type{}, argErr(n, 0, "has %v elements, the shape %s has %v", x.Elems(), dimsText(shape), to.Elems())
	}
	if x.Dense() {
		return to, nil
	}
	strides, err := reshapeStrides(x.Shape, x.Strides, shape)
	if err != nil {
		return Type{}, argErr(n, 0, "%v", err)
	}
	return checked(withStrides(to, shape, strides))
}

// checked returns t, or an error if it is not a possible type.
func checked(t Type) (Type, error) {
	if err := CheckType(t); err != nil {
		return Type{}, err
	}
	return t, nil
}

func reshapeCases(yield func(Case) bool) {
	t := symTokens
	each(yield,
		Case{Name: "split", Args: args(f32(3, 64)), Attr: &ReshapeAttr{Shape: Dims(3, 4, 16)}},
		Case{Name: "symbolic", Args: args(f32d(Sym(t), Const(64))), Attr: &ReshapeAttr{Shape: []Dim{Sym(t), Const(4), Const(16)}}, Sizes: sizes(5)},
		Case{Name: "view", Args: args(f32(2, 3, 8).view()), Attr: &ReshapeAttr{Shape: Dims(6, 8)}},
		Case{Name: "scalar", Args: args(f32(1)), Attr: &ReshapeAttr{}},
	)
}

var permuteInfo = OpInfo{
	Name:   "permute",
	Doc:    "permute(x) {perm}: dimension i of the result is dimension perm[i] of x, without moving bytes. The innermost dimension of a block format stays.",
	Args:   []Arg{{Name: "x", Kinds: AnyKind}},
	Attr:   PermuteAttr{},
	Traits: Pure | View,
	Infer:  inferPermute,
	Ways:   permuteWays,
	Cost:   noWork,
	Cases:  permuteCases,
	Tol:    exact,
}

func inferPermute(n *Node) (Type, error) {
	x, perm := n.Args[0].Type, attrOf[PermuteAttr](n).Perm
	if err := needPlain(n, 0); err != nil {
		return Type{}, err
	}
	if !isPermutation(perm, x.Rank()) {
		return Type{}, argErr(n, 0, "%v is no permutation of its %d dimensions", perm, x.Rank())
	}
	old := x.StrideDims()
	shape, strides := make([]Dim, len(perm)), make([]Dim, len(perm))
	for i, p := range perm {
		shape[i], strides[i] = x.Shape[p], old[p]
	}
	return checked(withStrides(x, shape, strides))
}

func isPermutation(perm []int, rank int) bool {
	for i, p := range slices.Sorted(slices.Values(perm)) {
		if p != i {
			return false
		}
	}
	return len(perm) == rank
}

func permuteCases(yield func(Case) bool) {
	each(yield,
		Case{Name: "transpose", Args: args(f32(3, 5)), Attr: &PermuteAttr{Perm: []int{1, 0}}},
		Case{Name: "symbolic", Args: args(f32d(Sym(symTokens), Const(4), Const(16))), Attr: &PermuteAttr{Perm: []int{1, 0, 2}}, Sizes: sizes(5)},
		Case{Name: "view", Args: args(f32(2, 3, 4).view()), Attr: &PermuteAttr{Perm: []int{2, 0, 1}}},
	)
}

var sliceInfo = OpInfo{
	Name:   "slice",
	Doc:    "slice(x) {axis, start, len}: the range [start, start+len) of one axis of x, without moving bytes; whole blocks where the axis is the innermost of a block format.",
	Args:   []Arg{{Name: "x", Kinds: AnyKind}},
	Attr:   SliceAttr{},
	Traits: Pure | View,
	Infer:  inferSlice,
	Ways:   sliceWays,
	Cost:   noWork,
	Cases:  sliceCases,
	Tol:    exact,
}

func inferSlice(n *Node) (Type, error) {
	x, a := n.Args[0].Type, attrOf[SliceAttr](n)
	if err := cmp.Or(needPlain(n, 0), checkAxis(a.Axis, x.Rank())); err != nil {
		return Type{}, err
	}
	extent := x.Shape[a.Axis]
	startLo, _ := a.Start.Bounds()
	lenLo, _ := a.Len.Bounds()
	restLo, _ := extent.Sub(a.Start).Sub(a.Len).Bounds()
	if startLo < 0 || lenLo < 0 || restLo < 0 {
		return Type{}, argErr(n, 0, "start %v, len %v do not stay within dimension %d for every size", a.Start, a.Len, a.Axis)
	}
	block := int64(x.DType.BlockElems())
	if a.Axis == x.Rank()-1 && !(a.Start.DivisibleBy(block) && a.Len.DivisibleBy(block)) {
		return Type{}, argErr(n, 0, "start %v, len %v are no whole blocks of %d", a.Start, a.Len, block)
	}
	shape := slices.Clone(x.Shape)
	shape[a.Axis] = a.Len
	return checked(withStrides(x, shape, x.StrideDims()))
}

func checkAxis(axis, rank int) error {
	if axis < 0 || axis >= rank {
		return fmt.Errorf("axis %d is outside rank %d", axis, rank)
	}
	return nil
}

func sliceCases(yield func(Case) bool) {
	t := Sym(symTokens)
	each(yield,
		Case{Name: "columns", Args: args(f32(3, 48)), Attr: &SliceAttr{Axis: 1, Start: Const(16), Len: Const(16)}},
		Case{Name: "last row", Args: args(f32d(t, Const(16))), Attr: &SliceAttr{Axis: 0, Start: t.Sub(Const(1)), Len: Const(1)}, Sizes: sizes(5)},
		Case{Name: "view", Args: args(f32(4, 6).view()), Attr: &SliceAttr{Axis: 1, Start: Const(1), Len: Const(3)}},
		Case{Name: "blocks", Args: args(weight(dtype.Q8_0, 3, 96)), Attr: &SliceAttr{Axis: 1, Start: Const(32), Len: Const(64)}},
	)
}
