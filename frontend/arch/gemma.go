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
	h := m.heads()
	a := attention{
		heads: h,
		qkv:   separate{bias: optional},
		qNorm: m.rmsNorm("attn_q_norm").over(h.k),
		kNorm: m.rmsNorm("attn_k_norm").over(h.k),
		rope:  m.rope(h.k, halves),
		scale: h.scale(),
	}
	if m.layers == layersOf27B && !m.errs.Any() { // whose files do not state their scale
		a.scale = 1 / math.Sqrt(float64(m.embd/h.count))
	}
	local, windowed := a, m.windowedLayers(6)
	if local.window = m.windowOr(0); local.window > 0 {
		local.rope = m.unscaledWindowRope(h.k, halves)
	} else {
		m.key(localRopeBase) // the file may state it in spite of that
	}
	ffn := residual{at: "ffn", in: m.rmsNorm("ffn_norm"), out: m.rmsNorm("post_ffw_norm"), body: gated{act: gelu, size: m.feedForward()}}
	return decoder{
		embedding: embedding{scale: math.Sqrt(float64(m.embd))},
		layer: byLayer(func(i int64) part {
			attn := residual{at: "attn", in: m.rmsNorm("attn_norm"), out: m.rmsNorm("post_attention_norm"), body: local}
			if !windowed(i) {
				attn.body = a
			}
			return sequence{attn, ffn}
		}),
		norm:   m.rmsNorm("output_norm"),
		output: output{cap: m.positiveOr("final_logit_softcapping", 0)},
	}
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
