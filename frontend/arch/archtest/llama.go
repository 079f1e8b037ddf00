package archtest

// like is a model like llama, with differences.
type like struct {
	name, arch string
	keys       func(m *maker)
	layer      func(m *maker, prefix string) // further tensors
	attn, ffn  func(m *maker, prefix string) // in place of the usual tensors
	outside    func(m *maker)                // further tensors outside of layers
	kinds      int                           // of layers, after which they begin again; 0: all are equal
	output     string                        // "tied" if there is no output matrix, "alone" if there is no other for the embedding
	shared     string                        // "shared" if the feed-forward part has no norm of its own
	norms      string                        // "layer" for layer norms with biases, "unbiased" without, "bare" for those without tensors; "none" for no norms before parts
}

func (l like) model(times int, size sizes) Model {
	layers := times * max(2, l.kinds)
	m := start(l.name, l.arch, layers, size)
	m.set("attention.head_count_kv", uint32(kvHeads))
	m.set("feed_forward_length", uint32(m.inner))
	if l.norms == "layer" || l.norms == "unbiased" || l.norms == "bare" {
		m.set("attention.layer_norm_epsilon", float32(1e-5))
	} else {
		m.set("attention.layer_norm_rms_epsilon", float32(1e-5))
	}
	if l.keys != nil {
		l.keys(m)
	}
	if l.output != "alone" {
		m.matrix("token_embd", Vocab, m.width)
	}
	m.layers(layers, func(prefix string) { l.addLayer(m, prefix) })
	l.addNorm(m, "output_norm")
	if l.output != "tied" {
		m.matrix("output", Vocab, m.width)
	}
	if l.outside != nil {
		l.outside(m)
	}
	return m.Model
}

func (l like) addNorm(m *maker, name string) {
	if l.norms == "bare" {
		return
	}
	m.norm(name, m.width)
	if l.norms == "layer" {
		m.bias(name, m.width)
	}
}

func (l like) addLayer(m *maker, prefix string) {
	if l.norms != "none" {
		l.addNorm(m, prefix+"attn_norm")
	}
	attn, ffn := l.attn, l.ffn
	if attn == nil {
		attn = separate
	}
	if ffn == nil {
		ffn = gated
	}
	attn(m, prefix)
	if l.norms != "none" && l.shared == "" {
		l.addNorm(m, prefix+"ffn_norm")
	}
	ffn(m, prefix)
	if l.layer != nil {
		l.layer(m, prefix)
	}
}

func (l like) spec() spec { return l.model }

func separate(m *maker, prefix string) {
	m.matrix(prefix+"attn_q", headCount*m.headSize, m.width)
	m.matrix(prefix+"attn_k", kvHeads*m.headSize, m.width)
	m.matrix(prefix+"attn_v", kvHeads*m.headSize, m.width)
	m.matrix(prefix+"attn_output", m.width, headCount*m.headSize)
}

func fused(m *maker, prefix string) {
	m.matrix(prefix+"attn_qkv", (headCount+2*kvHeads)*m.headSize, m.width)
	m.matrix(prefix+"attn_output", m.width, headCount*m.headSize)
}

func separateOfEqualHeads(m *maker, prefix string) {
	for _, name := range []string{"attn_q", "attn_k", "attn_v", "attn_output"} {
		m.matrix(prefix+name, m.width, m.width)
	}
}

func fusedOfEqualHeads(m *maker, prefix string) {
	m.matrix(prefix+"attn_qkv", 3*m.width, m.width)
	m.matrix(prefix+"attn_output", m.width, m.width)
}

func fusedBiases(m *maker, prefix string) {
	m.bias(prefix+"attn_qkv", 3*m.width)
	outBias(m, prefix)
}

func outBias(m *maker, prefix string) { m.bias(prefix+"attn_output", m.width) }

func normsOfEachHead(m *maker, prefix string) {
	m.norm(prefix+"attn_q_norm", headCount, m.headSize)
	m.norm(prefix+"attn_k_norm", kvHeads, m.headSize)
}

func wideNorms(m *maker, prefix string) {
	m.norm(prefix+"attn_q_norm", m.width)
	m.norm(prefix+"attn_k_norm", m.width)
}

func postNorms(m *maker, prefix string) {
	m.norm(prefix+"post_attention_norm", m.width)
	m.norm(prefix+"post_ffw_norm", m.width)
}

func gatedInOne(m *maker, prefix string) {
	m.matrix(prefix+"ffn_up", 2*m.inner, m.width)
	m.matrix(prefix+"ffn_down", m.width, m.inner)
}

func plainBiases(m *maker, prefix string) {
	m.bias(prefix+"ffn_up", m.inner)
	m.bias(prefix+"ffn_down", m.width)
}

func sharedExpert(m *maker, prefix string) {
	m.matrix(prefix+"ffn_gate_shexp", 48, m.width)
	m.matrix(prefix+"ffn_up_shexp", 48, m.width)
	m.matrix(prefix+"ffn_down_shexp", m.width, 48)
}

func qkvBiases(m *maker, prefix string) {
	m.bias(prefix+"attn_q", headCount*m.headSize)
	m.bias(prefix+"attn_k", kvHeads*m.headSize)
	m.bias(prefix+"attn_v", kvHeads*m.headSize)
}

func headNorms(m *maker, prefix string) {
	m.norm(prefix+"attn_q_norm", m.headSize)
	m.norm(prefix+"attn_k_norm", m.headSize)
}

func gated(m *maker, prefix string) {
	m.matrix(prefix+"ffn_gate", m.inner, m.width)
	m.matrix(prefix+"ffn_up", m.inner, m.width)
	m.matrix(prefix+"ffn_down", m.width, m.inner)
}

func plain(m *maker, prefix string) {
	m.matrix(prefix+"ffn_up", m.inner, m.width)
	m.matrix(prefix+"ffn_down", m.width, m.inner)
}

func experts(m *maker, prefix string) { expertsOf(expertCount)(m, prefix) }

func expertsOf(n int) func(m *maker, prefix string) {
	return func(m *maker, prefix string) {
		m.matrix(prefix+"ffn_gate_inp", n, m.width)
		m.matrix(prefix+"ffn_gate_exps", n, m.inner, m.width)
		m.matrix(prefix+"ffn_up_exps", n, m.inner, m.width)
		m.matrix(prefix+"ffn_down_exps", n, m.width, m.inner)
	}
}

func expertKeys(m *maker) {
	m.set("expert_count", uint32(expertCount))
	m.set("expert_used_count", uint32(expertsUsed))
}

func expertWidth(m *maker) {
	expertKeys(m)
	m.set("expert_feed_forward_length", uint32(m.inner))
}

func all(fs ...func(m *maker, prefix string)) func(m *maker, prefix string) {
	return func(m *maker, prefix string) {
		for _, f := range fs {
			f(m, prefix)
		}
	}
}

func ropeFactors(m *maker) { m.add("rope_freqs.weight", 3, 2, m.headSize/2) }

func yarn(m *maker) {
	m.set("rope.freq_base", float32(50000))
	m.set("rope.scaling.type", "yarn")
	m.set("rope.scaling.factor", float32(4))
	m.set("rope.scaling.original_context_length", uint32(64))
}
