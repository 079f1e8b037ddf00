package archtest

var specs = []spec{
	like{name: "llama-biases", arch: "llama", layer: all(qkvBiases, func(m *maker, prefix string) {
		m.bias(prefix+"attn_output", Width)
		m.bias(prefix+"ffn_gate", inner)
		m.bias(prefix+"ffn_up", inner)
		m.bias(prefix+"ffn_down", Width)
	})}.spec(),
	like{name: "llama-factors-tied", arch: "llama", outside: factors("rope_freqs"), output: "tied"}.spec(),
	like{name: "llama-linear", arch: "llama", keys: func(m *maker) {
		m.set("rope.scaling.type", "linear")
		m.set("rope.scaling.factor", float32(4))
	}}.spec(),
	like{name: "llama-yarn", arch: "llama", keys: yarn}.spec(),
	like{name: "mixtral", arch: "llama", keys: expertKeys, ffn: experts}.spec(),
	like{name: "qwen2", arch: "qwen2", layer: qkvBiases, output: "tied"}.spec(),
	like{name: "qwen2-yarn", arch: "qwen2", layer: qkvBiases, keys: yarn}.spec(),
	like{name: "qwen3", arch: "qwen3", layer: headNorms}.spec(),
	like{name: "qwen3moe", arch: "qwen3moe", keys: expertWidth, layer: headNorms, ffn: experts}.spec(),
}
