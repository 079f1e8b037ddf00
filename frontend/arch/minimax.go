package arch

// minimaxM2 is MiniMax M2: norms of all heads of queries and of keys together, rotations of halves in a part of each head,
// and experts whose choice has a bias.
func minimaxM2(m *model) decoder {
	h := m.equalHeads()
	e := m.experts(m.feedForward(), gatingKind(m.count("expert_gating_func", gatingSoftmax, gatingSigmoid), true))
	e.bias = required
	return decoder{
		layer: sequence{
			residual{at: "attn", in: m.rmsNorm("attn_norm"), body: attention{
				heads: h,
				qkv:   separate{},
				qNorm: m.rmsNorm("attn_q_norm").over(h.count * h.k),
				kNorm: m.rmsNorm("attn_k_norm").over(h.kv * h.k),
				rope:  m.rope(h.k, halves),
				scale: h.scale(),
			}},
			residual{at: "ffn", in: m.rmsNorm("ffn_norm"), body: e},
		},
		norm:   m.rmsNorm("output_norm"),
		output: output{tied: tiedNever},
	}
}
