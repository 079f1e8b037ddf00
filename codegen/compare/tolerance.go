package compare

import (
	"math"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// tolerances returns the largest NMSE that is allowed for the values of a compiled function, by name. covered are values
// whose rounding is allowed for elsewhere.
func tolerances(f *ir.Func, covered map[*ir.Value]bool) map[string]float64 {
	roots := make([]float64, f.NumValues()) // of the NMSE, by id
	for _, n := range f.Nodes {
		before := 0.0
		for _, a := range n.Args {
			if a != nil {
				before = max(before, roots[a.ID])
			}
		}
		for _, r := range n.Results {
			roots[r.ID] = before + math.Sqrt(work(n, covered))
		}
	}
	byName := make(map[string]float64)
	for _, n := range f.Nodes {
		for _, r := range n.Results {
			byName[r.Name()] = roots[r.ID] * roots[r.ID]
		}
	}
	return byName
}

// work returns the NMSE that n may add; for a repeat, that of all its iterations.
func work(n *ir.Node, covered map[*ir.Value]bool) float64 {
	switch {
	case n.Body != nil:
	case n.Op == ir.OpQuantize && covered[n.Result()]:
		return 0
	case n.Op == ir.OpRMSNormQuantize && covered[n.Result()]:
		return ir.OpRMSNorm.Info().Tol.NMSE
	default:
		return min(n.Op.Info().Tol.NMSE, neighbours(n))
	}
	root := 0.0
	for _, x := range n.Body.Nodes {
		root += math.Sqrt(work(x, covered))
	}
	if a, ok := n.Attr.(*ir.RepeatAttr); ok {
		root *= float64(a.Count)
	}
	return root * root
}

// neighbours returns the NMSE of a value of which each element is the next one that its dtype has. The op's tolerance
// is for all dtypes that it rounds to.
func neighbours(n *ir.Node) float64 {
	if n.Op != ir.OpStateWrite && n.Op != ir.OpCast {
		return math.Inf(1)
	}
	switch n.Result().Type.DType {
	case dtype.F32:
		return 0x1p-46
	case dtype.F16:
		return 0x1p-20
	}
	return math.Inf(1)
}

// both returns the tolerance between two values that may each differ that much from a third.
func both(a, b float64) float64 {
	r := math.Sqrt(a) + math.Sqrt(b)
	return r * r
}
