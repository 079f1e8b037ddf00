package flow

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// SameShape reports whether a result may be written over an operand element by element: the operand names all bytes of
// its origin, and element i of the result has the place of element i of the operand.
func SameShape(operand, result *ir.Value) bool {
	a, b := operand.Type, result.Type
	return a.Layout == dtype.Plain && b.Layout == dtype.Plain &&
		a.DType.BlockBytes() == b.DType.BlockBytes() && a.DType.BlockElems() == b.DType.BlockElems() &&
		ir.EqualDims(a.Shape, b.Shape) && a.Dense() && b.Dense() && SameBytes(Origin(operand), operand)
}

// SameBytes reports whether v names all bytes of o, in order.
func SameBytes(o, v *ir.Value) bool {
	return v == o || v.Type.Dense() && o.Type.Dense() && v.Type.Bytes().Equal(o.Type.Bytes())
}

// StillRead returns a node, from the definition of made on, that reads v; nil if there is none. The node that defines
// made does not count if it reads v as an operand that it may overwrite with made.
func StillRead(nodes []*ir.Node, v, made *ir.Value) *ir.Node {
	for _, n := range nodes[slices.Index(nodes, made.Def):] {
		for arg, a := range n.Args {
			if a == nil || a.Root() != v || n.Is(ir.View) {
				continue
			}
			if n != made.Def || !slices.Contains(n.Op.Info().InPlace, arg) || !SameShape(a, made) {
				return n
			}
		}
	}
	return nil
}
