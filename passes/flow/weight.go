package flow

import (
	"github.com/ggmlc/ggmlc/ir"
)

// StepWeights returns how often each function counts: an entry point as often as an item that it
// can work on at once is one of its own. The items of a step are those of the outermost
// symbolic dimension of its parameters, such as the tokens of a prompt. A body counts as
// often as it runs.
func StepWeights(funcs []*ir.Func) map[*ir.Func]float64 {
	weights := make(map[*ir.Func]float64)
	for _, f := range funcs {
		switch {
		case f.Owner != nil:
			weights[f] = weights[f.Owner.Func] * float64(Iterations(f.Owner))
		default:
			weights[f] = 1 / float64(itemsOf(f))
		}
	}
	return weights
}

// itemsOf returns the upper bound of the outermost dimension of f's first parameter that has
// a symbolic one; 1 where none has.
func itemsOf(f *ir.Func) int64 {
	for _, v := range f.Params {
		if len(v.Type.Shape) == 0 {
			continue
		}
		if _, fixed := v.Type.Shape[0].IsConst(); !fixed {
			return max(1, v.Type.Shape[0].Upper())
		}
	}
	return 1
}

// Iterations returns how often the body of n runs per execution of n.
func Iterations(n *ir.Node) int64 {
	if a, ok := n.Attr.(*ir.RepeatAttr); ok {
		return a.Count
	}
	return 1
}
