package arch

import "math"

// gemma is Gemma 1: an embedding times the root of its width, root-mean-square norms, rotations of halves, a
// feed-forward part gated by gelu, and logits of the embedding.
func gemma(m *model) decoder {
	h := m.heads()
	return decoder{
		embedding: embedding{scale: math.Sqrt(float64(m.embd))},
		layer: sequence{
			residual{at: "attn", in: m.rmsNorm("attn_norm"), body: attention{
				heads: h,
				qkv:   separate{},
				rope:  m.rope(h.k, halves),
				scale: h.scale(),
			}},
			residual{at: "ffn", in: m.rmsNorm("ffn_norm"), body: gated{act: gelu, size: m.feedForward()}},
		},
		norm:   m.rmsNorm("output_norm"),
		output: output{tied: tiedAlways},
	}
}
