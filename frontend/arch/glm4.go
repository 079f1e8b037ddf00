package arch

// glm4 is GLM-4: norms before and after parts, rotations of neighbours in a part of each head, and one matrix for gate
// and up.
func glm4(m *model) decoder {
	h := m.equalHeads()
	return decoder{
		layer: sequence{
			residual{at: "attn", in: m.rmsNorm("attn_norm"), out: m.rmsNorm("post_attention_norm"), body: attention{
				heads: h,
				qkv:   fusedOrSeparate{bias: optional},
				rope:  m.rope(h.k, neighbours),
				scale: h.scale(),
			}},
			residual{at: "ffn", in: m.rmsNorm("ffn_norm"), out: m.rmsNorm("post_ffw_norm"), body: gatedInOne{act: silu, size: m.feedForward()}},
		},
		norm: m.rmsNorm("output_norm"),
	}
}

// chatglm is ChatGLM 2 and 3 and the first GLM-4: rotations of neighbours in a part of each head, and one matrix for
// gate and up.
func chatglm(m *model) decoder {
	h := m.equalHeads()
	return decoder{
		layer: sequence{
			residual{at: "attn", in: m.rmsNorm("attn_norm"), body: attention{
				heads: h,
				qkv:   fusedOrSeparate{bias: optional},
				rope:  m.rope(h.k, neighbours),
				scale: h.scale(),
			}},
			residual{at: "ffn", in: m.rmsNorm("ffn_norm"), body: gatedInOne{act: silu, size: m.feedForward()}},
		},
		norm: m.rmsNorm("output_norm"),
	}
}
