package tune

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Predict sets the tiles of a descriptor of a processor to those that the cost model takes for the
// products of the module, where nobody has chosen any. As in Apply, only what is not the
// default of the kernels stands there.
func Predict(m *ir.Module, d *target.Descriptor) {
	if len(d.Tiles) > 0 {
		return
	}
	weights, bytes := productWeights(m)
	cached := bytes <= d.Rates.Cache
	for _, t := range tile.Table {
		if !slices.Contains(weights, t.Weight) {
			continue
		}
		if c := tile.Best(t.Feature, t.Weight, cached); c != tile.Choices(t.Feature, t.Weight)[0] {
			d.Tiles = append(d.Tiles, c)
		}
	}
}

// productWeights returns the dtypes that weights of products have or may be rounded to, and how many
// bytes all of them are.
func productWeights(m *ir.Module) (all []dtype.DType, bytes int64) {
	used := make(map[string]bool)
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			if n.Op != ir.OpMatMul {
				continue
			}
			if a, ok := weightOf(n.Args[1]); ok {
				used[a] = true
			}
		}
	}
	for _, w := range m.Weights {
		if used[w.Name] {
			bytes += w.Type.MaxBytes()
			all = append(all, w.Type.DType)
			if w.Type.DType == dtype.F16 {
				all = append(all, dtype.BF16)
			}
		}
	}
	return all, bytes
}

// weightOf returns the name of the weight that v is.
func weightOf(v *ir.Value) (string, bool) {
	if v.Def == nil {
		return "", false
	}
	a, ok := v.Def.Attr.(*ir.WeightAttr)
	if !ok {
		return "", false
	}
	return a.Name, true
}
