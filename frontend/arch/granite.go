package arch

import "math"

// granite is Granite 3: llama with factors of the embedding, of scores, of what each part adds, and of logits. Files
// may state that nothing is rotated.
func granite(m *model) decoder {
	return graniteLayers(m, gated{act: silu, size: m.feedForward(), bias: optional})
}

// granitemoe is Granite 3 with experts, and maybe one expert that all tokens share.
func granitemoe(m *model) decoder {
	e := m.experts(m.feedForward(), softmaxOfChosen)
	if n := m.countOr("expert_shared_feed_forward_length", 0, 0, maxWidth); n > 0 {
		e.shared = gated{act: silu, size: n, suffix: "_shexp"}
	}
	return graniteLayers(m, e)
}

// minicpm is MiniCPM 1 and 2, a granite whose older files do not state the factors.
func minicpm(m *model) decoder {
	h := m.heads()
	return scaledLlama(m, h, m.rope(h.k, neighbours), gated{act: silu, size: m.feedForward(), bias: optional}, llamaScales{
		scores:    h.scale(),
		embedding: m.positiveOr("embedding_scale", 12),
		residuals: m.positiveOr("residual_scale", 1.4/math.Sqrt(float64(m.layers))),
		logits:    m.positiveOr("logit_scale", 256/float64(m.embd)),
	})
}

func graniteLayers(m *model, ffn part) decoder {
	h := m.heads()
	var turns *rope
	if !m.denied("rope.scaling.finetuned") { // the key that states it
		turns = m.rope(h.k, neighbours)
	}
	return scaledLlama(m, h, turns, ffn, llamaScales{
		scores:    m.positiveOr("attention.scale", h.scale()),
		embedding: m.positiveOr("embedding_scale", 1),
		residuals: m.positiveOr("residual_scale", 1),
		logits:    m.positive("logit_scale"),
	})
}

// llamaScales are factors of scores, of the embedding and of what each part adds, and the divisor of logits.
type llamaScales struct{ scores, embedding, residuals, logits float64 }

func scaledLlama(m *model, h heads, turns *rope, ffn part, s llamaScales) decoder {
	a := attention{
		heads: h,
		qkv:   separate{bias: optional},
		rope:  turns,
		scale: s.scores,
		out:   optional,
	}
	return decoder{
		embedding: embedding{scale: s.embedding},
		layer: sequence{
			residual{at: "attn", in: m.rmsNorm("attn_norm"), body: a, scale: s.residuals},
			residual{at: "ffn", in: m.rmsNorm("ffn_norm"), body: ffn, scale: s.residuals},
		},
		norm:   m.rmsNorm("output_norm"),
		output: output{scale: 1 / s.logits},
	}
}
