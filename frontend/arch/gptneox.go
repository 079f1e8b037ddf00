package arch

// gptneox is GPT-NeoX and Pythia: rotations of a part of each head, layer norms, a plain feed-forward part, biases
// everywhere, and attention beside the feed-forward part or before it, as the file states.
func gptneox(m *model) decoder {
	h := m.equalHeads()
	attn := residual{at: "attn", in: m.layerNorm("attn_norm", required), body: attention{
		heads: h,
		qkv:   fused{bias: required},
		rope:  m.rope(h.k, halves),
		scale: h.scale(),
		out:   required,
	}}
	ffn := residual{at: "ffn", in: m.layerNorm("ffn_norm", required), body: plain{act: gelu, size: m.feedForward(), bias: required}}
	d := decoder{
		layer:  sequence{attn, ffn},
		norm:   m.layerNorm("output_norm", required),
		output: output{tied: tiedNever},
	}
	if m.flag("use_parallel_residual") {
		d.layer = parallel{attn, ffn}
	}
	return d
}
