package flow

import (
	"github.com/ggmlc/ggmlc/ir"
)

// EachCarried calls do with pairs of values that have to share bytes. A carried value of a repeat is one buffer: the
// operand that it starts with, the body's parameter and result, and the result of the repeat.
func EachCarried(f *ir.Func, do func(x, y *ir.Value)) {
	for _, n := range f.Nodes {
		if n.Op != ir.OpRepeat {
			continue
		}
		EachCarried(n.Body, do)
		for i := range n.Attr.(*ir.RepeatAttr).Carried {
			for _, v := range []*ir.Value{n.Body.Params[i], n.Body.Results[i], n.Results[i]} {
				do(n.Args[i], v)
			}
		}
	}
}

// NextCarried returns the value that overwrites the bytes of v in a body of a repeat, if v names those of a carried
// value: the origin of the body's result for it. It is nil for other values, and if no node of the body defines the
// result.
func NextCarried(v *ir.Value) *ir.Value {
	root := v.Root()
	if role, i := ParamKind(root); role == ParamCarried {
		if made := root.Func.Results[i].Root(); made.Def != nil {
			return made
		}
	}
	return nil
}
