package archtest

import "fmt"

// Keys and tensors that some of the models have.

// Sizes of latent attention.
const (
	latentQueries = 24 // of the vector that queries are made of
	latentRank    = 40
	latentStill   = 12
	latentTurned  = 8
	latentValue   = 20
)

func latentSizes(m *maker) {
	m.set("attention.q_lora_rank", uint32(latentQueries))
	m.set("attention.kv_lora_rank", uint32(latentRank))
	m.set("rope.dimension_count", uint32(latentTurned))
}

func latent(m *maker) {
	latentSizes(m)
	yarn(m)
	sharedKeys(m)
}

func latentParts(m *maker, prefix string) {
	m.matrix(prefix+"attn_q_a", latentQueries, m.width)
	m.norm(prefix+"attn_q_a_norm", latentQueries)
	m.matrix(prefix+"attn_q_b", headCount*(latentStill+latentTurned), latentQueries)
	m.matrix(prefix+"attn_kv_a_mqa", latentRank+latentTurned, m.width)
	m.norm(prefix+"attn_kv_a_norm", latentRank)
	m.matrix(prefix+"attn_output", m.width, headCount*latentValue)
}

func latentWhole(m *maker, prefix string) {
	m.matrix(prefix+"attn_kv_b", headCount*(latentStill+latentValue), latentRank)
}

func limitedAlibi(m *maker) {
	m.set("attention.clamp_kqv", float32(0.7))
	m.set("attention.max_alibi_bias", float32(8))
}

// sixHeads have slopes that are not all powers of one.
func sixHeads(m *maker) {
	m.set("attention.head_count", uint32(6))
	m.set("attention.head_count_kv", uint32(3))
	m.set("attention.key_length", uint32(m.headSize))
	m.set("attention.value_length", uint32(m.headSize))
}

func separateOfSixHeads(m *maker, prefix string) {
	m.matrix(prefix+"attn_q", 6*m.headSize, m.width)
	m.matrix(prefix+"attn_k", 3*m.headSize, m.width)
	m.matrix(prefix+"attn_v", 3*m.headSize, m.width)
	m.matrix(prefix+"attn_output", m.width, 6*m.headSize)
}

func sinks(m *maker, prefix string) { m.add(prefix+"attn_sinks.weight", 0, 2, headCount) }

// expertBiases are large enough that gates and what they multiply exceed their limits.
func expertBiases(m *maker, prefix string) {
	m.bias(prefix+"ffn_gate_inp", expertCount)
	m.add(prefix+"ffn_gate_exps.bias", 0, 9, expertCount, m.inner)
	m.add(prefix+"ffn_up_exps.bias", 0, 9, expertCount, m.inner)
	m.add(prefix+"ffn_down_exps.bias", 0, 0.3, expertCount, m.width)
}

func oneHeadPerKey(m *maker) { m.set("attention.head_count_kv", uint32(headCount)) }

func partOfHeads(m *maker) { m.set("rope.dimension_count", uint32(4)) }

func graniteScales(m *maker) {
	m.set("embedding_scale", float32(3))
	m.set("residual_scale", float32(0.4))
	m.set("attention.scale", float32(0.125))
	m.set("logit_scale", float32(4))
}

func longRope(original int) func(m *maker) {
	return func(m *maker) {
		m.set("rope.scaling.original_context_length", uint32(original))
		m.set("rope.scaling.attn_factor", float32(1.19))
		m.set("rope.dimension_count", uint32(12))
	}
}

func longFactors(m *maker) {
	m.add("rope_factors_long.weight", 3, 2, 6)
	m.add("rope_factors_short.weight", 1.2, 0.2, 6)
}

func sharedKeys(m *maker) {
	expertWidth(m)
	m.set("expert_shared_count", uint32(2))
	m.set("expert_weights_scale", float32(1))
	m.set("leading_dense_block_count", uint32(1))
}

