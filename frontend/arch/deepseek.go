package arch

import (
	"cmp"
	"fmt"
)

// deepseek is DeepSeek 1 with experts: a llama whose first layers are dense, and the others have experts and some that
// all tokens share.
func deepseek(m *model) decoder {
	dense := gated{act: silu, size: m.feedForward()}
	return leadingDense(m, llamaLayers(m, neighbours, dense), sharedExperts(m, softmaxOfAll))
}

// bailingmoe is Ling, a llama with experts and some that all tokens share.
func bailingmoe(m *model) decoder {
	w := softmaxOfAll
	if m.stated("expert_weights_norm") {
		w = softmaxOfChosen
	}
	return llamaLayers(m, neighbours, sharedExperts(m, w))
}

// dots1 is dots.llm1: norms of each head of queries and keys, rotations of halves, first layers that are dense, and
// others with experts whose choice may have a bias.
func dots1(m *model) decoder {
	e := sharedExperts(m, m.gating())
	e.bias, e.scale = optional, m.atLeastZeroOr("expert_weights_scale", 0)
	return leadingDense(m, qwen3Layers(m, gated{act: silu, size: m.feedForward()}), e)
}

// bailingmoe2 is Ling 2 and Ring 2: one matrix for queries, keys and values, norms of each head of queries and keys,
// rotations of halves, first layers that are dense, and others with experts and some that all tokens share. The choice of
// experts may have a bias, and be limited to groups of them.
func bailingmoe2(m *model) decoder {
	m.leaveOutPredictors()
	e := sharedExpertsOf(m, m.countOr("expert_shared_feed_forward_length", 0, 0, maxWidth), m.gating())
	e.bias, e.scale = optional, m.atLeastZeroOr("expert_weights_scale", 0)
	d := qwen3Layers(m, gated{act: silu, size: m.feedForward()})
	d.output.tied = tiedNever
	return leadingDense(m, d, e)
}

// ernie45moe is ERNIE 4.5 with experts in every layer, or in some, after the first ones, which are dense. The choice of
// experts may have a bias.
func ernie45moe(m *model) decoder {
	e := m.experts(m.expertFeedForward(), softmaxOfChosen)
	e.bias = optional
	if n := m.countOr("expert_shared_feed_forward_length", 0, 0, maxWidth); n > 0 {
		e.shared = gated{act: silu, size: n, suffix: "_shexp"}
	}
	first := m.count("leading_dense_block_count", 0, maxLayers)
	step := m.count("interleave_moe_layer_step", 1, maxLayers)
	d := llamaLayers(m, neighbours, gated{act: silu, size: m.feedForward()})
	return withExperts(d, e, func(i int64) bool { return i >= first && (i+1)%step == 0 })
}

// hunyuanMoE is Hunyuan with experts, and one expert that all tokens share.
func hunyuanMoE(m *model) decoder {
	e := m.experts(m.feedForward(), softmaxOfChosen)
	e.shared = gated{act: silu, size: m.count("expert_shared_feed_forward_length", 1, maxWidth), suffix: "_shexp"}
	h := m.heads()
	return hunyuanLayers(m, h, m.rope(h.k, halves), e)
}

// How weights of experts are made of scores, by the numbers that files have for it (llama.cpp, src/llama-hparams.h).
const (
	gatingSoftmax = 1
	gatingSigmoid = 2
)

// gating reads how weights of experts are made of scores.
func (m *model) gating() weighting {
	return gatingKind(m.count("expert_gating_func", gatingSoftmax, gatingSigmoid), m.stated("expert_weights_norm"))
}

// gatingOr is gating with a default.
func (m *model) gatingOr(def int64) weighting {
	return gatingKind(m.countOr("expert_gating_func", def, gatingSoftmax, gatingSigmoid), m.stated("expert_weights_norm"))
}

func gatingKind(kind int64, norm bool) weighting {
	switch {
	case kind == gatingSoftmax && norm:
		return softmaxOfChosen
	case kind == gatingSoftmax:
		return softmaxOfAll
	case norm:
		return sigmoidsOfSum
	}
	return sigmoids
}

// sharedExperts describes experts, and as many that all tokens share as the file states, which are one wide part.
func sharedExperts(m *model, w weighting) experts { return sharedExpertsOf(m, 0, w) }

// sharedExpertsOf is sharedExperts with the width of a shared expert; 0: that of the others.
func sharedExpertsOf(m *model, shared int64, w weighting) experts {
	e := m.experts(m.expertFeedForward(), w)
	size := cmp.Or(shared, e.size)
	if n := m.count("expert_shared_count", 0, maxExperts); n > 0 {
		e.shared = gated{act: silu, size: min(n*size, maxWidth), suffix: "_shexp"}
	}
	return e
}

// leaveOutPredictors leaves out the last layers of the file that predict further tokens, as llama.cpp does: logits do not
// depend on them.
func (m *model) leaveOutPredictors() {
	const key = "nextn_predict_layers"
	n := m.countOr(key, 0, 0, maxLayers)
	if n == 0 || m.errs.Any() {
		return
	}
	if n >= m.layers {
		m.fail(m.file.KeyError(m.key(key), "%d of %d layers: the file is damaged", n, m.layers))
		return
	}
	m.layers -= n
	for t := range m.file.Tensors() {
		var layer int64
		if k, _ := fmt.Sscanf(t.Name, "blk.%d.", &layer); k == 1 && layer >= m.layers && layer < m.layers+n {
			m.used[t.Name] = true
		}
	}
}

// leadingDense returns a description whose layers after the first few have experts as feed-forward parts.
func leadingDense(m *model, d decoder, e experts) decoder {
	first := m.countOr("leading_dense_block_count", 0, 0, maxLayers)
	return withExperts(d, e, func(i int64) bool { return i >= first })
}

// withExperts returns a description with experts as the feed-forward parts of some layers.
func withExperts(d decoder, e experts, in func(layer int64) bool) decoder {
	dense := d.layer.(sequence)
	ffn := dense[1].(residual)
	ffn.body = e
	d.layer = byLayer(func(i int64) part {
		if in(i) {
			return sequence{dense[0], ffn}
		}
		return dense
	})
	return d
}
