package passes

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// fuseRewrites are the patterns of fuse; the first that matches wins.
var fuseRewrites = []Rewrite{
	{
		Rule: Rule{"fuse.swiglu", "silu of a gate, times a value, is swiglu"},
		Pattern: Pattern{Op: ir.OpMul, Args: []Pattern{
			{Op: ir.OpSiLU, Args: []Pattern{anyValue("gate")}, Once: true},
			anyValue("up"),
		}},
		Where: func(c *Context, m *Match) bool {
			gate, up := m.Value("gate"), m.Value("up")
			return gate.Type.SameData(up.Type) && someTargetRuns(c, m.Root, ir.OpSwiGLU, nil, gate, up)
		},
		Build: func(m *Match) { m.Become(ir.OpSwiGLU, nil, m.Value("gate"), m.Value("up")) },
	},
	{
		Rule: Rule{"fuse.gate-up", "swiglu of two products of one value is one op that reads the value once"},
		Pattern: Pattern{Op: ir.OpSwiGLU, Args: []Pattern{
			{Op: ir.OpMatMul, Len: 2, Args: []Pattern{anyValue("x"), anyValue("gate")}, Once: true},
			{Op: ir.OpMatMul, Len: 2, Args: []Pattern{anyValue("x2"), anyValue("up")}, Once: true},
		}},
		Where: func(c *Context, m *Match) bool {
			x, gate, up := m.Value("x"), m.Value("gate"), m.Value("up")
			return x == m.Value("x2") && gate.Type.SameData(up.Type) &&
				someTargetRuns(c, m.Root, ir.OpMatMulSwiGLU, swiGLUTo(dtype.F32), x, gate, up)
		},
		Build: func(m *Match) {
			m.Become(ir.OpMatMulSwiGLU, swiGLUTo(dtype.F32), m.Value("x"), m.Value("gate"), m.Value("up"))
		},
	},
	{
		Rule: Rule{"fuse.residual", "what is added to a product is added by the product"},
		Pattern: Pattern{Op: ir.OpAdd, Args: []Pattern{
			{Op: ir.OpMatMul, Len: 2, Args: []Pattern{anyValue("x"), anyValue("w")}, Bind: "product", Once: true},
			anyValue("r"),
		}},
		Where: func(c *Context, m *Match) bool {
			r := m.Value("r")
			return r.Type.SameData(m.Value("product").Type) &&
				someTargetRuns(c, m.Root, ir.OpMatMul, m.Value("product").Def.Attr, m.Value("x"), m.Value("w"), r)
		},
		Build: func(m *Match) {
			m.Become(ir.OpMatMul, m.Value("product").Def.Attr, m.Value("x"), m.Value("w"), m.Value("r"))
		},
	},
}

// swiGLUTo returns the attributes of products joined by swiglu whose result is to.
func swiGLUTo(to dtype.DType) *ir.MatMulSwiGLUAttr { return &ir.MatMulSwiGLUAttr{To: to} }
