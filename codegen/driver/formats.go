package driver

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/target"
)

// convertFormats makes q8_0 of the weights of a module without backends whose format some target of the list does not
// multiply with, though it multiplies with q8_0: otherwise their products would run on a later target. GPUs multiply
// with all formats of model files, but not with the formats that ggmlc expands others to. The rounding of q8_0 (1/254
// of a block's largest element) is smaller than that of activations of 8 bits. Weights that a view or a function reads,
// and weights that are results, keep their format.
func convertFormats(m *ir.Module, targets *target.List) {
	fixed := fixedWeights(m)
	converted := make(map[string]bool)
	for _, w := range m.Weights {
		if w.Expr != nil && w.Type.DType.Scheme() != nil && w.Type.Layout == dtype.Plain && !fixed[w.Name] && lacks(targets, w.Type.DType) {
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

// fixedWeights returns the names of the weights whose types other values follow.
func fixedWeights(m *ir.Module) map[string]bool {
	fixed := make(map[string]bool)
	fix := func(v *ir.Value) {
		if v != nil && v.Def != nil {
			if a, ok := v.Def.Attr.(*ir.WeightAttr); ok {
				fixed[a.Name] = true
			}
		}
	}
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			if n.Is(ir.View) || n.Is(ir.HasBody) || n.Op == ir.OpCall {
				for _, a := range n.Args {
					fix(a)
				}
			}
		}
		for _, r := range f.Results {
			fix(r)
		}
	}
	return fixed
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
