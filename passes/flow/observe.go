package flow

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Unobservable returns why the result of n cannot be handed out as an array; empty if it can.
func Unobservable(n *ir.Node) string {
	t := n.Result().Type
	switch {
	case n.Is(ir.Leaf):
		return "a constant or a member of the module"
	case IsLeaf(n.Result().Root(), ir.OpState) || n.Is(ir.WritesState):
		return "a state"
	case n.Is(ir.View):
		return "a view of " + n.Result().Root().String()
	case n.Op == ir.OpForeign || len(n.Results) > 1:
		return "not one array"
	case t.Layout != dtype.Plain || t.DType.IsQuantized():
		return "stored as " + t.String()
	}
	for _, d := range t.Shape {
		if _, _, _, ok := d.Linear(); !ok {
			return "of the size " + d.String() + ", which is not linear in one symbol"
		}
	}
	return ""
}
