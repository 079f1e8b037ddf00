package ir

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// ForeignAttr describes a node of unknown origin.
type ForeignAttr struct {
	Op     string `attr:"op,positional"` // its name in the origin, such as MUL_MAT
	Source string `attr:"source,default="`

	// Srcs are the source positions of the operands, if they are not consecutive from 0.
	Srcs []int `attr:"srcs,default="`

	// View and InPlace: the result has the bytes of the last operand, which is not a source then. A
	// view only names them and does no work; an in-place op writes them.
	View    bool `attr:"view,default=false"`
	InPlace bool `attr:"inplace,default=false"`

	// Offset is the first byte of a view in the operand that it names. Bytes is the extent of the
	// result from its first byte to its last; 0 is that of its type in dense order.
	Offset int64 `attr:"offset,default=0"`
	Bytes  int64 `attr:"bytes,default=0"`

	// Takes are the operands whose bytes the result may take over if they are not views, like
	// OpInfo.InPlace of other ops.
	Takes []int `attr:"takes,default="`

	// Params are parameters of the node in its origin, separated by spaces, such as "to=0,2,1,3 groups=2".
	Params string `attr:"params,default="`

	Leaf  bool `attr:"leaf,default=false"`  // it does no work and has no operands
	Input bool `attr:"input,default=false"` // of a leaf: the caller writes it before each step
}

func (a *ForeignAttr) traits() Traits {
	var t Traits
	if a.View {
		t |= View
	}
	if a.Leaf {
		t |= Leaf
	}
	return t
}

// sources returns how many of a number of operands are sources.
func (a *ForeignAttr) sources(args int) int {
	if a.View || a.InPlace {
		return args - 1
	}
	return args
}

// foreignSource returns the operand whose bytes the result of a foreign node has, or nil.
func (n *Node) foreignSource(a *ForeignAttr) *Value {
	if last := a.sources(len(n.Args)); last < len(n.Args) && last >= 0 {
		return n.Args[last]
	}
	return nil
}

var foreignInfo = OpInfo{
	Name: "foreign",
	Doc: "foreign OP (args…) {srcs, view, inplace, offset, bytes, takes, params, leaf, input}: a node of unknown meaning, such as one of a scheduler's trace. Its type is as declared. srcs are the operands' " +
		"source positions. A view names the bytes of the last operand from an offset on; an in-place op writes them. That operand is not a source. bytes is the extent, if it is not that of dense rows; " +
		"takes are the operands whose bytes the result may take over, params the node's parameters in its origin, such as \"dim=1\". A leaf has no operands; the caller writes those that are inputs.",
	Args:   []Arg{{Name: "args", Kinds: AnyKind, Variadic: true, Optional: true}},
	Attr:   ForeignAttr{},
	Traits: 0,

	Undivided: "its meaning is not known",

	InferAll: func(n *Node) ([]Type, error) {
		if len(n.Results) == 0 {
			return nil, errors.New("needs a declared type")
		}
		a := attrOf[ForeignAttr](n)
		if err := cmp.Or(a.check(len(n.Args)), a.checkBytes(n)); err != nil {
			return nil, err
		}
		types := make([]Type, len(n.Results))
		for i, r := range n.Results {
			types[i] = r.Type
		}
		return types, nil
	},
	Cost: moved,
	Tol:  exact,
}

// check reports attributes that do not fit a number of operands, or each other.
func (a *ForeignAttr) check(args int) error {
	switch sources := a.sources(args); {
	case sources < 0:
		return errors.New("its last operand has the bytes of the result, and there is no operand")
	case len(a.Srcs) != 0 && len(a.Srcs) != sources:
		return fmt.Errorf("srcs has %s for %s", count(len(a.Srcs), "position"), count(sources, "source"))
	case a.View && a.InPlace:
		return errors.New("is a view or writes in place, not both")
	case a.Leaf && (args != 0 || a.View || a.InPlace):
		return errors.New("a leaf has no operands")
	case a.Input && !a.Leaf:
		return errors.New("only a leaf is an input")
	case slices.ContainsFunc(a.Takes, func(i int) bool { return i < 0 || i >= a.sources(args) }):
		return fmt.Errorf("takes %v: it has %s", a.Takes, count(a.sources(args), "source"))
	case len(a.Takes) != 0 && (a.View || a.InPlace):
		return errors.New("its result has the bytes of the last operand and takes no others")
	}
	return nil
}

// checkBytes reports an extent or offset outside the bytes of the operand.
func (a *ForeignAttr) checkBytes(n *Node) error {
	switch from := n.foreignSource(a); {
	case a.Offset < 0 || a.Bytes < 0:
		return fmt.Errorf("offset %d, bytes %d: one is negative", a.Offset, a.Bytes)
	case a.Offset != 0 && !a.View && !a.InPlace:
		return errors.New("an offset belongs to a view")
	case from != nil && a.Offset > from.MaxBytes()-n.Results[0].MaxBytes():
		return fmt.Errorf("%d bytes from %d on are not within the %d of %v", n.Results[0].MaxBytes(), a.Offset, from.MaxBytes(), from)
	}
	return nil
}
