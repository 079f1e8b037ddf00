package arch

import "github.com/ggmlc/ggmlc/ir"

// llama is Llama 1 to 3.3, Mistral and Mixtral: rotations of neighbours, root-mean-square norms, and a gated
// feed-forward part or a mixture of them.
func llama(m *model) decoder {
	if m.countOr("expert_count", 0, 0, maxExperts) > 0 {
		return llamaLayers(m, neighbours, m.experts(m.feedForward(), softmaxOfChosen))
	}
	return llamaLayers(m, neighbours, gated{act: silu, size: m.feedForward(), bias: optional})
}

// llamaLayers is llama with other rotations or another feed-forward part.
func llamaLayers(m *model, pairs ir.RopeAttr, ffn part) decoder {
	h := m.heads()
	return decoder{
		layer: sequence{
			residual{at: "attn", in: m.rmsNorm("attn_norm"), body: attention{
				heads: h,
				qkv:   separate{bias: optional},
				rope:  m.rope(h.k, pairs),
				scale: h.scale(),
				out:   optional,
			}},
			residual{at: "ffn", in: m.rmsNorm("ffn_norm"), body: ffn},
		},
		norm: m.rmsNorm("output_norm"),
	}
}

// mistral3 is Ministral 3, a llama with a factor of queries that grows with the position, beyond the context that the
// model was first trained with. Up to there the factor is 1.
func mistral3(m *model) decoder {
	if m.atLeastZeroOr(queryGrowth, 0) > 0 {
		m.limitGrowth(m.originalContext(), "rope.scaling.original_context_length")
	}
	return llama(m)
}

// queryGrowth is by how much queries grow with the logarithm of the position.
const queryGrowth = "attention.temperature_scale"

// limitGrowth limits the context to the n positions before queries grow.
func (m *model) limitGrowth(n int64, key string) {
	m.limitContext(n, "after which queries grow, which is not supported yet", key)
}
