package arch

// Architectures without rotations, whose scores have a bias by distance (ALiBi).

// usualAlibi is the exponent of architectures whose files do not state it (llama.cpp, src/llama-model.cpp).
const usualAlibi = 8

// bloom is BLOOM: a norm of the embedding, scores with a bias by distance, layer norms, one matrix for queries, keys
// and values, a plain feed-forward part, and biases everywhere.
func bloom(m *model) decoder {
	h := m.equalHeads()
	return decoder{
		embedding: embedding{norm: m.layerNorm("token_embd_norm", required)},
		layer: sequence{
			residual{at: "attn", in: m.layerNorm("attn_norm", required), body: attention{
				heads: h,
				qkv:   fused{bias: required},
				scale: h.scale(),
				alibi: usualAlibi,
				out:   required,
			}},
			residual{at: "ffn", in: m.layerNorm("ffn_norm", required), body: plain{act: gelu, size: m.feedForward(), bias: required}},
		},
		norm: m.layerNorm("output_norm", required),
	}
}

// mpt is MPT: scores with a bias by distance or learned positions, layer norms, one matrix for queries, keys and values
// whose results may be limited, and a plain feed-forward part. Files may have biases.
func mpt(m *model) decoder {
	h, alibi := m.equalHeads(), m.atLeastZero("attention.max_alibi_bias")
	d := decoder{
		layer: sequence{
			residual{at: "attn", in: m.layerNorm("attn_norm", optional), body: attention{
				heads: h,
				qkv:   fused{bias: optional, limit: m.atLeastZeroOr("attention.clamp_kqv", 0)},
				scale: h.scale(),
				alibi: alibi,
				out:   optional,
			}},
			residual{at: "ffn", in: m.layerNorm("ffn_norm", optional), body: plain{act: gelu, size: m.feedForward(), bias: optional}},
		},
		norm: m.layerNorm("output_norm", optional),
	}
	if alibi == 0 || m.has(positionsName) {
		d.embedding.positions = m.learned()
	}
	return d
}

// refact is Refact: a llama without rotations, whose scores have a bias by distance.
func refact(m *model) decoder {
	h := m.heads()
	return decoder{
		layer: sequence{
			residual{at: "attn", in: m.rmsNorm("attn_norm"), body: attention{
				heads: h,
				qkv:   separate{bias: optional},
				scale: h.scale(),
				alibi: usualAlibi,
				out:   optional,
			}},
			residual{at: "ffn", in: m.rmsNorm("ffn_norm"), body: gated{act: silu, size: m.feedForward(), bias: optional}},
		},
		norm: m.rmsNorm("output_norm"),
	}
}

// jais is Jais: scores divided by the size of a head, with a bias by distance, layer norms, one matrix for queries,
// keys and values, a gated feed-forward part, and biases everywhere.
func jais(m *model) decoder {
	h := m.equalHeads()
	return decoder{
		layer: sequence{
			residual{at: "attn", in: m.layerNorm("attn_norm", required), body: attention{
				heads: h,
				qkv:   fused{bias: required},
				scale: 1 / float64(h.k),
				alibi: m.atLeastZero("attention.max_alibi_bias"),
				out:   required,
			}},
			residual{at: "ffn", in: m.layerNorm("ffn_norm", required), body: gated{act: silu, size: m.feedForward(), bias: required}},
		},
		norm:   m.layerNorm("output_norm", required),
		output: output{tied: tiedNever},
	}
}
