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

// phimoe is Phi 3.5 MoE: root-mean-square norms with biases, rotations of halves whose angles may depend on the context,
// experts, and biases of the last product of attention and of the logits.
func phimoe(m *model) decoder {
	h := m.equalHeads()
	biased := func(name string) norm {
		n := m.rmsNorm(name)
		n.bias = required
		return n
	}
	return decoder{
		layer: sequence{
			residual{at: "attn", in: biased("attn_norm"), body: attention{
				heads: h,
				qkv:   fusedOrSeparate{bias: optional},
				rope:  m.rope(h.k, halves),
				scale: h.scale(),
				out:   required,
			}},
			residual{at: "ffn", in: biased("ffn_norm"), body: m.experts(m.feedForward(), softmaxOfChosen)},
		},
		norm:   biased("output_norm"),
		output: output{tied: tiedNever, bias: required},
	}
}
