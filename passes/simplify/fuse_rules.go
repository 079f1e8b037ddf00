package simplify

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/rewrite"
)

// fuseRewrites are the patterns of fuse. The first that matches is applied.
var fuseRewrites = []rewrite.Rewrite{
	{
		Rule: pass.Rule{Name: pass.RuleFuseSwiGLU, Doc: "silu of a gate, times a value, is swiglu"},
		Pattern: rewrite.Pattern{Op: ir.OpMul, Args: []rewrite.Pattern{
			{Op: ir.OpSiLU, Args: []rewrite.Pattern{rewrite.AnyValue("gate")}, Once: true},
			rewrite.AnyValue("up"),
		}},
		Where: func(c *pass.Context, m *rewrite.Match) bool {
			gate, up := m.Value("gate"), m.Value("up")
			return gate.Type.SameData(up.Type) && sameMember(m, m.Root.Args[0]) && someTargetRuns(c, m.Root, ir.OpSwiGLU, nil, gate, up)
		},
		Build: func(m *rewrite.Match) { m.Become(ir.OpSwiGLU, nil, m.Value("gate"), m.Value("up")) },
	},
	{
		Rule: pass.Rule{Name: pass.RuleFuseGateUp, Doc: "swiglu of two products of one value is one op that reads the value once"},
		Pattern: rewrite.Pattern{Op: ir.OpSwiGLU, Args: []rewrite.Pattern{
			{Op: ir.OpMatMul, Len: 2, Args: []rewrite.Pattern{rewrite.AnyValue("x"), rewrite.AnyValue("gate")}, Once: true},
			{Op: ir.OpMatMul, Len: 2, Args: []rewrite.Pattern{rewrite.AnyValue("x2"), rewrite.AnyValue("up")}, Once: true},
		}},
		Where: func(c *pass.Context, m *rewrite.Match) bool {
			x, gate, up := m.Value("x"), m.Value("gate"), m.Value("up")
			return x == m.Value("x2") && sameMember(m, m.Root.Args...) && gate.Type.SameData(up.Type) &&
				someTargetRuns(c, m.Root, ir.OpMatMulSwiGLU, swiGLUTo(dtype.F32), x, gate, up)
		},
		Build: func(m *rewrite.Match) {
			m.Become(ir.OpMatMulSwiGLU, swiGLUTo(dtype.F32), m.Value("x"), m.Value("gate"), m.Value("up"))
		},
	},
	{
		Rule: pass.Rule{Name: pass.RuleFuseResidual, Doc: "a value that is added to a product is added by the product"},
		Pattern: rewrite.Pattern{Op: ir.OpAdd, Args: []rewrite.Pattern{
			{Op: ir.OpMatMul, Len: 2, Args: []rewrite.Pattern{rewrite.AnyValue("x"), rewrite.AnyValue("w")}, Bind: "product", Once: true},
			rewrite.AnyValue("r"),
		}},
		Where: func(c *pass.Context, m *rewrite.Match) bool {
			r := m.Value("r")
			return r.Type.SameData(m.Value("product").Type) && sameMember(m, m.Value("product")) &&
				someTargetRuns(c, m.Root, ir.OpMatMul, m.Value("product").Def.Attr, m.Value("x"), m.Value("w"), r)
		},
		Build: func(m *rewrite.Match) {
			m.Become(ir.OpMatMul, m.Value("product").Def.Attr, m.Value("x"), m.Value("w"), m.Value("r"))
		},
	},
}

// swiGLUTo returns the attributes of a matmul_swiglu with a result of that dtype.
func swiGLUTo(to dtype.DType) *ir.MatMulSwiGLUAttr { return &ir.MatMulSwiGLUAttr{To: to} }
