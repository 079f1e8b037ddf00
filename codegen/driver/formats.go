package driver

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/target"
)

// convertFormats makes q8_0 of the weights of an imported module whose format some target of the list does not multiply
// with, though it multiplies with q8_0: otherwise their products would run on a later target. The rounding of q8_0 (1/254 of
// a block's largest element) is smaller than that of activations of 8 bits.
func convertFormats(m *ir.Module, targets *target.List) {
	converted := make(map[string]bool)
	for _, w := range m.Weights {
		if w.Expr != nil && w.Type.DType.Scheme() != nil && w.Type.Layout == dtype.Plain && lacks(targets, w.Type.DType) {
			w.Expr, w.Type.DType = ir.Quantize(w.Expr, dtype.Q8_0.String()), dtype.Q8_0
			converted[w.Name] = true
		}
	}
	if len(converted) == 0 {
		return
	}
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			if a, ok := n.Attr.(*ir.WeightAttr); ok && converted[a.Name] {
				n.Result().Type.DType = dtype.Q8_0
			}
		}
	}
}

// lacks reports whether a target multiplies with q8_0 and not with d.
func lacks(targets *target.List, d dtype.DType) bool {
	return slices.ContainsFunc(targets.All(), func(t *target.Descriptor) bool {
		return multiplies(t, dtype.Q8_0) && !multiplies(t, d)
	})
}

// multiplies reports whether a target has a matrix product with weights of d.
func multiplies(t *target.Descriptor, d dtype.DType) bool {
	return slices.ContainsFunc(t.Rows, func(r target.Row) bool {
		return r.Op == ir.OpMatMul && (r.Args == nil || len(r.Args) > 1 && (r.Args[1].DTypes == nil || slices.Contains(r.Args[1].DTypes, d)))
	})
}
