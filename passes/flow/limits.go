package flow

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// ApartSeconds predicts how long the copies of a module take that are there for limits of
// memory alone, by the weights of functions; see StepWeights.
func ApartSeconds(c *pass.Context, m *ir.Module) (sum float64) {
	weights := StepWeights(m.AllFuncs())
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			if StaysApart(n) {
				from := TargetOf(c, n.Args[0].Type.Space)
				sum += weights[f] * c.Target(n).TransferSeconds(from, float64(n.Result().Type.MaxBytes()))
			}
		}
	}
	return sum
}

// StaysApart reports whether a limit of memory keeps n, a copy, apart from an earlier one.
func StaysApart(n *ir.Node) bool {
	return n.HasCause(string(pass.RuleCopyApart))
}

// TargetOf returns the first target that prefers the space; nil if there is none.
func TargetOf(c *pass.Context, space string) *target.Descriptor {
	for _, t := range c.Targets.All() {
		if t.Home() == space {
			return t
		}
	}
	return nil
}
