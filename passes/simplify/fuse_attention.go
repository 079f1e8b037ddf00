package simplify

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// Attention may multiply bf16, which processors do at twice the rate of f32, if all readers round its result anyway.
// For the reasons, the alternatives and the loss of accuracy see docs/kernels.md.
//
//	%a = attention ...        may round: %q is its only reader
//	%h = reshape %a
//	%q = quantize %h
//
//	%b = attention ...        must not round: %s reads the result as it is
//	%p = quantize %b
//	%s = add %b, %x

// roundAttentions sets the attribute BF16 of the attentions that may round.
func roundAttentions(c *pass.Context, m *ir.Module) {
	if !c.Enabled(pass.RuleFuseLateAttentionBF16) {
		return
	}
	for _, f := range m.AllFuncs() {
		for _, r := range roundedAttentions(f) {
			if c.Allow(pass.RuleFuseLateAttentionBF16, r.attention) {
				a := *r.attention.Attr.(*ir.AttentionAttr)
				a.BF16 = true
				r.attention.Attr = &a
				c.Cause(r.attention, pass.RuleFuseLateAttentionBF16, r.reader.String())
				c.Count(string(pass.RuleFuseLateAttentionBF16), 1)
			}
		}
	}
}

// roundedAttention is an attention whose readers all round its result, and the first of these readers.
type roundedAttention struct{ attention, reader *ir.Node }

// roundedAttentions returns the attentions of f that may round and do not yet, in order.
func roundedAttentions(f *ir.Func) (list []roundedAttention) {
	for _, n := range f.Nodes {
		if n.Op == ir.OpAttention && n.Args[1].Type.Layout == dtype.R16 && !n.Attr.(*ir.AttentionAttr).BF16 {
			list = append(list, roundedAttention{attention: n})
		}
	}
	if len(list) == 0 {
		return nil
	}
	first := firstRounders(f)
	kept := list[:0]
	for _, r := range list {
		if r.reader = first[r.attention.Result()]; r.reader != nil {
			kept = append(kept, r)
		}
	}
	return kept
}

// firstRounders returns the first reader of each value of f whose readers, those of its views included, all round it.
// For other values that are read it has nil.
func firstRounders(f *ir.Func) map[*ir.Value]*ir.Node {
	first := make(map[*ir.Value]*ir.Node)
	note := func(root *ir.Value, rounds *ir.Node) {
		if before, seen := first[root]; !seen || before != nil && rounds == nil {
			first[root] = rounds
		}
	}
	for _, n := range f.Nodes {
		for _, v := range n.Args {
			if v != nil && !n.Is(ir.View) {
				note(v.Root(), rounder(n))
			}
		}
	}
	for _, v := range f.Results {
		note(v.Root(), nil)
	}
	return first
}

// rounder returns n if n only rounds, to bytes with a scale for each block or to bf16; nil otherwise.
func rounder(n *ir.Node) *ir.Node {
	if n.Op == ir.OpQuantize || n.Op == ir.OpCast && n.Result().Type.DType == dtype.BF16 {
		return n
	}
	return nil
}
