package arch

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

func graniteLayers(m *model, ffn part) decoder {
	h := m.heads()
	residuals := m.positive("residual_scale")
	a := attention{
		heads: h,
		qkv:   separate{bias: optional},
		scale: m.positiveOr("attention.scale", h.scale()),
		out:   optional,
	}
	if !m.denied("rope.scaling.finetuned") { // the key that states it
		a.rope = m.rope(h.k, neighbours)
	}
	return decoder{
		embedding: embedding{scale: m.positive("embedding_scale")},
		layer: sequence{
			residual{at: "attn", in: m.rmsNorm("attn_norm"), body: a, scale: residuals},
			residual{at: "ffn", in: m.rmsNorm("ffn_norm"), body: ffn, scale: residuals},
		},
		norm:   m.rmsNorm("output_norm"),
		output: output{scale: 1 / m.positive("logit_scale")},
	}
}
