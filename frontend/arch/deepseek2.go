package arch

import "math"

// deepseek2 is DeepSeek 2, 3 and R1: latent attention, first layers that are dense, and others with experts and some
// that all tokens share. The choice of experts may have a bias, and be limited to groups of them.
func deepseek2(m *model) decoder {
	m.leaveOutPredictors()
	if m.atLeastZeroOr(growthKey, 0) > 0 { // Mistral Large 3
		m.growQueries(m.count("attention.temperature_length", 1, math.MaxUint32))
	}
	a := m.latentAttention(neighbours)
	m.stretchScores(&a)
	usual := int64(gatingSoftmax)
	if m.vocab == 154880 && (m.layers == 47 || m.layers == 48) { // GLM 4.7 Lite, whose first files do not state it (llama.cpp, src/models/deepseek2.cpp)
		usual = gatingSigmoid
	}
	e := sharedExperts(m, m.gatingOr(usual))
	e.bias, e.scale = optional, m.atLeastZeroOr("expert_weights_scale", 0)
	d := decoder{
		layer: sequence{
			residual{at: "attn", in: m.rmsNorm("attn_norm"), body: a},
			residual{at: "ffn", in: m.rmsNorm("ffn_norm"), body: gated{act: silu, size: m.feedForward()}},
		},
		norm: m.rmsNorm("output_norm"),
	}
	return leadingDense(m, d, e)
}

// stretchScores multiplies scores for contexts that YaRN has stretched, as llama.cpp does (src/models/deepseek2.cpp,
// src/llama-context.cpp). Files state a tenth of the multiplier of the logarithm.
func (m *model) stretchScores(a *latentAttention) {
	factor, turned := m.stretchFactor(), m.positiveOr(attnFactor, 1)
	multiplier := m.atLeastZeroOr(yarnLogMultiplier, 0)
	kind := m.stringOr("rope.scaling.type", "linear")
	if m.errs.Any() {
		return
	}
	if kind == "none" {
		factor = 1
	}
	if kind == "linear" || multiplier == 0 {
		turned *= 1 + 0.1*math.Log(factor)
	}
	if kind == "yarn" {
		a.rope.scale = float32(turned)
	}
	stretch := turned * (1 + multiplier*math.Log(factor))
	a.scale *= stretch * stretch
}

// minicpm3 is MiniCPM 3: latent attention in a llama with factors of the embedding, of what each part adds, and of
// logits, which files do not state (llama.cpp, src/models/minicpm3.cpp).
func minicpm3(m *model) decoder {
	scale := 1.4 / math.Sqrt(float64(m.layers))
	return decoder{
		embedding: embedding{scale: 12},
		layer: sequence{
			residual{at: "attn", in: m.rmsNorm("attn_norm"), body: m.latentAttention(halves), scale: scale},
			residual{at: "ffn", in: m.rmsNorm("ffn_norm"), body: gated{act: silu, size: m.feedForward()}, scale: scale},
		},
		norm:   m.rmsNorm("output_norm"),
		output: output{scale: 256 / float64(m.embd)},
	}
}
