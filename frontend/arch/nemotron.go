package arch

// nemotron is Nemotron and Minitron: layer norms, rotations of a part of each head, and a plain feed-forward part of
// squares.
func nemotron(m *model) decoder {
	h := m.heads()
	return decoder{
		layer: sequence{
			residual{at: "attn", in: m.layerNorm("attn_norm", required), body: attention{
				heads: h,
				qkv:   separate{bias: optional},
				rope:  m.rope(h.k, halves),
				scale: h.scale(),
				out:   optional,
			}},
			residual{at: "ffn", in: m.layerNorm("ffn_norm", required), body: plain{act: reluSquared, size: m.feedForward(), bias: optional}},
		},
		norm:   m.layerNorm("output_norm", required),
		output: output{tied: tiedNever},
	}
}
