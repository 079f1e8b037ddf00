package ir

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Infer returns the types of n's results, which the op's shape rule derives from operands and
// attributes. Number, presence and kinds of the operands are checked first, so that the rules
// in the op table need not.
//
// A result that names or takes over an operand's bytes is in that operand's space, a weight or state
// in the declared one. The space of any other result is empty, as assign decides it.
func Infer(n *Node) ([]Type, error) {
	err := cmp.Or(checkArgs(n), checkAttr(n))
	var types []Type
	if err == nil {
		types, err = appendTypes(nil, n)
	}
	if err != nil {
		return nil, fmt.Errorf("%v: %w", n.Op, err)
	}
	return types, nil
}

// appendTypes calls the shape rule of n's op and appends what it infers. Operands and attributes have
// been checked.
func appendTypes(types []Type, n *Node) ([]Type, error) {
	info := n.Op.Info()
	if info.Infer != nil {
		t, err := info.Infer(n)
		return append(types, t), err
	}
	all, err := info.InferAll(n)
	return append(types, all...), err
}

// checkArgs checks the operands against the op's list of them.
func checkArgs(n *Node) error {
	specs := n.Op.Info().Args
	for i, spec := range specs {
		if spec.Variadic {
			return checkVariadic(n, i, spec)
		}
		if err := checkArg(n.Arg(i), spec); err != nil {
			return err
		}
	}
	if len(n.Args) > len(specs) {
		return fmt.Errorf("takes %s, not %d", count(len(specs), "operand"), len(n.Args))
	}
	return nil
}

func checkVariadic(n *Node, from int, spec Arg) error {
	if len(n.Args) <= from && !spec.Optional {
		return fmt.Errorf("needs at least one operand %s", spec.Name)
	}
	for _, a := range n.Args[min(from, len(n.Args)):] {
		if err := checkArg(a, spec); err != nil {
			return err
		}
	}
	return nil
}

func checkArg(a *Value, spec Arg) error {
	switch {
	case a == nil && spec.Optional:
		return nil
	case a == nil:
		return fmt.Errorf("operand %s is missing", spec.Name)
	case !a.Type.DType.Valid():
		return fmt.Errorf("operand %s (%v) has no dtype", spec.Name, a)
	case !spec.Kinds.Has(a.Type.DType):
		return fmt.Errorf("operand %s (%v) is %v: it must be of kind %v", spec.Name, a, a.Type.DType, spec.Kinds)
	}
	return nil
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// String returns the names of the kinds, such as "float or int".
func (k Kinds) String() string {
	var names []string
	for i, name := range [...]string{"float", "int", "quantized", "activation"} {
		if k&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

// argErr returns an error about operand i of n.
func argErr(n *Node, i int, format string, args ...any) error {
	specs := n.Op.Info().Args
	name := specs[min(i, len(specs)-1)].Name
	return fmt.Errorf("operand %s %s: %s", name, n.Args[i].Type, fmt.Sprintf(format, args...))
}

// needDType checks the dtypes of operands in order. Invalid means any; absent operands are skipped.
func needDType(n *Node, want ...dtype.DType) error {
	for i, d := range want {
		if a := n.Arg(i); a != nil && d != dtype.Invalid && a.Type.DType != d {
			return argErr(n, i, "must be %v", d)
		}
	}
	return nil
}

// needRank checks the ranks of operands in order; -1 means any.
func needRank(n *Node, want ...int) error {
	for i, r := range want {
		if a := n.Arg(i); a != nil && r >= 0 && a.Type.Rank() != r {
			return argErr(n, i, "must have rank %d", r)
		}
	}
	return nil
}

// needPlain checks that the operands from i on are in plain layout.
func needPlain(n *Node, i int) error {
	for ; i < len(n.Args); i++ {
		if err := needPlainArg(n, i); err != nil {
			return err
		}
	}
	return nil
}

// needPlainArg checks that operand i is in plain layout.
func needPlainArg(n *Node, i int) error {
	if a := n.Args[i]; a != nil && a.Type.Layout != dtype.Plain {
		return argErr(n, i, "must be in plain layout")
	}
	return nil
}

// needDim checks an extent of an operand.
func needDim(n *Node, i, axis int, want Dim, why string) error {
	a := n.Arg(i)
	if a == nil || a.Type.Shape[axis].Equal(want) {
		return nil
	}
	return argErr(n, i, "dimension %d must be %v, as %s", axis, want, why)
}

// broadcastsTo reports whether a value of shape from can be broadcast to shape to: the dimensions are
// aligned at the innermost one, and each extent is equal or 1.
func broadcastsTo(from, to []Dim) bool {
	lead := len(to) - len(from)
	if lead < 0 {
		return false
	}
	for i, d := range from {
		if !d.Is(1) && !d.Equal(to[lead+i]) {
			return false
		}
	}
	return true
}

// withStrides returns t with the shape and strides, which become nil if they are those of a dense
// value. The stride of an extent of 1 is irrelevant and is set to the dense one.
func withStrides(t Type, shape, strides []Dim) Type {
	t.Shape, t.Strides = shape, nil
	strides = slices.Clone(strides)
	dense := t.DenseStrides()
	for i, d := range shape {
		if d.Is(1) {
			strides[i] = dense[i]
		}
	}
	if !EqualDims(strides, dense) {
		t.Strides = strides
	}
	return t
}

// errStrided is the error of a reshape that cannot be a view.
var errStrided = errors.New("the operand's strides do not allow the shape without moving bytes: copy it first")

// reshapeStrides returns the strides of a view that has the elements of a value in another shape. It
// divides both shapes into groups of dimensions with equal products. Within a group the old dimensions
// must have no gaps between them, and the new ones get their elements in order. For shape [4,6,5] with
// strides [60,10,1] and the new shape [24,5] the groups are [4,6] and [24] with step 10, and [5] and
// [5] with step 1: the result is [10,1]. The new shape [4,30] has the group [6,5], whose rows have step 10: that needs
// a copy.
func reshapeStrides(shape, strides, to []Dim) ([]Dim, error) {
	out := make([]Dim, len(to))
	for i, j := 0, 0; i < len(shape) || j < len(to); {
		iEnd, jEnd, ok := matchGroups(shape, to, i, j)
		if !ok || !gapless(shape, strides, i, iEnd) {
			return nil, errStrided
		}
		step := Const(1)
		if iEnd > i {
			step = strides[iEnd-1]
		}
		for k := jEnd - 1; k >= j; k-- {
			out[k] = step
			step = step.Mul(to[k])
		}
		i, j = iEnd, jEnd
	}
	return out, nil
}

// matchGroups returns the ends of the shortest ranges of a from i and of b from j with equal products;
// ok is false if there are none.
func matchGroups(a, b []Dim, i, j int) (iEnd, jEnd int, ok bool) {
	pa, pb := Const(1), Const(1)
	for i < len(a) || j < len(b) {
		switch {
		case j == len(b), i < len(a) && pa.Upper() <= pb.Upper():
			pa = pa.Mul(a[i])
			i++
		default:
			pb = pb.Mul(b[j])
			j++
		}
		if pa.Equal(pb) {
			return i, j, true
		}
	}
	return i, j, false
}

// gapless reports whether dimensions [i,j) have no gaps between them. Dimensions of extent 1 are
// ignored.
func gapless(shape, strides []Dim, i, j int) bool {
	for j--; j > i; j-- {
		if !shape[j-1].Is(1) && !strides[j-1].Equal(strides[j].Mul(shape[j])) {
			return false
		}
	}
	return true
}
