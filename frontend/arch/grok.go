package arch

import (
	"math"

	"github.com/ggmlc/ggmlc/ir"
)

// Factors of Grok 1, whose files do not state them (llama.cpp, src/llama-hparams.cpp).
const (
	grokEmbedding = 78.38367176906169
	grokScores    = 0.08838834764831845
	grokLogits    = 0.5773502691896257
	grokCap       = 30
)

// grok is Grok 1 and 2: norms before and after parts, rotations of halves, a cap of scores and maybe of logits, factors
// of the embedding, of scores and of logits, and experts gated by gelu. Grok 2 has a dense part beside them.
func grok(m *model) decoder {
	if m.stringOr("rope.scaling.type", "none") == "yarn" {
		m.positive("rope.scaling.yarn_beta_fast") // which has another default than in other architectures
	}
	h := m.heads()
	size := m.feedForward()
	e := m.experts(m.countOr("expert_feed_forward_length", size, 1, maxWidth), softmaxOfChosen)
	e.act = gelu
	ffn := part(e)
	if m.inSomeLayer("ffn_up.weight") {
		e.shared = gated{act: gelu, size: size}
		ffn = times{factor: math.Sqrt2 / 2, body: e}
	}
	after := "layer_output_norm" // of Grok 1
	if m.inSomeLayer("post_ffw_norm.weight") {
		after = "post_ffw_norm"
	}
	return decoder{
		embedding: embedding{scale: m.positiveOr("embedding_scale", grokEmbedding)},
		layer: sequence{
			residual{at: "attn", in: m.rmsNorm("attn_norm"), body: attention{
				heads: h,
				qkv:   separate{bias: optional},
				rope:  m.rope(h.k, halves),
				scale: m.positiveOr("attention.output_scale", grokScores),
				cap:   m.positiveOr("attn_logit_softcapping", grokCap),
			}, out: m.rmsNorm("attn_output_norm")},
			residual{at: "ffn", in: m.rmsNorm("ffn_norm"), body: ffn, out: m.rmsNorm(after)},
		},
		norm:   m.rmsNorm("output_norm"),
		output: output{scale: m.positiveOr("logit_scale", grokLogits), cap: m.atLeastZeroOr("final_logit_softcapping", 0)},
	}
}

// inSomeLayer reports whether a layer has a tensor.
func (m *model) inSomeLayer(tensor string) bool {
	for i := range m.layers {
		if m.has(layerName(i, tensor)) {
			return true
		}
	}
	return false
}

// times is factor·body(x).
type times struct {
	factor float64
	body   part
}

func (p times) apply(g *graph, x *ir.Value) *ir.Value { return g.scaled(p.body.apply(g, x), p.factor) }
