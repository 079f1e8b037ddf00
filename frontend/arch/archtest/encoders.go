package archtest

import "fmt"

// Encoders returns models of the architectures that give embeddings and no logits.
func Encoders() []Model {
	var models []Model
	for _, s := range encoders {
		models = append(models, s(1, small))
	}
	return models
}

var encoders = []spec{
	encoder("bert-cls", "bert", 2, all(separateOfEqualHeads, equalBiases), all(plain, plainBiases)),
	encoder("bert-mean", "bert", 1, all(fusedOfEqualHeads, fusedBiases), all(plain, plainBiases)),
	encoder("nomic-bert", "nomic-bert", 1, fusedOfEqualHeads, gated),
	ranks("bert-rank", func(m *maker) { dense(m, m.width); labels(m, 3) }),
	ranks("bert-class", func(m *maker) { labels(m, 2) }),
	ranks("bert-dense", func(m *maker) { dense(m, 1) }),
	with(encoder("nomic-bert-moe", "nomic-bert-moe", 1, all(fusedOfEqualHeads, fusedBiases), func(m *maker, prefix string) {
		if layerOf(prefix)%2 == 0 {
			all(plain, plainBiases)(m, prefix)
			return
		}
		m.matrix(prefix+"ffn_gate_inp", expertCount, m.width)
		m.matrix(prefix+"ffn_up_exps", expertCount, m.inner, m.width)
		m.matrix(prefix+"ffn_down_exps", expertCount, m.width, m.inner)
	}), func(m *maker) {
		expertKeys(m)
		m.set("moe_every_n_layers", uint32(2))
	}),
	encoder("jina-bert-v2", "jina-bert-v2", 1, all(separateOfEqualHeads, equalBiases), all(gated, downBias)),
	encoder("jina-bert-v2-code", "jina-bert-v2", 1, all(separateOfEqualHeads, equalBiases, func(m *maker, prefix string) {
		afterNorm(m, prefix+"attn_q_norm")
		afterNorm(m, prefix+"attn_k_norm")
		afterNorm(m, prefix+"attn_norm_2")
	}), all(gatedInOne, func(m *maker, prefix string) {
		m.bias(prefix+"ffn_up", 2*m.inner)
		downBias(m, prefix)
	})),
	like{name: "modern-bert", arch: "modern-bert", norms: "unbiased", output: "tied", kinds: 3, keys: func(m *maker) {
		oneHeadPerKey(m)
		m.set("attention.causal", false)
		m.set("attention.sliding_window", uint32(window))
		m.set("pooling_type", uint32(1))
		m.set("rope.freq_base", float32(160000))
	}, attn: fusedOfEqualHeads, ffn: gatedInOne, outside: func(m *maker) { m.norm("token_embd_norm", m.width) }}.spec(),
	like{name: "gemma-embedding", arch: "gemma-embedding", output: "tied", kinds: 6, keys: func(m *maker) {
		m.set("attention.sliding_window", uint32(window))
		m.set("pooling_type", uint32(1))
		m.set("rope.freq_base", float32(1e6))
		m.set("rope.scaling.type", "linear")
		m.set("rope.scaling.factor", float32(8))
		m.set("dense_2_feat_in", uint32(m.width))
		m.set("dense_2_feat_out", uint32(m.inner))
		m.set("dense_3_feat_in", uint32(m.inner))
		m.set("dense_3_feat_out", uint32(m.width))
	}, layer: all(headNorms, postNorms), outside: func(m *maker) {
		m.matrix("dense_2", m.inner, m.width)
		m.matrix("dense_3", m.width, m.inner)
	}}.spec(),
}

// ranks makes a BERT with a classification head.
func ranks(name string, head func(m *maker)) spec {
	return func(times int, size sizes) Model {
		bert := encoder(name, "bert", 4, all(separateOfEqualHeads, equalBiases), all(plain, plainBiases))
		m := &maker{bert(times, size), size, "bert"}
		head(m)
		return m.Model
	}
}

// with makes a model with further keys.
func with(s spec, keys func(m *maker)) spec {
	return func(times int, size sizes) Model {
		model := s(times, size)
		m := &maker{model, size, model.Arch()}
		keys(m)
		return m.Model
	}
}

func downBias(m *maker, prefix string) { m.bias(prefix+"ffn_down", m.width) }

// dense adds the matrix before the labels, or that of the only label.
func dense(m *maker, rows int) {
	m.matrix("cls", rows, m.width)
	m.bias("cls", rows)
}

// labels adds the matrix of so many labels.
func labels(m *maker, n int) {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint("LABEL_", i)
	}
	m.set("classifier.output_labels", names)
	m.matrix("cls.output", n, m.width)
	m.bias("cls.output", n)
}

// encoder makes a model with a kind of pooling.
func encoder(name, arch string, pooling uint32, attn, ffn func(m *maker, prefix string)) spec {
	return func(times int, size sizes) Model {
		m := start(name, arch, 2*times, size)
		m.set("feed_forward_length", uint32(m.inner))
		m.set("attention.layer_norm_epsilon", float32(1e-5))
		m.set("attention.causal", false)
		m.set("pooling_type", pooling)
		m.set("rope.freq_base", float32(1000))
		m.Keys = append(m.Keys, Key{"tokenizer.ggml.token_type_count", uint32(2)})
		m.matrix("token_embd", Vocab, m.width)
		m.matrix("token_types", 2, m.width)
		if arch == "bert" {
			m.matrix("position_embd", Positions, m.width)
		}
		afterNorm(m, "token_embd_norm")
		m.layers(2*times, func(prefix string) {
			attn(m, prefix)
			afterNorm(m, prefix+"attn_output_norm")
			ffn(m, prefix)
			afterNorm(m, prefix+"layer_output_norm")
		})
		return m.Model
	}
}

func afterNorm(m *maker, name string) {
	m.norm(name, m.width)
	m.bias(name, m.width)
}

func equalBiases(m *maker, prefix string) {
	for _, name := range []string{"attn_q", "attn_k", "attn_v", "attn_output"} {
		m.bias(prefix+name, m.width)
	}
}
