package flow

import (
	"github.com/ggmlc/ggmlc/ir"
)

// ViewedValue returns the value that v is a view of.
func ViewedValue(v *ir.Value) *ir.Value {
	for v.Def != nil && v.Def.Is(ir.View) {
		v = v.Def.Args[0]
	}
	return v
}

// Overwrites returns the versions after which n writes others into the same bytes.
func Overwrites(n *ir.Node) []any {
	var keys []any
	for _, a := range Overwritten(n) {
		keys = append(keys, VersionKey(ViewedValue(a)))
	}
	return keys
}

// Overwritten returns the operands whose bytes n may overwrite: the aliased one, those that a
// repeat carries, and any state that a body may write.
func Overwritten(n *ir.Node) (operands []*ir.Value) {
	if !MayOverwrite(n) {
		return nil
	}
	attr, isRepeat := n.Attr.(*ir.RepeatAttr)
	for i, a := range n.Args {
		switch {
		case a == nil:
		case n.Is(ir.Alias) && i == n.Op.Info().AliasArg,
			isRepeat && i < attr.Carried,
			n.Is(ir.WritesState) && IsLeaf(a, ir.OpState):
			operands = append(operands, a)
		}
	}
	return operands
}

// MayOverwrite reports whether n can overwrite bytes of operands at all.
func MayOverwrite(n *ir.Node) bool {
	return n.Op == ir.OpRepeat || n.Is(ir.Alias) || n.Is(ir.WritesState)
}

// VersionKey returns what is the same for all nodes that name the same version.
func VersionKey(v *ir.Value) any {
	if v.Def != nil && v.Def.Op == ir.OpState {
		return v.Def.Attr.(*ir.StateAttr).Name
	}
	return v
}
