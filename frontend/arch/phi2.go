package arch

// phi2 is Phi 1, 1.5 and 2: attention beside a plain feed-forward part, both of one layer norm, rotations of a part of
// each head, and biases everywhere, also of the logits.
func phi2(m *model) decoder {
	h := m.equalHeads()
	return decoder{
		layer: parallel{
			{at: "attn", in: m.layerNorm("attn_norm", required), body: attention{
				heads: h,
				qkv:   fusedOrSeparate{bias: required},
				rope:  m.rope(h.k, halves),
				scale: h.scale(),
				out:   required,
			}},
			{at: "ffn", in: m.layerNorm("attn_norm", required), body: plain{act: gelu, size: m.feedForward(), bias: required}},
		},
		norm:   m.layerNorm("output_norm", required),
		output: output{tied: tiedNever, bias: required},
	}
}
