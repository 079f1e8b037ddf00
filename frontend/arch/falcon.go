package arch

// falcon is Falcon 7B, 40B and 180B: attention beside a plain feed-forward part, layer norms, rotations of halves.
// The larger ones have a norm for each of the two.
func falcon(m *model) decoder {
	h := m.equalHeads()
	norm := m.layerNorm("attn_norm", required)
	attn := residual{at: "attn", in: norm, body: attention{
		heads: h,
		qkv:   fused{},
		rope:  m.rope(h.k, halves),
		scale: h.scale(),
	}}
	if m.has(layerName(0, "attn_norm_2.weight")) {
		attn.in = m.layerNorm("attn_norm_2", required)
	}
	return decoder{
		layer: parallel{attn, {at: "ffn", in: norm, body: plain{act: gelu, size: m.feedForward()}}},
		norm:  m.layerNorm("output_norm", required),
	}
}