// sharedExperts adds two experts as one.
func sharedExperts(m *maker, prefix string) {
	m.matrix(prefix+"ffn_gate_shexp", 2*m.inner, m.width)
	m.matrix(prefix+"ffn_up_shexp", 2*m.inner, m.width)
	m.matrix(prefix+"ffn_down_shexp", m.width, 2*m.inner)
}

// afterDense is a gated part in the first layer.
func afterDense(ffn func(m *maker, prefix string)) func(m *maker, prefix string) {
	return func(m *maker, prefix string) {
		if prefix == "blk.0." {
			gated(m, prefix)
			return
		}
		ffn(m, prefix)
	}
}

func fusedBias(m *maker, prefix string) { m.bias(prefix+"attn_qkv", (headCount+2*kvHeads)*m.headSize) }

func sections(m *maker) { m.set("rope.dimension_sections", []int32{3, 3, 2, 0}) }

// choiceBias is added to the probabilities of experts for their choice.
func choiceBias(m *maker, prefix string) { m.bias(prefix+"exp_probs_b", expertCount) }

func postNorm(m *maker, prefix string) { m.norm(prefix+"post_attention_norm", m.width) }

func normBiases(m *maker, prefix string) {
	m.bias(prefix+"attn_norm", m.width)
	m.bias(prefix+"ffn_norm", m.width)
}

func glmExperts(m *maker) {
	sharedKeys(m)
	m.set("expert_weights_scale", float32(2.5))
	m.set("expert_weights_norm", true)
	m.set("rope.dimension_count", uint32(8))
}

func gemma4Keys(m *maker) {
	m.set("attention.sliding_window", uint32(window))
	m.set("attention.sliding_window_pattern", perLayer(m, func(i int) bool { return i%2 == 0 }))
	m.set("attention.key_length", uint32(m.headSize))
	m.set("attention.value_length", uint32(m.headSize))
	m.set("attention.key_length_swa", uint32(m.headSize/2))
	m.set("attention.value_length_swa", uint32(m.headSize/2))
	m.set("rope.freq_base", float32(1e6))
	m.set("rope.dimension_count", uint32(m.headSize))
	m.set("rope.dimension_count_swa", uint32(m.headSize/2))
}

// gemma4Attention has heads of half the size in layers with a window. The others make values of the product for keys.
func gemma4Attention(m *maker, prefix string, kv int) {
	size := m.headSize
	for _, k := range m.Keys {
		if k.Name == m.arch+".attention.sliding_window_pattern" && k.Value.([]bool)[layerOf(prefix)] {
			size /= 2
			m.matrix(prefix+"attn_v", kv*size, m.width)
		}
	}
	m.matrix(prefix+"attn_q", headCount*size, m.width)
	m.matrix(prefix+"attn_k", kv*size, m.width)
	m.matrix(prefix+"attn_output", m.width, headCount*size)
	m.norm(prefix+"attn_q_norm", size)
	m.norm(prefix+"attn_k_norm", size)
}

// layerCount returns the number of layers.
func (m *maker) layerCount() int {
	for _, k := range m.Keys {
		if k.Name == m.arch+".block_count" {
			return int(k.Value.(uint32))
		}
	}
	return 0
}

// gemma4Sharers is the number of layers that read keys and values of earlier ones.
const gemma4Sharers = 2

// innerOf is wider in those layers.
func (m *maker) innerOf(layer int) int {
	if layer < m.layerCount()-gemma4Sharers {
		return m.inner
	}
	return 2 * m.inner
}

// perLayer returns a list with a value for each layer.
func perLayer[T any](m *maker, of func(layer int) T) []T {
	list := make([]T, m.layerCount())
	for i := range list {
		list[i] = of(i)
	}
	return list
}

// layerOf returns the number of the layer of a prefix.
func layerOf(prefix string) (n int) {
	fmt.Sscanf(prefix, "blk.%d.", &n)
	return n
}
