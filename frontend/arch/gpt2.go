package arch

// gpt2 is GPT-2: learned positions, layer norms, one matrix for queries, keys and values, a plain feed-forward part,
// and biases everywhere.
func gpt2(m *model) decoder {
	h := m.equalHeads()
	return decoder{
		embedding: embedding{positions: m.learned()},
		layer: sequence{
			residual{at: "attn", in: m.layerNorm("attn_norm", required), body: attention{
				heads: h,
				qkv:   fused{bias: required},
				scale: h.scale(),
				out:   required,
			}},
			residual{at: "ffn", in: m.layerNorm("ffn_norm", required), body: plain{act: gelu, size: m.feedForward(), bias: required}},
		},
		norm: m.layerNorm("output_norm", required),
	}
}

// starcoder is StarCoder: GPT-2 whose heads share one head of keys and values.
func starcoder(m *model) decoder { return gpt2(m) }
