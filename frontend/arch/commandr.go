package arch

import "slices"

// commandR is Command R and R+: attention beside a gated feed-forward part, both of one layer norm without bias,
// rotations of neighbours, and logits of the embedding times a factor. R+ has norms of each head of queries and keys.
func commandR(m *model) decoder {
	h := m.heads()
	norm := m.layerNorm("attn_norm", absent)
	return decoder{
		layer: parallel{
			{at: "attn", in: norm, body: attention{
				heads: h,
				qkv:   separate{bias: optional},
				qNorm: m.headNorm("attn_q_norm", h.k),
				kNorm: m.headNorm("attn_k_norm", h.k),
				rope:  m.rope(h.k, neighbours),
				scale: h.scale(),
				out:   optional,
			}},
			{at: "ffn", in: norm, body: gated{act: silu, size: m.feedForward()}},
		},
		norm:   m.layerNorm("output_norm", absent),
		output: output{tied: tiedAlways, scale: m.positive("logit_scale")},
	}
}

// cohere2 is Command R7B and Command A: Command R that rotates in three of four layers, which have a sliding window,
// and not in the fourth.
func cohere2(m *model) decoder {
	d := commandR(m)
	still := d.layer.(parallel)
	turned := slices.Clone(still)
	attn := still[0].body.(attention)
	attn.window = m.window()
	m.key(localRopeBase) // which llama.cpp reads and does not use
	turned[0].body = attn
	attn.window, attn.rope = 0, nil
	still[0].body = attn
	windowed := m.windowedLayers(4)
	d.layer = byLayer(func(i int64) part {
		if windowed(i) {
			return turned
		}
		return still
	})
	return d
}
