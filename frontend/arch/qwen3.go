package arch

// qwen3 is the dense Qwen 3: norms of each head of queries and keys, rotations of halves, root-mean-square norms, and
// a gated feed-forward part.
func qwen3(m *model) decoder {
	return qwen3Layers(m, gated{act: silu, size: m.feedForward()})
}

// qwen3moe is Qwen 3 with experts.
func qwen3moe(m *model) decoder {
	return qwen3Layers(m, m.experts(m.expertFeedForward(), softmaxOfChosen))
}

// qwen3vl is the part of Qwen 3 VL that reads text, for which sections of angles have one position.
func qwen3vl(m *model) decoder {
	m.sectionsOfText()
	return qwen3(m)
}

// qwen3vlmoe is qwen3vl with experts.
func qwen3vlmoe(m *model) decoder {
	m.sectionsOfText()
	return qwen3moe(m)
}

func qwen3Layers(m *model, ffn part) decoder {
	h := m.heads()
	return decoder{
		layer: sequence{
			residual{at: "attn", in: m.rmsNorm("attn_norm"), body: attention{
				heads: h,
				qkv:   separate{},
				qNorm: m.rmsNorm("attn_q_norm").over(h.k),
				kNorm: m.rmsNorm("attn_k_norm").over(h.k),
				rope:  m.rope(h.k, halves),
				scale: h.scale(),
				out:   optional,
			}},
			residual{at: "ffn", in: m.rmsNorm("ffn_norm"), body: ffn},
		},
		norm: m.rmsNorm("output_norm"),
	}
}
