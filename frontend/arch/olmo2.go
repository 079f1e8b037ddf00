package arch

// olmo2 is OLMo 2: norms of what each part adds in place of norms before it, norms of all queries and of all keys, and
// rotations of halves.
func olmo2(m *model) decoder {
	h := m.heads()
	return decoder{
		layer: sequence{
			residual{at: "attn", body: wideNormAttention(m, h), out: m.rmsNorm("post_attention_norm")},
			residual{at: "ffn", body: gated{act: silu, size: m.feedForward()}, out: m.rmsNorm("post_ffw_norm")},
		},
		norm:   m.rmsNorm("output_norm"),
		output: output{tied: tiedNever},
	}
}

// olmoe is OLMoE: norms before parts, norms of all queries and of all keys, and experts.
func olmoe(m *model) decoder {
	h := m.heads()
	return decoder{
		layer: sequence{
			residual{at: "attn", in: m.rmsNorm("attn_norm"), body: wideNormAttention(m, h)},
			residual{at: "ffn", in: m.rmsNorm("ffn_norm"), body: m.experts(m.feedForward(), softmaxOfAll)},
		},
		norm:   m.rmsNorm("output_norm"),
		output: output{tied: tiedNever},
	}
}

// wideNormAttention has norms over all heads of a token together.
func wideNormAttention(m *model, h heads) attention {
	return attention{
		heads: h,
		qkv:   separate{},
		qNorm: m.rmsNorm("attn_q_norm").over(h.count * h.k),
		kNorm: m.rmsNorm("attn_k_norm").over(h.kv * h.k),
		rope:  m.rope(h.k, halves),
		scale: h.scale(),
	}
}
