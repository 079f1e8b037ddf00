package arch

// olmo is OLMo 1: a llama with layer norms that have no factors, and queries, keys and values that may be limited.
func olmo(m *model) decoder {
	h := m.heads()
	return decoder{
		layer: sequence{
			residual{at: "attn", in: m.bareNorm(), body: attention{
				heads: h,
				qkv:   separate{bias: optional, limit: m.atLeastZeroOr("attention.clamp_kqv", 0)},
				rope:  m.rope(h.k, neighbours),
				scale: h.scale(),
			}},
			residual{at: "ffn", in: m.bareNorm(), body: gated{act: silu, size: m.feedForward()}},
		},
		norm: m.bareNorm(),
	}
}
