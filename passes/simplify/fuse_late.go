package simplify

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/rewrite"
)

// FuseLate joins norms and swiglu of products with the conversion of their results, lets attention round
// (fuse_attention.go), and cuts attention of few queries into segments (fuse_segments.go).
//
// Before: quantize and cast nodes convert the activations that kernels read in another format than f32. After: a norm
// or swiglu whose only reader is such a node on the same backend is one node with it, if the backend runs that.
// Attention of few queries over a long context is attention_segments and attention_combine, if that pays.
//
// Not earlier: pack makes the conversions, and backends cut attention differently. Not later: a fused node has one
// split.
//
// Cost: a few walks, O(nodes) each.
//
//	%n = rms_norm %x, %w
//	%q = quantize %n          %q = rms_norm_quantize %x, %w
var FuseLate = pass.Pass{
	Name:   "fuse-late",
	Doc:    "join norms and swiglu with the quantize and cast nodes that pack made, let attention round before them, and cut it into segments",
	Run:    fuseLate,
	Needs:  ir.PropShaped | ir.PropAssigned | ir.PropPacked,
	Breaks: pass.FromSplit,
	Rules: append(rewrite.RulesOf(lateRewrites),
		pass.Rule{Name: pass.RuleFuseLateAttentionBF16, Doc: "all readers of attention round its result, to bytes or to bf16: it may multiply bf16"},
		pass.Rule{Name: pass.RuleFuseLateSegments, Doc: "few queries read a long context: workers share it by segments, and the sums of the segments are added up in order"}),
}

func fuseLate(c *pass.Context, m *ir.Module) error {
	if err := rewrite.Apply(c, m, lateRewrites); err != nil {
		return err
	}
	roundAttentions(c, m)
	cutContexts(c, m)
	c.Unchanged = c.NoneCounted()
	return nil
}

var lateRewrites = []rewrite.Rewrite{
	lateNorm(pass.RuleFuseLateNorm, "a norm that is only read to be quantized writes quantized values", ir.OpQuantize),
	lateNorm(pass.RuleFuseLateNormBF16, "a norm that is only read to be rounded to bf16 writes bf16", ir.OpCast),
	lateSwiGLU,
}

// lateNorm returns the rewrite that joins a norm with its reader, a conversion by op.
func lateNorm(name pass.RuleName, doc string, op ir.Op) rewrite.Rewrite {
	return rewrite.Rewrite{
		Rule: pass.Rule{Name: name, Doc: doc},
		Pattern: rewrite.Pattern{Op: op, Args: []rewrite.Pattern{
			{Op: ir.OpRMSNorm, Args: []rewrite.Pattern{rewrite.AnyValue("x"), rewrite.AnyValue("w")}, Bind: "norm", Once: true},
		}},
		Where: func(c *pass.Context, m *rewrite.Match) bool {
			norm, to := m.Value("norm").Def, m.Root.Result().Type.DType
			if !to.IsActivation() && to != dtype.BF16 {
				return false
			}
			fused := &ir.Node{Op: ir.OpRMSNormQuantize, Attr: quantizedNorm(norm, m.Root), Args: norm.Args, Results: m.Root.Results, Func: m.Root.Func}
			t := c.Target(m.Root)
			return t != nil && norm.Backend == m.Root.Backend && t.Reads(fused)
		},
		Build: func(m *rewrite.Match) {
			m.Become(ir.OpRMSNormQuantize, quantizedNorm(m.Value("norm").Def, m.Root), m.Value("x"), m.Value("w"))
		},
	}
}

// lateSwiGLU joins the products of swiglu with the cast that reads the result.
var lateSwiGLU = rewrite.Rewrite{
	Rule: pass.Rule{Name: pass.RuleFuseLateSwiGLUBF16, Doc: "swiglu of products that is only read to be rounded to bf16 writes bf16"},
	Pattern: rewrite.Pattern{Op: ir.OpCast, Args: []rewrite.Pattern{
		{Op: ir.OpMatMulSwiGLU, Args: []rewrite.Pattern{rewrite.AnyValue("x"), rewrite.AnyValue("gate"), rewrite.AnyValue("up")}, Bind: "swiglu", Once: true},
	}},
	Where: func(c *pass.Context, m *rewrite.Match) bool {
		swiglu, t := m.Value("swiglu").Def, c.Target(m.Root)
		if m.Root.Result().Type.DType != dtype.BF16 || m.Value("gate").Type.DType != dtype.BF16 || swiglu.Result().Type.DType != dtype.F32 {
			return false
		}
		fused := &ir.Node{Op: ir.OpMatMulSwiGLU, Attr: swiGLUTo(dtype.BF16), Args: swiglu.Args, Results: m.Root.Results, Func: m.Root.Func}
		return t != nil && swiglu.Backend == m.Root.Backend && t.Reads(fused)
	},
	Build: func(m *rewrite.Match) {
		m.Become(ir.OpMatMulSwiGLU, swiGLUTo(dtype.BF16), m.Value("x"), m.Value("gate"), m.Value("up"))
	},
}

// quantizedNorm returns the attributes of a norm that is joined with the conversion of its result.
func quantizedNorm(norm, conversion *ir.Node) *ir.NormQuantizeAttr {
	return &ir.NormQuantizeAttr{Eps: norm.Attr.(*ir.NormAttr).Eps, To: conversion.Result().Type.DType}
}
