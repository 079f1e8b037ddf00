package flow

import (
	"github.com/ggmlc/ggmlc/ir"
)

// A state has one set of bytes and several versions of its value: each write defines the next version and overwrites
// the one before. Nodes that read a version have to run before the next write. Repeats overwrite their carried values
// likewise, and ops with an alias their operand.

// ViewedValue returns the value that v is a view of, or v if it is none. It does not pass writes, so that values with
// the same ViewedValue name the same version.
func ViewedValue(v *ir.Value) *ir.Value {
	for v.Def != nil && v.Def.Is(ir.View) {
		v = v.Def.Args[0]
	}
	return v
}

// Overwrites returns the keys of the versions that n overwrites.
func Overwrites(n *ir.Node) []any {
	var keys []any
	for _, a := range Overwritten(n) {
		keys = append(keys, VersionKey(ViewedValue(a)))
	}
	return keys
}

// Overwritten returns the operands whose bytes n may overwrite: the aliased one, the carried values of a repeat, and
// the states that its body may write.
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

// VersionKey returns a key that is equal for all values that name the same version. The values of several state nodes
// are the first version of one state, so its name is the key.
func VersionKey(v *ir.Value) any {
	if v.Def != nil && v.Def.Op == ir.OpState {
		return v.Def.Attr.(*ir.StateAttr).Name
	}
	return v
}
