package flow

import (
	"github.com/ggmlc/ggmlc/ir"
)

// StepWeights returns how often each function runs for one item. The items of a step are those of the outermost
// symbolic dimension of an entry point's parameters, such as the tokens of a prompt. So an entry point that works on up
// to 512 tokens counts 1/512, one that works on a single token counts 1, and a body of 22 iterations in the latter
// counts 22.
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

// itemsOf returns the most items of a step of f: the upper bound of the first symbolic outermost dimension among the
// parameters; 1 if there is none.
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
