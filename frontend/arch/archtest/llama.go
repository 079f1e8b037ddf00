package archtest

// like is a model like llama, with differences.
type like struct {
	name, arch string
	keys       func(m *maker)
	layer      func(m *maker, prefix string) // further tensors
	attn, ffn  func(m *maker, prefix string) // in place of the usual tensors
	outside    func(m *maker)                // further tensors outside of layers
	kinds      int                           // of layers, after which they begin again; 0: all are equal
	output     string                        // "tied" if there is no output matrix
	shared     string                        // "shared" if the feed-forward part has no norm of its own
	norms      string                        // "layer" for layer norms with biases, "unbiased" without, "bare" for those without tensors; "none" for no norms before parts
}

func (l like) model(times int) Model {
	layers := times * max(2, l.kinds)
	m := start(l.name, l.arch, layers)
	m.set("attention.head_count_kv", uint32(kvHeads))
	m.set("feed_forward_length", uint32(inner))
	if l.norms == "layer" || l.norms == "unbiased" || l.norms == "bare" {
		m.set("attention.layer_norm_epsilon", float32(1e-5))
	} else {
		m.set("attention.layer_norm_rms_epsilon", float32(1e-5))
	}
	if l.keys != nil {
		l.keys(m)
	}
	m.matrix("token_embd", Vocab, Width)
	m.layers(layers, func(prefix string) { l.addLayer(m, prefix) })
	l.addNorm(m, "output_norm")
	if l.output != "tied" {
		m.matrix("output", Vocab, Width)
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
	m.norm(name, Width)
	if l.norms == "layer" {
		m.bias(name, Width)
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
	m.matrix(prefix+"attn_q", headCount*headSize, Width)
	m.matrix(prefix+"attn_k", kvHeads*headSize, Width)
	m.matrix(prefix+"attn_v", kvHeads*headSize, Width)
	m.matrix(prefix+"attn_output", Width, headCount*headSize)
}

func fused(m *maker, prefix string) {
	m.matrix(prefix+"attn_qkv", (headCount+2*kvHeads)*headSize, Width)
	m.matrix(prefix+"attn_output", Width, headCount*headSize)
}

func separateOfEqualHeads(m *maker, prefix string) {
	for _, name := range []string{"attn_q", "attn_k", "attn_v", "attn_output"} {
		m.matrix(prefix+name, Width, Width)
	}
}

func fusedOfEqualHeads(m *maker, prefix string) {
	m.matrix(prefix+"attn_qkv", 3*Width, Width)
	m.matrix(prefix+"attn_output", Width, Width)
}

func fusedBiases(m *maker, prefix string) {
	m.bias(prefix+"attn_qkv", 3*Width)
	outBias(m, prefix)
}

func outBias(m *maker, prefix string) { m.bias(prefix+"attn_output", Width) }

func normsOfEachHead(m *maker, prefix string) {
	m.norm(prefix+"attn_q_norm", headCount, headSize)
	m.norm(prefix+"attn_k_norm", kvHeads, headSize)
}

func wideNorms(m *maker, prefix string) {
	m.norm(prefix+"attn_q_norm", Width)
	m.norm(prefix+"attn_k_norm", Width)
}

func postNorms(m *maker, prefix string) {
	m.norm(prefix+"post_attention_norm", Width)
	m.norm(prefix+"post_ffw_norm", Width)
}

func gatedInOne(m *maker, prefix string) {
	m.matrix(prefix+"ffn_up", 2*inner, Width)
	m.matrix(prefix+"ffn_down", Width, inner)
}

func plainBiases(m *maker, prefix string) {
	m.bias(prefix+"ffn_up", inner)
	m.bias(prefix+"ffn_down", Width)
}

func sharedExpert(m *maker, prefix string) {
	m.matrix(prefix+"ffn_gate_shexp", 48, Width)
	m.matrix(prefix+"ffn_up_shexp", 48, Width)
	m.matrix(prefix+"ffn_down_shexp", Width, 48)
}

func qkvBiases(m *maker, prefix string) {
	m.bias(prefix+"attn_q", headCount*headSize)
	m.bias(prefix+"attn_k", kvHeads*headSize)
	m.bias(prefix+"attn_v", kvHeads*headSize)
}

func headNorms(m *maker, prefix string) {
	m.norm(prefix+"attn_q_norm", headSize)
	m.norm(prefix+"attn_k_norm", headSize)
}

func gated(m *maker, prefix string) {
	m.matrix(prefix+"ffn_gate", inner, Width)
	m.matrix(prefix+"ffn_up", inner, Width)
	m.matrix(prefix+"ffn_down", Width, inner)
}

func plain(m *maker, prefix string) {
	m.matrix(prefix+"ffn_up", inner, Width)
	m.matrix(prefix+"ffn_down", Width, inner)
}

func experts(m *maker, prefix string) { expertsOf(expertCount)(m, prefix) }

func expertsOf(n int) func(m *maker, prefix string) {
	return func(m *maker, prefix string) {
		m.matrix(prefix+"ffn_gate_inp", n, Width)
		m.matrix(prefix+"ffn_gate_exps", n, inner, Width)
		m.matrix(prefix+"ffn_up_exps", n, inner, Width)
		m.matrix(prefix+"ffn_down_exps", n, Width, inner)
	}
}

func expertKeys(m *maker) {
	m.set("expert_count", uint32(expertCount))
	m.set("expert_used_count", uint32(expertsUsed))
}

func expertWidth(m *maker) {
	expertKeys(m)
	m.set("expert_feed_forward_length", uint32(inner))
}

func all(fs ...func(m *maker, prefix string)) func(m *maker, prefix string) {
	return func(m *maker, prefix string) {
		for _, f := range fs {
			f(m, prefix)
		}
	}
}

func ropeFactors(m *maker) { m.add("rope_freqs.weight", 3, 2, headSize/2) }

func yarn(m *maker) {
	m.set("rope.freq_base", float32(50000))
	m.set("rope.scaling.type", "yarn")
	m.set("rope.scaling.factor", float32(4))
	m.set("rope.scaling.original_context_length", uint32(64))
}
