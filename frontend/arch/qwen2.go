package arch

// qwen2 is Qwen 2 and 2.5: biases of queries, keys and values, rotations of halves, root-mean-square norms, and a
// gated feed-forward part.
func qwen2(m *model) decoder {
	d := llamaLayers(m, halves, gated{act: silu, size: m.feedForward()})
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
	return llamaLayers(m, halves, e)
}
