package arch

// olmo2 is OLMo 2 and 3: norms of what each part adds in place of norms before it, norms of all queries and of all
// keys, and rotations of halves. OLMo 3 has a sliding window in three of four layers, whose angles are not scaled.
func olmo2(m *model) decoder {
	global := wideNormAttention(m, m.heads())
	local, windowed := global, m.windowedLayers(4)
	if local.window = m.windowOr(0); local.window > 0 {
		local.rope = m.ropeOfBase(global.heads.k, halves, ropeBase, m.positiveOr(ropeBase, usualBase), m.unscaled)
	}
	m.key(localRopeBase) // which llama.cpp reads and does not use
	post := m.rmsNorm("post_attention_norm")
	ffn := residual{at: "ffn", body: gated{act: silu, size: m.feedForward()}, out: m.rmsNorm("post_ffw_norm")}
	return decoder{
		layer: byLayer(func(i int64) part {
			if !windowed(i) {
				return sequence{residual{at: "attn", body: global, out: post}, ffn}
			}
			return sequence{residual{at: "attn", body: local, out: post}, ffn}
		}),
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
		qkv:   separate{bias: optional},
		qNorm: m.rmsNorm("attn_q_norm").over(h.count * h.k),
		kNorm: m.rmsNorm("attn_k_norm").over(h.kv * h.k),
		rope:  m.rope(h.k, halves),
		scale: h.scale(),
	}
}
