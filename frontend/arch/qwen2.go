package arch

// qwen2 is Qwen 2 and 2.5: biases of queries, keys and values, rotations of halves, root-mean-square norms, and a
// gated feed-forward part.
func qwen2(m *model) decoder {
	d := qwen2Layers(m, gated{act: silu, size: m.feedForward()})
	d.output.bias = optional
	return d
}

// qwen2moe is Qwen 1.5 and 2 with experts, and one expert that all tokens share.
func qwen2moe(m *model) decoder {
	e := m.experts(m.expertFeedForward(), softmaxOfAll)
	shared := m.countOr("expert_shared_feed_forward_length", 0, 1, maxWidth)
	if shared == 0 {
		shared = m.feedForward()
	}
	e.shared = gatedShare{name: "ffn_gate_inp_shexp.weight", body: gated{act: silu, size: shared, suffix: "_shexp"}}
	return qwen2Layers(m, e)
}

func qwen2Layers(m *model, ffn part) decoder {
	h := m.heads()
	return decoder{
		layer: sequence{
			residual{at: "attn", in: m.rmsNorm("attn_norm"), body: attention{
				heads: h,
				qkv:   separate{bias: optional},
				rope:  m.rope(h.k, halves),
				scale: h.scale(),
				out:   optional,
			}},
			residual{at: "ffn", in: m.rmsNorm("ffn_norm"), body: ffn},
		},
		norm: m.rmsNorm("output_norm"),
	}
}
