package arch

// qwen3 is the dense Qwen 3: norms of each head of queries and keys, rotations of halves, root-mean-square norms, and
// a gated feed-forward part.
func qwen3(m *model) decoder {
	return qwen3Layers(m, gated{act: silu, size: m.feedForward()})
}

// qwen3moe is Qwen 3 with experts.
func qwen3moe(m *model) decoder {
	return qwen3Layers(m, m.experts(m.expertFeedForward(), softmaxOfChosen))
}

// qwen3vl is the part of Qwen 3 VL that reads text, for which sections of angles have one position.
func qwen3vl(m *model) decoder { return m.interleaved(m.sectionsOfText(), qwen3(m)) }

// qwen3vlmoe is qwen3vl with experts.
func qwen3vlmoe(m *model) decoder { return m.interleaved(m.sectionsOfText(), qwen3moe(m)) }

// interleaved stops the pairs that are in no section: three sections take turns, and where one has ended, its pairs have a
// fourth position, which is 0 in text. That is what llama.cpp computes (ggml_mrope_cache_init); Qwen's own code gives
// them the first position. Of the 64 pairs of Qwen 3 VL it is two, which turn by 0.1 in 250,000 positions.
func (m *model) interleaved(sections [3]int64, d decoder) decoder {
	sum := sections[0] + sections[1] + sections[2]
	if m.errs.Any() {
		return d
	}
	if sections[0] < 0 || sections[1] < 0 || sections[2] < 0 || sum <= 0 {
		m.fail(m.file.KeyError(m.key(keySections), "sections of %d, %d and %d pairs: the file is damaged", sections[0], sections[1], sections[2]))
		return d
	}
	for _, r := range m.ropes {
		for i := range r.freqs {
			if s := int64(i) % sum; s >= 3*sections[s%3] {
				r.freqs[i] = 0
			}
		}
	}
	return d
}

func qwen3Layers(m *model, ffn part) decoder {
	attn := m.attentionOfNormedHeads(m.heads())
	attn.out = optional
	return decoder{
		layer: sequence{
			residual{at: "attn", in: m.rmsNorm("attn_norm"), body: attn},
			residual{at: "ffn", in: m.rmsNorm("ffn_norm"), body: ffn},
		},
		norm: m.rmsNorm("output_norm"),
	}
}

// attentionOfNormedHeads is an attention with norms of each head of queries and keys, and rotations of halves.
func (m *model) attentionOfNormedHeads(h heads) attention {
	return attention{
		heads: h,
		qkv:   separate{bias: optional},
		qNorm: m.rmsNorm("attn_q_norm").over(h.k),
		kNorm: m.rmsNorm("attn_k_norm").over(h.k),
		rope:  m.rope(h.k, halves),
		scale: h.scale(),
	}
}
