package flow

import (
	"github.com/ggmlc/ggmlc/ir"
)

// The origin of a value is the value that its bytes belong to. Views and aliases are names for bytes of their operand,
// and a parameter of a repeat's body denotes operands of the repeat:
//
//	%w = weight                       origin %w
//	%a = matmul %x, %w                origin %a
//	%b = reshape %a                   origin %a
//	%r = repeat 4 (carried %b, invariant %x, table %w0 %w1 %w2 %w3) {
//	  ^(%c, %y, %t)                   origins %c, %x, %t
//	  %d = slice %y                   origin %x
//	}
//
// An invariant parameter is the operand itself. A carried parameter names other bytes in each iteration as far as data
// flow can see, and a table's parameter is one entry of several, so both are origins. (That a carried value is one
// buffer is a decision about memory: see EachCarried.)

// Origin returns the value that v's bytes belong to, which may be in another function than v.
func Origin(v *ir.Value) *ir.Value {
	for s := Source(v); s != nil; s = Source(v) {
		v = s
	}
	return v
}

// Source takes one step towards the origin of v: it returns the value whose bytes v names, or nil if v is an origin.
func Source(v *ir.Value) *ir.Value {
	if s := v.Source(); s != nil {
		return s
	}
	if role, i := ParamKind(v); role == ParamInvariant {
		return v.Func.Owner.Args[i]
	}
	return nil
}

// ParamRole is what a parameter denotes.
type ParamRole uint8

// The roles of parameters.
const (
	ParamNone      ParamRole = iota // not a parameter
	ParamEntry                      // a parameter of an entry point
	ParamCarried                    // a carried value of a repeat
	ParamInvariant                  // an operand of a repeat that is the same in each iteration
	ParamTable                      // one entry of a repeat's table in each iteration
)

// ParamKind returns the role of v and the index of the first operand of the repeat that it denotes.
func ParamKind(v *ir.Value) (ParamRole, int) {
	switch {
	case v.Def != nil:
		return ParamNone, 0
	case v.Func.Owner == nil || v.Func.Owner.Op != ir.OpRepeat:
		return ParamEntry, 0
	}
	a := v.Func.Owner.Attr.(*ir.RepeatAttr)
	switch i := v.Index; {
	case i < a.Carried:
		return ParamCarried, i
	case i < a.Carried+a.Invariant:
		return ParamInvariant, i
	default:
		fixed := a.Carried + a.Invariant
		return ParamTable, fixed + (i-fixed)*int(a.Count)
	}
}

// IsLeaf reports whether v's bytes are those of a node of one of the leaf ops, directly or through a table.
func IsLeaf(v *ir.Value, ops ...ir.Op) bool {
	v = Origin(v)
	if role, i := ParamKind(v); role == ParamTable {
		return IsLeaf(v.Func.Owner.Args[i], ops...)
	}
	for _, op := range ops {
		if v.Def != nil && v.Def.Op == op {
			return true
		}
	}
	return false
}

// IsFixed reports whether no node writes an origin: it is a weight or a constant.
func IsFixed(o *ir.Value) bool { return IsLeaf(o, ir.OpWeight, ir.OpConstant) }

// Origins returns the values of an entry point, and of the bodies in it, that own bytes, in the order of their
// definitions.
func Origins(f *ir.Func) []*ir.Value {
	var list []*ir.Value
	add := func(values []*ir.Value) {
		for _, v := range values {
			if Source(v) == nil {
				list = append(list, v)
			}
		}
	}
	add(f.Params)
	for _, n := range f.Nodes {
		if n.Op == ir.OpRepeat {
			list = append(list, Origins(n.Body)...)
		}
		add(n.Results)
	}
	return list
}
