package arch

// commandR is Command R and R+: attention beside a gated feed-forward part, both of one layer norm without bias,
// rotations of neighbours, and logits of the embedding times a factor. R+ has norms of each head of queries and keys.
func commandR(m *model) decoder {
	h := m.heads()
	norm := m.layerNorm("attn_norm", absent)
	return decoder{
		layer: parallel{
			{at: "attn", in: norm, body: attention{
				heads: h,
				qkv:   separate{bias: optional},
				qNorm: m.headNorm("attn_q_norm", h.k),
				kNorm: m.headNorm("attn_k_norm", h.k),
				rope:  m.rope(h.k, neighbours),
				scale: h.scale(),
				out:   optional,
			}},
			{at: "ffn", in: norm, body: gated{act: silu, size: m.feedForward()}},
		},
		norm:   m.layerNorm("output_norm", absent),
		output: output{tied: tiedAlways, scale: m.positive("logit_scale")},
	}
}
