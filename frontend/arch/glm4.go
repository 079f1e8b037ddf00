package arch

// glm4 is GLM-4: norms before and after parts, rotations of neighbours in a part of each head, and one matrix for gate
// and up. GLM-4.1V and 4.6V, which have sections of angles, rotate halves.
func glm4(m *model) decoder {
	m.leaveOutPredictors()
	pairs := neighbours
	if m.hasSections() {
		pairs = halves
	}
	h := m.equalHeads()
	return decoder{
		layer: sequence{
			residual{at: "attn", in: m.rmsNorm("attn_norm"), out: m.rmsNorm("post_attention_norm"), body: attention{
				heads: h,
				qkv:   fusedOrSeparate{bias: optional},
				rope:  m.rope(h.k, pairs),
				scale: h.scale(),
			}},
			residual{at: "ffn", in: m.rmsNorm("ffn_norm"), out: m.rmsNorm("post_ffw_norm"), body: gatedInOne{act: silu, size: m.feedForward()}},
		},
		norm: m.rmsNorm("output_norm"),
	}
}

// glm4moe is GLM 4.5 and 4.6: rotations of halves in a part of each head, first layers that are dense, and others with
// experts whose choice has a bias, and some that all tokens share. The largest has norms of each head of queries and keys.
func glm4moe(m *model) decoder {
	m.leaveOutPredictors()
	m.hasSections() // of GLM 4.5 V
	h := m.equalHeads()
	e := sharedExperts(m, m.gatingOr(gatingSigmoid))
	e.bias, e.scale = required, m.atLeastZeroOr("expert_weights_scale", 0)
	d := decoder{
		layer: sequence{
			residual{at: "attn", in: m.rmsNorm("attn_norm"), body: attention{
				heads: h,
				qkv:   separate{bias: optional},
				qNorm: m.rmsNormIfAny("attn_q_norm").over(h.k),
				kNorm: m.rmsNormIfAny("attn_k_norm").over(h.k),
				rope:  m.rope(h.k, halves),
				scale: h.scale(),
			}},
			residual{at: "ffn", in: m.rmsNorm("post_attention_norm"), body: gated{act: silu, size: m.feedForward()}},
		},
		norm: m.rmsNorm("output_norm"),
	}
	return leadingDense(m, d, e)
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
