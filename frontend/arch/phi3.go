package arch

// phi3 is Phi 3, 3.5 and 4: one matrix for queries, keys and values, one for gate and up, rotations of halves whose
// angles may depend on the context, and root-mean-square norms.
func phi3(m *model) decoder {
	m.windowOr(0)        // which llama.cpp ignores, as files state windows that their models do not have
	m.key(windowPattern) // which states where these windows would be
	h := m.equalHeads()
	return decoder{
		layer: sequence{
			residual{at: "attn", in: m.rmsNorm("attn_norm"), body: attention{
				heads: h,
				qkv:   fusedOrSeparate{},
				rope:  m.rope(h.k, halves),
				scale: h.scale(),
			}},
			residual{at: "ffn", in: m.rmsNorm("ffn_norm"), body: gatedInOne{act: silu, size: m.feedForward()}},
		},
		norm: m.rmsNorm("output_norm"),
	}
}
