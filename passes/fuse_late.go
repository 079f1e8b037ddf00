package passes

import "github.com/ggmlc/ggmlc/ir"

// fuseLatePass joins norms with the quantization of their results.
//
// Before: quantize nodes stand where kernels read quantized activations. After: a norm
// whose only reader is a quantize node on the same backend is one node with it, where the
// backend runs that.
//
// Not earlier: pack makes the quantize nodes. Not later: a fused node has one split.
//
// Cost: a walk or two, O(nodes).
var fuseLatePass = Pass{
	Name:  "fuse-late",
	Doc:   "join norms with the quantize nodes that pack made",
	Run:   fuseLate,
	Needs: ir.PropShaped | ir.PropAssigned | ir.PropPacked,
	Rules: rulesOf(lateRewrites),
}

func fuseLate(c *Context, m *ir.Module) error { return applyRewrites(c, m, lateRewrites) }

var lateRewrites = []Rewrite{{
	Rule: Rule{"late.norm", "a norm that is only read to be quantized writes quantized values"},
	Pattern: Pattern{Op: ir.OpQuantize, Args: []Pattern{
		{Op: ir.OpRMSNorm, Args: []Pattern{anyValue("x"), anyValue("w")}, Bind: "norm", Once: true},
	}},
	Where: func(c *Context, m *Match) bool {
		norm := m.Values["norm"].Def
		fused := &ir.Node{Op: ir.OpRMSNormQuantize, Attr: norm.Attr, Args: norm.Args, Results: m.Root.Results, Func: m.Root.Func}
		t := c.Target(m.Root)
		return t != nil && norm.Backend == m.Root.Backend && t.Reads(fused)
	},
	Build: func(m *Match) {
		m.Become(ir.OpRMSNormQuantize, m.Values["norm"].Def.Attr, m.Values["x"], m.Values["w"])
	},
}}
