package simplify

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/rewrite"
)

// Fuse joins nodes that some target can run as one.
//
// Before: one spelling of views and operands. After: likewise, with fused ops. Some target runs each of them, in the
// formats that pack will make.
//
// Not earlier: the patterns know one spelling. Not later: a backend is asked about the op that will run. If assign
// chooses a backend that does not run a fused op, unfuse lowers it again.
//
// Cost: a few walks, O(nodes) each.
//
// A pattern is a tree of ops (fuse_rules.go), and the nodes below its root have no other reader. Products that share an
// operand are no tree: they are grouped by the operand (fuse_products.go).
//
//	%g = matmul %x, %wgate
//	%u = matmul %x, %wup
//	%s = silu %g                fuse.swiglu: %m = swiglu %g, %u
//	%m = mul %s, %u             fuse.gate-up: %m = matmul_swiglu %x, %wgate, %wup
//	%d = matmul %m, %wdown
//	%r = add %d, %x             fuse.residual: %r = matmul %m, %wdown, %x
var Fuse = pass.Pass{
	Name:   "fuse",
	Doc:    "join nodes that some target runs as one",
	Run:    fuse,
	Needs:  ir.PropShaped,
	Breaks: pass.FromAssigned,
	Rules:  append(rewrite.RulesOf(fuseRewrites), pass.Rule{Name: pass.RuleFuseQKV, Doc: "products of one operand become one product with all their weights, and slices of its result"}),
}

func fuse(c *pass.Context, m *ir.Module) error {
	if err := rewrite.Apply(c, m, fuseRewrites); err != nil {
		return err
	}
	mergeProducts(c, m)
	return nil
}

// sameMember reports whether the nodes that a rule joins are computed by one member of a group, or by none.
func sameMember(m *rewrite.Match, below ...*ir.Value) bool {
	return !slices.ContainsFunc(below, func(v *ir.Value) bool { return v.Def.Backend != m.Root.Backend })
}

// someTargetRuns reports whether some target runs op with these operands in place of n. A nil operand is absent. If the
// backend of n is chosen already, it is the only one.
func someTargetRuns(c *pass.Context, n *ir.Node, op ir.Op, attr any, args ...*ir.Value) bool {
	trial := &ir.Node{Op: op, Attr: attr, Args: args, Results: n.Results, Func: n.Func}
	for _, t := range c.Targets.All() {
		if n.Backend != "" && n.Backend != t.Name {
			continue
		}
		if ok, _ := t.Supports(trial); ok {
			return true
		}
	}
	return false
}
