package arch

// llama is Llama 1 to 3.2, Mistral and Mixtral: rotations of neighbours, root-mean-square norms, and a gated
// feed-forward part or a mixture of them.
func llama(m *model) decoder {
	h := m.heads()
	var ffn part
	if m.countOr("expert_count", 0, 0, maxExperts) > 0 {
		ffn = m.experts(m.feedForward(), softmaxOfChosen)
	} else {
		ffn = gated{act: silu, size: m.feedForward(), bias: optional}
	}
	return decoder{
		layer: sequence{
			residual{at: "attn", in: m.rmsNorm("attn_norm"), body: attention{
				heads: h,
				qkv:   separate{bias: optional},
				rope:  m.rope(h.k, neighbours),
				scale: h.scale(),
				out:   optional,
			}},
			residual{at: "ffn", in: m.rmsNorm("ffn_norm"), body: ffn},
		},
		norm: m.rmsNorm("output_norm"),
	}
}
