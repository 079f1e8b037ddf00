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

// mistral3 is Ministral 3, a llama with queries that grow beyond the context that the model was first trained with.
func mistral3(m *model) decoder {
	m.growQueries(m.originalContext())
	return llama(m)
}
