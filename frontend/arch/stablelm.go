package arch

// stablelm is Stable LM: layer norms, rotations of a part of each head, and a gated feed-forward part. Files without
// its norm have it beside attention, of one norm; some have norms of each head of queries and keys.
func stablelm(m *model) decoder {
	h := m.heads()
	attn := residual{at: "attn", in: m.layerNorm("attn_norm", required), body: attention{
		heads: h,
		qkv:   separate{bias: optional},
		qNorm: m.headNorm("attn_q_norm", h.k),
		kNorm: m.headNorm("attn_k_norm", h.k),
		rope:  m.rope(h.k, halves),
		scale: h.scale(),
	}}
	ffn := residual{at: "ffn", in: m.layerNorm("ffn_norm", optional), body: gated{act: silu, size: m.feedForward()}}
	d := decoder{
		layer:  sequence{attn, ffn},
		norm:   m.layerNorm("output_norm", required),
		output: output{tied: tiedNever},
	}
	if !m.has(layerName(0, "ffn_norm.weight")) {
		ffn.in = attn.in
		d.layer = parallel{attn, ffn}
	}
	return d
}
