package ir

import "fmt"

// WeightAttr names a weight of the module.
type WeightAttr struct {
	Name string `attr:"name,positional"`
}

// StateAttr names a state of the module.
type StateAttr struct {
	Name string `attr:"name,positional"`
}

// ConstantAttr holds the bytes of a small constant, little-endian, in the layout of the
// result's type; at most 4 KiB. Larger constants are weights.
type ConstantAttr struct {
	Data []byte `attr:"data,positional"`
}

// MaxLiteral is the largest number of bytes of a constant or a literal in a weight
// expression.
const MaxLiteral = 4096

// givenState is why parts of weights and states are not derived.
const givenState = "its state is given, not derived"

var weightInfo = OpInfo{
	Name:   "weight",
	Doc:    "weight \"name\": the weight of that name, as the module declares it.",
	Attr:   WeightAttr{},
	Traits: Pure | Leaf,

	Undivided: givenState,

	Infer: func(n *Node) (Type, error) {
		name := attrOf[WeightAttr](n).Name
		w := n.Func.Module.Weight(name)
		if w == nil {
			return Type{}, fmt.Errorf("the module has no weight %q", name)
		}
		return w.Type, nil
	},
	Cost: noWork,
	Tol:  exact,
}

var stateInfo = OpInfo{
	Name:   "state",
	Doc:    "state \"name\": the state of that name as it is when the call starts.",
	Attr:   StateAttr{},
	Traits: ReadsState | Leaf,

	Undivided: givenState,

	Infer: func(n *Node) (Type, error) {
		name := attrOf[StateAttr](n).Name
		s := n.Func.Module.State(name)
		if s == nil {
			return Type{}, fmt.Errorf("the module has no state %q", name)
		}
		return s.Type, nil
	},
	Cost: noWork,
	Tol:  exact,
}

var constantInfo = OpInfo{
	Name:   "constant",
	Doc:    "constant DATA: the bytes DATA, in hexadecimal, as a value of the declared type, which is dense and has constant extents.",
	Attr:   ConstantAttr{},
	Traits: Pure | Leaf,
	Infer:  inferConstant,

	Undivided: "a constant has no operands: every device has all of it",

	Cost: noWork,
	Tol:  exact,
}

func inferConstant(n *Node) (Type, error) {
	if len(n.Results) != 1 {
		return Type{}, fmt.Errorf("needs a declared type")
	}
	t, data := n.Results[0].Type, attrOf[ConstantAttr](n).Data
	if err := CheckType(t); err != nil {
		return Type{}, err
	}
	size, ok := t.Bytes().IsConst()
	switch {
	case !ok || !t.Dense():
		return Type{}, fmt.Errorf("the type %v must be dense, with constant extents", t)
	case size != int64(len(data)):
		return Type{}, fmt.Errorf("the type %v takes %d bytes, not %d", t, size, len(data))
	case size > MaxLiteral:
		return Type{}, fmt.Errorf("%d bytes are more than %d: make it a weight", size, MaxLiteral)
	}
	return t, nil
}
