package arch

import "slices"

// qwen2 is Qwen 2 and 2.5: biases of queries, keys and values, rotations of halves, root-mean-square norms, and a
// gated feed-forward part.
func qwen2(m *model) decoder {
	d := llamaLayers(m, halves, gated{act: silu, size: m.feedForward()})
	d.output.bias = optional
	return d
}

// qwen2moe is Qwen 1.5 and 2 with experts, and one expert that all tokens share.
func qwen2moe(m *model) decoder {
	e := m.experts(m.expertFeedForward(), softmaxOfAll)
	shared := m.countOr("expert_shared_feed_forward_length", 0, 1, maxWidth)
	if shared == 0 {
		shared = m.feedForward()
	}
	e.shared = gatedShare{name: "ffn_gate_inp_shexp.weight", body: gated{act: silu, size: shared, suffix: "_shexp"}}
	return llamaLayers(m, halves, e)
}

// qwen2vl is the part of Qwen 2 VL and 2.5 VL that reads text, for which sections of angles have one position.
func qwen2vl(m *model) decoder {
	m.sectionsOfText()
	return qwen2(m)
}

// keySections has the pairs of each position of a token of a picture.
const keySections = "rope.dimension_sections"

// hasSections reports whether the file has sections of angles, of which the first two are not empty, and checks them.
func (m *model) hasSections() bool {
	if !m.file.Has(m.key(keySections)) {
		return false
	}
	s := m.sectionsOfText()
	return s[0] > 0 && s[1] > 0
}

// sectionsOfText reads three sections, and checks that the angles of a model that also reads pictures are those of a model of
// text where all positions of a token are the same. A fourth section would have angles of its own.
func (m *model) sectionsOfText() (sections [3]int64) {
	key := m.key(keySections)
	all, err := m.file.Ints(key)
	if err != nil {
		m.fail(err)
		return sections
	}
	if len(all) > 0 && slices.Min(all) < 0 {
		m.fail(m.file.KeyError(key, "a section of %d pairs: the file is damaged", slices.Min(all)))
	}
	if len(all) > 3 && all[3] != 0 {
		m.fail(m.file.KeyError(key, "a fourth section of %d pairs is not supported: its positions are not those of the text", all[3]))
	}
	copy(sections[:], all)
	return sections
}

// qwen is the first Qwen: one matrix with biases for queries, keys and values, rotations of halves, and a gated
// feed-forward part of half the stated width.
func qwen(m *model) decoder {
	h := m.equalHeads()
	return decoder{
		layer: sequence{
			residual{at: "attn", in: m.rmsNorm("attn_norm"), body: attention{
				heads: h,
				qkv:   fused{bias: required},
				rope:  m.rope(h.k, halves),
				scale: h.scale(),
			}},
			residual{at: "ffn", in: m.rmsNorm("ffn_norm"), body: gated{act: silu, size: max(1, m.feedForward()/2)}},
		},
		norm:   m.rmsNorm("output_norm"),
		output: output{tied: tiedNever},
	}
}
