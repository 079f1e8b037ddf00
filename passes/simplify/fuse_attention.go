package simplify

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// This file lets attention multiply bf16, which processors do at twice the rate of f32, where its result is rounded
// anyway as soon as it is there. docs/explanation/kernels.md has the reasons, the alternatives and what it costs.

// roundAttentions allows attentions to round where their readers round anyway.
func roundAttentions(c *pass.Context, m *ir.Module) {
	if !c.Enabled(pass.RuleFuseLateAttentionBF16) {
		return
	}
	for _, f := range m.AllFuncs() {
		for _, r := range roundedAttentions(f) {
			if c.Allow(pass.RuleFuseLateAttentionBF16, r.attention) {
				a := r.attention.Attr.(*ir.AttentionAttr)
				r.attention.Attr = &ir.AttentionAttr{Scale: a.Scale, BF16: true}
				c.Cause(r.attention, pass.RuleFuseLateAttentionBF16, r.reader.String())
				c.Count(string(pass.RuleFuseLateAttentionBF16), 1)
			}
		}
	}
}

// roundedAttention is an attention whose result is only read to be rounded, and who does so first.
type roundedAttention struct{ attention, reader *ir.Node }

// roundedAttentions returns those of f that do not round yet, in order.
func roundedAttentions(f *ir.Func) (list []roundedAttention) {
	for _, n := range f.Nodes {
		if n.Op == ir.OpAttention && n.Args[1].Type.Layout == dtype.R16 && !n.Attr.(*ir.AttentionAttr).BF16 {
			list = append(list, roundedAttention{attention: n})
		}
	}
	if len(list) == 0 {
		return nil
	}
	readers := make(map[*ir.Value]*ir.Node) // the first of a value; nil if one takes it as it is
	note := func(v, root *ir.Value, n *ir.Node) {
		if first, seen := readers[root]; !seen || first != nil && n == nil {
			readers[root] = n
		}
	}
	for _, n := range f.Nodes {
		for _, v := range n.Args {
			if v != nil && !n.Is(ir.View) {
				note(v, v.Root(), rounder(n))
			}
		}
	}
	for _, v := range f.Results {
		note(v, v.Root(), nil)
	}
	kept := list[:0]
	for _, r := range list {
		if r.reader = readers[r.attention.Result()]; r.reader != nil {
			kept = append(kept, r)
		}
	}
	return kept
}

// rounder returns n if all that it does is to round, to bytes with a scale for each block or to bf16, else nil.
func rounder(n *ir.Node) *ir.Node {
	if n.Op == ir.OpQuantize || n.Op == ir.OpCast && n.Result().Type.DType == dtype.BF16 {
		return n
	}
	return nil
}
