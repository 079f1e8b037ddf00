package arch

// starcoder2 is StarCoder 2: layer norms, rotations of halves, a plain feed-forward part, and biases everywhere.
func starcoder2(m *model) decoder {
	h := m.heads()
	return decoder{
		layer: sequence{
			residual{at: "attn", in: m.layerNorm("attn_norm", required), body: attention{
				heads: h,
				qkv:   separate{bias: required},
				rope:  m.rope(h.k, halves),
				scale: h.scale(),
				out:   required,
			}},
			residual{at: "ffn", in: m.layerNorm("ffn_norm", required), body: plain{act: gelu, size: m.feedForward(), bias: required}},
		},
		norm: m.layerNorm("output_norm", required),
	}
}

// codeshell is CodeShell: StarCoder 2 with one matrix for queries, keys and values. Files without an embedding have it in
// the output matrix.
func codeshell(m *model) decoder {
	h := m.equalHeads()
	return decoder{
		layer: sequence{
			residual{at: "attn", in: m.layerNorm("attn_norm", required), body: attention{
				heads: h,
				qkv:   fused{bias: required},
				rope:  m.rope(h.k, halves),
				scale: h.scale(),
				out:   required,
			}},
			residual{at: "ffn", in: m.layerNorm("ffn_norm", required), body: plain{act: gelu, size: m.feedForward(), bias: required}},
		},
		norm:   m.layerNorm("output_norm", required),
		output: output{tied: tiedNever},
	}
}
