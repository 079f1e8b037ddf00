package arch

// exaone4 is EXAONE 4: norms of what each part adds in place of norms before it, norms of each head of queries and
// keys, and rotations of halves. The larger one has a sliding window, and rotations, in three of four layers only.
func exaone4(m *model) decoder {
	m.leaveOutPredictors()
	turned := m.attentionOfNormedHeads(m.heads())
	still, windowed := turned, func(int64) bool { return true }
	if m.layers == layersOf32B {
		turned.window, still.rope = m.windowOr(4096), nil
		m.key(localRopeBase) // which llama.cpp reads and does not use
		windowed = m.windowedLayers(4)
	}
	post := m.rmsNorm("post_attention_norm")
	ffn := residual{at: "ffn", body: gated{act: silu, size: m.feedForward()}, out: m.rmsNorm("post_ffw_norm")}
	return decoder{
		layer: byLayer(func(i int64) part {
			if !windowed(i) {
				return sequence{residual{at: "attn", body: still, out: post}, ffn}
			}
			return sequence{residual{at: "attn", body: turned, out: post}, ffn}
		}),
		norm: m.rmsNorm("output_norm"),
	}
}

// layersOf32B is the number of layers by which llama.cpp recognizes the larger EXAONE 4 (src/llama-model.cpp).
const layersOf32B = 64
