package arch

import "math"

// gemma is Gemma 1: an embedding times the root of its width, root-mean-square norms, rotations of halves, a
// feed-forward part gated by gelu, and logits of the embedding.
func gemma(m *model) decoder {
	h := m.heads()
	return decoder{
		embedding: embedding{scale: math.Sqrt(float64(m.embd))},
		layer: sequence{
			residual{at: "attn", in: m.rmsNorm("attn_norm"), body: attention{
				heads: h,
				qkv:   separate{bias: optional},
				rope:  m.rope(h.k, halves),
				scale: h.scale(),
			}},
			residual{at: "ffn", in: m.rmsNorm("ffn_norm"), body: gated{act: gelu, size: m.feedForward()}},
		},
		norm:   m.rmsNorm("output_norm"),
		output: output{tied: tiedAlways},
	}
}

// gemma3 is Gemma 3: gemma with norms before and after parts and of each head of queries and keys. Of six layers, five
// have a sliding window and angles of a base of their own, without scaling.
func gemma3(m *model) decoder {
	a := m.attentionOfNormedHeads(m.heads())
	h := a.heads
	if m.layers == layersOf27B && !m.errs.Any() { // whose files do not state their scale
		a.scale = 1 / math.Sqrt(float64(m.embd/h.count))
	}
	local, windowed := a, m.windowedLayers(6)
	if local.window = m.windowOr(0); local.window > 0 {
		local.rope = m.unscaledWindowRope(h.k, halves)
	} else {
		m.key(localRopeBase) // the file may state it in spite of that
	}
	return decoder{
		embedding: embedding{scale: math.Sqrt(float64(m.embd))},
		layer:     m.gemma3Layers(a, local, windowed),
		norm:      m.rmsNorm("output_norm"),
		output:    output{cap: m.positiveOr("final_logit_softcapping", 0)},
	}
}

// gemma3Layers describes layers of which some are windowed and have a local attention.
func (m *model) gemma3Layers(global, local attention, windowed func(layer int64) bool) part {
	ffn := residual{at: "ffn", in: m.rmsNorm("ffn_norm"), out: m.rmsNorm("post_ffw_norm"), body: gated{act: gelu, size: m.feedForward()}}
	return byLayer(func(i int64) part {
		attn := residual{at: "attn", in: m.rmsNorm("attn_norm"), out: m.rmsNorm("post_attention_norm"), body: local}
		if !windowed(i) {
			attn.body = global
		}
		return sequence{attn, ffn}
	})
}

// gemmaEmbedding is EmbeddingGemma: an encoder with the layers of gemma3, whose windows have half of their positions on each
// side of a token. Files may have two matrices that follow the last norm.
func gemmaEmbedding(m *model) decoder {
	m.asEncoder()
	m.key("attention.causal") // which the architecture is not, whatever the file states
	global := m.attentionOfNormedHeads(m.heads())
	local := global
	local.around, local.rope = m.halfWindow(), m.unscaledWindowRope(global.heads.k, halves)
	return decoder{
		pooling:   m.poolingOfEncoder(),
		embedding: embedding{scale: math.Sqrt(float64(m.embd))},
		layer:     m.gemma3Layers(global, local, m.windowedLayers(6)),
		norm:      m.rmsNorm("output_norm"),
		head:      m.denseModules(),
	}
}

// denseModules describes the matrices of Sentence Transformers that files may have. The mean of products is the product of the
// mean, so that they are applied to the state of each token.
func (m *model) denseModules() part {
	var s sequence
	width := m.embd
	if m.has("dense_2.weight") {
		p := product{"dense_2", m.count("dense_2_feat_out", 1, maxWidth), width}
		s, width = append(s, p), p.rows
	}
	if m.has("dense_3.weight") {
		if n := m.count("dense_3_feat_in", 1, maxWidth); n != width {
			m.fail(m.file.KeyError(m.key("dense_3_feat_in"), "%d, where there are %d: the file is damaged", n, width))
		}
		s = append(s, product{"dense_3", m.embd, width})
	}
	return s
}

// gemma2 is Gemma 2: gemma with norms before and after parts, a cap of scores and of logits, and a sliding window in
// every other layer.
func gemma2(m *model) decoder {
	h := m.heads()
	global := attention{
		heads: h,
		qkv:   separate{bias: optional},
		rope:  m.rope(h.k, halves),
		scale: h.scale(),
		cap:   m.positiveOr("attn_logit_softcapping", 50),
	}
	if m.layers == layersOf2At27B && !m.errs.Any() { // whose files do not state their scale
		global.scale = 1 / math.Sqrt(float64(m.embd/h.count))
	}
	local := global
	local.window, local.rope = m.windowOr(4096), m.windowRope(h.k, halves, global.rope)
	windowed := m.windowedLayers(2)
	ffn := residual{at: "ffn", in: m.rmsNorm("ffn_norm"), out: m.rmsNorm("post_ffw_norm"), body: gated{act: gelu, size: m.feedForward()}}
	return decoder{
		embedding: embedding{scale: math.Sqrt(float64(m.embd))},
		layer: byLayer(func(i int64) part {
			attn := residual{at: "attn", in: m.rmsNorm("attn_norm"), out: m.rmsNorm("post_attention_norm"), body: local}
			if !windowed(i) {
				attn.body = global
			}
			return sequence{attn, ffn}
		}),
		norm:   m.rmsNorm("output_norm"),
		output: output{tied: tiedAlways, cap: m.positiveOr("final_logit_softcapping", 30)},
	}
}

// Numbers of layers by which llama.cpp recognizes the largest Gemma 2 and 3 (src/llama-model.cpp).
const (
	layersOf2At27B = 46
	layersOf27B    = 62
)
