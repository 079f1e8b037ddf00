package arch

// baichuan is Baichuan 1 and 2: a llama with rotations of neighbours (7B), or without rotations and with a bias of
// scores by distance (13B).
func baichuan(m *model) decoder {
	h := m.heads()
	a := attention{heads: h, qkv: separate{bias: optional}, scale: h.scale(), alibi: m.baichuanAlibi()}
	if a.alibi == 0 {
		a.rope = m.rope(h.k, neighbours)
	}
	return decoder{
		layer: sequence{
			residual{at: "attn", in: m.rmsNorm("attn_norm"), body: a},
			residual{at: "ffn", in: m.rmsNorm("ffn_norm"), body: gated{act: silu, size: m.feedForward()}},
		},
		norm:   m.rmsNorm("output_norm"),
		output: output{tied: tiedNever},
	}
}

// baichuanAlibi returns the exponent of the bias, 0 for models that rotate. Files do not state it, so llama.cpp decides
// by the number of layers (src/llama-hparams.cpp): the 7B has 32, the 13B 40. Models of other sizes have to state it.
func (m *model) baichuanAlibi() float64 {
	const key = "attention.max_alibi_bias"
	switch {
	case m.file.Has(m.key(key)):
		return m.atLeastZero(key)
	case m.layers == 32:
		return 0
	case m.layers == 40:
		return usualAlibi
	}
	m.fail(m.file.KeyError(m.key("block_count"), "%d layers: baichuan rotates with 32 layers (7B) and biases scores with 40 (13B); set %s to 0 or %d for other sizes",
		m.layers, m.key(key), usualAlibi))
	return 0
}
