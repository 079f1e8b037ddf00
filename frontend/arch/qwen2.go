package arch

// qwen2 is Qwen 2 and 2.5: biases of queries, keys and values, rotations of halves, root-mean-square norms, and a
// gated feed-forward part.
func qwen2(m *model) decoder {
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
			residual{at: "ffn", in: m.rmsNorm("ffn_norm"), body: gated{act: silu, size: m.feedForward()}},
		},
		norm:   m.rmsNorm("output_norm"),
		output: output{bias: optional},
	}
}
