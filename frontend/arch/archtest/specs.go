package archtest

var specs = []spec{
	like{name: "llama-biases", arch: "llama", layer: all(qkvBiases, func(m *maker, prefix string) {
		m.bias(prefix+"attn_output", m.width)
		m.bias(prefix+"ffn_gate", m.inner)
		m.bias(prefix+"ffn_up", m.inner)
		m.bias(prefix+"ffn_down", m.width)
	})}.spec(),
	like{name: "llama-factors-tied", arch: "llama", outside: ropeFactors, output: "tied"}.spec(),
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
	like{name: "qwen2vl", arch: "qwen2vl", layer: qkvBiases, keys: sections}.spec(),
	like{name: "qwen3vl", arch: "qwen3vl", layer: headNorms, keys: sections, output: "tied"}.spec(),
	like{name: "qwen3vlmoe", arch: "qwen3vlmoe", keys: func(m *maker) {
		expertWidth(m)
		sections(m)
	}, layer: headNorms, ffn: experts}.spec(),
	like{name: "qwen2moe", arch: "qwen2moe", keys: func(m *maker) {
		expertWidth(m)
		m.set("expert_shared_feed_forward_length", uint32(48))
	}, layer: qkvBiases, ffn: all(experts, func(m *maker, prefix string) {
		m.add(prefix+"ffn_gate_inp_shexp.weight", 0, 0.3, m.width)
		sharedExpert(m, prefix)
	})}.spec(),
	like{name: "gpt2", arch: "gpt2", norms: "layer", keys: oneHeadPerKey, attn: all(fusedOfEqualHeads, fusedBiases), ffn: all(plain, plainBiases),
		outside: func(m *maker) { m.matrix("position_embd", Positions, m.width) }}.spec(),
	like{name: "starcoder2", arch: "starcoder2", norms: "layer", layer: all(qkvBiases, outBias), ffn: all(plain, plainBiases), output: "tied"}.spec(),
	like{name: "gptneox", arch: "gptneox", norms: "layer", keys: func(m *maker) {
		oneHeadPerKey(m)
		m.set("use_parallel_residual", true)
		m.set("rope.dimension_count", uint32(4))
	}, attn: all(fusedOfEqualHeads, fusedBiases), ffn: all(plain, plainBiases)}.spec(),
	like{name: "gptneox-sequential", arch: "gptneox", norms: "layer", keys: func(m *maker) {
		oneHeadPerKey(m)
		m.set("use_parallel_residual", false)
		m.set("rope.dimension_count", uint32(8))
	}, attn: all(fusedOfEqualHeads, fusedBiases), ffn: all(plain, plainBiases)}.spec(),
	like{name: "phi2", arch: "phi2", norms: "layer", shared: "shared", keys: func(m *maker) {
		oneHeadPerKey(m)
		m.set("rope.dimension_count", uint32(8))
	}, attn: all(fusedOfEqualHeads, fusedBiases), ffn: all(plain, plainBiases), outside: func(m *maker) { m.bias("output", Vocab) }}.spec(),
	like{name: "phi2-separate", arch: "phi2", norms: "layer", shared: "shared", keys: func(m *maker) {
		m.set("rope.dimension_count", uint32(8))
	}, layer: all(qkvBiases, outBias), ffn: all(plain, plainBiases), outside: func(m *maker) { m.bias("output", Vocab) }}.spec(),
	like{name: "phi3", arch: "phi3", attn: fused, ffn: gatedInOne}.spec(),
	like{name: "phi3-long", arch: "phi3", attn: fused, ffn: gatedInOne, keys: longRope(64), outside: longFactors, output: "tied"}.spec(),
	like{name: "phi3-short", arch: "phi3", attn: fused, ffn: gatedInOne, keys: longRope(Positions), outside: longFactors}.spec(),
	like{name: "phimoe", arch: "phimoe", keys: func(m *maker) {
		expertKeys(m)
		m.set("rope.scaling.original_context_length", uint32(64))
		m.set("rope.scaling.attn_factor", float32(1.19))
	}, layer: all(qkvBiases, outBias, normBiases), ffn: experts, outside: func(m *maker) {
		m.bias("output_norm", m.width)
		m.bias("output", Vocab)
		m.add("rope_factors_long.weight", 3, 2, m.headSize/2)
		m.add("rope_factors_short.weight", 1.2, 0.2, m.headSize/2)
	}}.spec(),
	like{name: "stablelm", arch: "stablelm", norms: "layer", keys: partOfHeads, layer: qkvBiases}.spec(),
	like{name: "stablelm-12b", arch: "stablelm", norms: "layer", shared: "shared", keys: partOfHeads, layer: normsOfEachHead}.spec(),
	like{name: "falcon-7b", arch: "falcon", norms: "layer", shared: "shared", attn: fused, ffn: plain, output: "tied"}.spec(),
	like{name: "falcon-40b", arch: "falcon", norms: "layer", shared: "shared", attn: fused, ffn: plain, layer: func(m *maker, prefix string) {
		m.norm(prefix+"attn_norm_2", m.width)
		m.bias(prefix+"attn_norm_2", m.width)
	}}.spec(),
	like{name: "granite", arch: "granite", keys: graniteScales}.spec(),
	like{name: "granite-unturned", arch: "granite", keys: func(m *maker) {
		graniteScales(m)
		m.set("rope.scaling.finetuned", false)
	}}.spec(),
	like{name: "granitemoe", arch: "granitemoe", keys: func(m *maker) {
		graniteScales(m)
		expertKeys(m)
		m.set("expert_shared_feed_forward_length", uint32(48))
	}, ffn: all(experts, sharedExpert)}.spec(),
	like{name: "olmo2", arch: "olmo2", norms: "none", keys: oneHeadPerKey, attn: separateOfEqualHeads, layer: all(wideNorms, postNorms)}.spec(),
	like{name: "olmo3", arch: "olmo2", norms: "none", kinds: 4, keys: func(m *maker) {
		oneHeadPerKey(m)
		yarn(m)
		m.set("attention.sliding_window", uint32(window))
	}, attn: separateOfEqualHeads, layer: all(wideNorms, postNorms)}.spec(),
	like{name: "olmoe", arch: "olmoe", keys: func(m *maker) {
		oneHeadPerKey(m)
		expertKeys(m)
	}, attn: separateOfEqualHeads, ffn: experts, layer: wideNorms}.spec(),
	like{name: "command-r", arch: "command-r", norms: "unbiased", shared: "shared", output: "tied", keys: func(m *maker) { m.set("logit_scale", float32(0.25)) }}.spec(),
	like{name: "gemma", arch: "gemma", output: "tied"}.spec(),
	like{name: "bloom", arch: "bloom", norms: "layer", keys: oneHeadPerKey, attn: all(fusedOfEqualHeads, fusedBiases), ffn: all(plain, plainBiases),
		outside: func(m *maker) {
			m.norm("token_embd_norm", m.width)
			m.bias("token_embd_norm", m.width)
		}, output: "tied"}.spec(),
	like{name: "mpt", arch: "mpt", norms: "unbiased", keys: limitedAlibi, attn: fused, ffn: plain, output: "tied"}.spec(),
	like{name: "mpt-biases", arch: "mpt", norms: "layer", keys: func(m *maker) {
		oneHeadPerKey(m)
		m.set("attention.max_alibi_bias", float32(0))
	},
		attn: all(fusedOfEqualHeads, fusedBiases), ffn: all(plain, plainBiases), outside: func(m *maker) { m.matrix("position_embd", Positions, m.width) }}.spec(),
	like{name: "refact", arch: "refact", keys: sixHeads, attn: separateOfSixHeads}.spec(),
	like{name: "jais", arch: "jais", norms: "layer", keys: func(m *maker) {
		oneHeadPerKey(m)
		m.set("attention.max_alibi_bias", float32(6))
	}, attn: all(fusedOfEqualHeads, fusedBiases), layer: func(m *maker, prefix string) {
		m.bias(prefix+"ffn_gate", m.inner)
		plainBiases(m, prefix)
	}}.spec(),
	like{name: "olmo", arch: "olmo", norms: "bare", keys: func(m *maker) { m.set("attention.clamp_kqv", float32(0.7)) }}.spec(),
	absorbed("deepseek2", func(*maker) {}),
	absorbed("deepseek2-long", func(m *maker) {
		m.set("attention.temperature_scale", float32(0.2))
		m.set("attention.temperature_length", uint32(3))
	}),
	like{name: "deepseek2-whole", arch: "deepseek2", keys: func(m *maker) {
		latent(m)
		m.set("attention.head_count_kv", uint32(headCount))
		m.set("attention.key_length", uint32(latentStill+latentTurned))
		m.set("attention.value_length", uint32(latentValue))
		m.set("expert_weights_scale", float32(1.5))
	}, attn: all(latentParts, latentWhole), ffn: afterDense(all(experts, sharedExperts))}.spec(),
	like{name: "minicpm3", arch: "minicpm3", keys: func(m *maker) {
		latentSizes(m)
		m.set("attention.head_count_kv", uint32(headCount))
		m.set("attention.key_length", uint32(latentStill+latentTurned))
		m.set("attention.value_length", uint32(latentValue))
	}, attn: all(latentParts, latentWhole), outside: func(m *maker) {
		m.add("rope_factors_long.weight", 3, 2, latentTurned/2)
		m.add("rope_factors_short.weight", 1.2, 0.2, latentTurned/2)
	}, output: "tied"}.spec(),
	like{name: "gemma2", arch: "gemma2", output: "tied", keys: func(m *maker) {
		m.set("attention.sliding_window", uint32(window))
		m.set("attn_logit_softcapping", float32(2))
		m.set("final_logit_softcapping", float32(3))
	}, layer: postNorms}.spec(),
	like{name: "gpt-oss", arch: "gpt-oss", shared: "shared", keys: func(m *maker) {
		yarn(m)
		expertWidth(m)
		m.set("attention.sliding_window", uint32(window))
	}, layer: all(qkvBiases, outBias, sinks), ffn: all(experts, expertBiases, postNorm)}.spec(),
	like{name: "gemma3", arch: "gemma3", output: "tied", keys: func(m *maker) {
		m.set("attention.sliding_window", uint32(window))
		m.set("rope.freq_base", float32(1e6))
		m.set("rope.scaling.type", "linear")
		m.set("rope.scaling.factor", float32(8))
	}, layer: all(headNorms, postNorms), kinds: 6}.spec(),
	like{name: "gemma4", arch: "gemma4", output: "tied", kinds: 4, keys: func(m *maker) {
		gemma4Keys(m)
		m.set("final_logit_softcapping", float32(3))
		m.set("attention.shared_kv_layers", uint32(gemma4Sharers))
		m.set("embedding_length_per_layer_input", uint32(m.headSize))
		m.set("feed_forward_length", perLayer(m, func(i int) int32 { return int32(m.innerOf(i)) }))
	}, attn: func(m *maker, prefix string) { gemma4Attention(m, prefix, kvHeads) }, ffn: func(m *maker, prefix string) {
		n := m.innerOf(layerOf(prefix))
		m.matrix(prefix+"ffn_gate", n, m.width)
		m.matrix(prefix+"ffn_up", n, m.width)
		m.matrix(prefix+"ffn_down", m.width, n)
	}, layer: all(postNorms, func(m *maker, prefix string) {
		m.matrix(prefix+"inp_gate", m.headSize, m.width)
		m.matrix(prefix+"proj", m.width, m.headSize)
		m.norm(prefix+"post_norm", m.width)
		m.norm(prefix+"layer_output_scale", 1)
	}), outside: func(m *maker) {
		ropeFactors(m)
		m.matrix("per_layer_token_embd", Vocab, m.layerCount()*m.headSize)
		m.matrix("per_layer_model_proj", m.layerCount()*m.headSize, m.width)
		m.norm("per_layer_proj_norm", m.headSize)
	}}.spec(),
	like{name: "gemma4-experts", arch: "gemma4", kinds: 3, keys: func(m *maker) {
		gemma4Keys(m)
		expertWidth(m)
		m.set("embedding_length_per_layer_input", uint32(0))
		m.set("attention.head_count_kv", perLayer(m, func(i int) int32 { return int32(kvHeads - i%3/2) }))
		m.set("attention.sliding_window_pattern", perLayer(m, func(i int) bool { return i%3 < 2 }))
	}, attn: func(m *maker, prefix string) { gemma4Attention(m, prefix, kvHeads-layerOf(prefix)%3/2) },
		ffn: all(gated, experts), layer: all(postNorms, func(m *maker, prefix string) {
			m.norm(prefix+"pre_ffw_norm_2", m.width)
			m.norm(prefix+"post_ffw_norm_1", m.width)
			m.norm(prefix+"post_ffw_norm_2", m.width)
			m.add(prefix+"ffn_gate_inp.scale", 1, 0.4, m.width)
			m.add(prefix+"ffn_down_exps.scale", 1, 0.4, expertCount)
		}), outside: ropeFactors}.spec(),
	like{name: "cohere2", arch: "cohere2", norms: "unbiased", shared: "shared", output: "tied", keys: func(m *maker) {
		m.set("logit_scale", float32(0.25))
		m.set("attention.sliding_window", uint32(window))
	}, kinds: 4}.spec(),
	like{name: "glm4", arch: "glm4", keys: func(m *maker) { m.set("rope.dimension_count", uint32(8)) },
		attn: all(separate, qkvBiases), ffn: gatedInOne, layer: postNorms}.spec(),
	like{name: "glm4-sections", arch: "glm4", keys: func(m *maker) {
		m.set("rope.dimension_count", uint32(8))
		m.set("rope.dimension_sections", []int32{2, 1, 1, 0})
	}, attn: all(separate, qkvBiases), ffn: gatedInOne, layer: postNorms}.spec(),
	like{name: "glm4moe", arch: "glm4moe", shared: "shared", keys: glmExperts, layer: all(qkvBiases, headNorms, postNorm),
		ffn: afterDense(all(experts, sharedExperts, choiceBias))}.spec(),
	like{name: "glm4moe-air", arch: "glm4moe", shared: "shared", keys: func(m *maker) {
		glmExperts(m)
		m.set("expert_gating_func", uint32(1))
		m.set("rope.dimension_sections", []int32{2, 1, 1, 0})
	}, layer: postNorm, ffn: afterDense(all(experts, sharedExperts, choiceBias)), output: "tied"}.spec(),
	like{name: "internlm2", arch: "internlm2"}.spec(),
	like{name: "xverse", arch: "xverse"}.spec(),
	like{name: "ernie4_5", arch: "ernie4_5", output: "tied"}.spec(),
	like{name: "exaone", arch: "exaone", outside: ropeFactors}.spec(),
	like{name: "arcee", arch: "arcee", ffn: plain}.spec(),
	like{name: "apertus", arch: "apertus", keys: func(m *maker) {
		for i, name := range []string{"alpha_p", "alpha_n"} {
			m.Keys = append(m.Keys, Key{"xielu." + name, perLayer(m, func(layer int) float32 { return 0.3 - 0.2*float32(i+layer) })})
		}
		m.Keys = append(m.Keys, Key{"xielu.beta", float32(0.5)}, Key{"xielu.eps", float32(-0.02)})
	}, layer: all(headNorms, qkvBiases, outBias), ffn: plain, outside: ropeFactors}.spec(),
	like{name: "smollm3", arch: "smollm3", output: "tied", kinds: 4}.spec(),
	like{name: "seed_oss", arch: "seed_oss", shared: "shared", layer: all(qkvBiases, postNorm)}.spec(),
	like{name: "chatglm", arch: "chatglm", keys: partOfHeads, attn: all(fused, fusedBias), ffn: gatedInOne}.spec(),
	like{name: "codeshell", arch: "codeshell", norms: "layer", attn: all(fused, fusedBias, outBias), ffn: all(plain, plainBiases)}.spec(),
	like{name: "codeshell-one", arch: "codeshell", norms: "layer", output: "alone", attn: all(fused, fusedBias, outBias), ffn: all(plain, plainBiases)}.spec(),
	like{name: "qwen", arch: "qwen", keys: oneHeadPerKey, attn: fusedOfEqualHeads, layer: func(m *maker, prefix string) {
		m.bias(prefix+"attn_qkv", 3*m.width)
	}, ffn: func(m *maker, prefix string) {
		m.matrix(prefix+"ffn_gate", m.inner/2, m.width)
		m.matrix(prefix+"ffn_up", m.inner/2, m.width)
		m.matrix(prefix+"ffn_down", m.width, m.inner/2)
	}}.spec(),
	like{name: "hunyuan-dense", arch: "hunyuan-dense", layer: headNorms, output: "tied"}.spec(),
	like{name: "exaone4", arch: "exaone4", norms: "none", layer: all(headNorms, postNorms)}.spec(),
	like{name: "bailingmoe", arch: "bailingmoe", keys: func(m *maker) {
		sharedKeys(m)
		m.set("expert_weights_norm", true)
		m.set("leading_dense_block_count", uint32(0))
		m.set("rope.dimension_count", uint32(m.headSize))
	}, ffn: all(experts, sharedExperts)}.spec(),
	like{name: "deepseek", arch: "deepseek", keys: sharedKeys, ffn: afterDense(all(experts, sharedExperts))}.spec(),
	like{name: "bailingmoe2", arch: "bailingmoe2", keys: func(m *maker) {
		oneHeadPerKey(m)
		sharedKeys(m)
		m.set("expert_shared_feed_forward_length", uint32(48))
		m.set("expert_shared_count", uint32(1))
		m.set("expert_count", uint32(2*expertCount))
		m.set("expert_group_count", uint32(4))
		m.set("expert_group_used_count", uint32(2))
		m.set("expert_weights_scale", float32(2.5))
		m.set("expert_weights_norm", true)
		m.set("expert_gating_func", uint32(2))
		m.set("rope.dimension_count", uint32(8))
	}, attn: fusedOfEqualHeads, layer: headNorms, ffn: afterDense(all(expertsOf(2*expertCount), sharedExpert, func(m *maker, prefix string) {
		m.bias(prefix+"exp_probs_b", 2*expertCount)
	}))}.spec(),
	like{name: "dots1", arch: "dots1", keys: func(m *maker) {
		oneHeadPerKey(m)
		sharedKeys(m)
		m.set("expert_weights_scale", float32(2.5))
		m.set("expert_weights_norm", true)
		m.set("expert_gating_func", uint32(2))
	}, attn: separateOfEqualHeads, layer: headNorms, ffn: afterDense(all(experts, sharedExperts, choiceBias))}.spec(),
	like{name: "minimax-m2", arch: "minimax-m2", keys: func(m *maker) {
		expertWidth(m)
		m.set("expert_gating_func", uint32(2))
		m.set("rope.dimension_count", uint32(8))
	}, layer: func(m *maker, prefix string) {
		m.norm(prefix+"attn_q_norm", headCount*m.headSize)
		m.norm(prefix+"attn_k_norm", kvHeads*m.headSize)
	}, ffn: all(experts, choiceBias)}.spec(),
	ministral("mistral3", Positions),
	ministral("mistral3-long", 4),
	like{name: "ernie4_5-moe", arch: "ernie4_5-moe", keys: func(m *maker) {
		sharedKeys(m)
		m.set("expert_shared_feed_forward_length", uint32(48))
		m.set("interleave_moe_layer_step", uint32(1))
	}, ffn: afterDense(all(experts, sharedExpert, choiceBias))}.spec(),
	like{name: "hunyuan-moe", arch: "hunyuan-moe", keys: func(m *maker) {
		expertWidth(m)
		m.set("expert_shared_feed_forward_length", uint32(48))
	}, layer: headNorms, ffn: all(experts, sharedExpert)}.spec(),
	like{name: "baichuan-7b", arch: "baichuan", keys: func(m *maker) { m.set("attention.max_alibi_bias", float32(0)) }}.spec(),
	like{name: "baichuan-13b", arch: "baichuan", keys: func(m *maker) {
		sixHeads(m)
		m.set("attention.max_alibi_bias", float32(8))
	}, attn: separateOfSixHeads}.spec(),
	like{name: "grok-1", arch: "grok", keys: expertKeys, ffn: experts, layer: func(m *maker, prefix string) {
		m.norm(prefix+"attn_output_norm", m.width)
		m.norm(prefix+"layer_output_norm", m.width)
	}, output: "tied"}.spec(),
	like{name: "grok-2", arch: "grok", keys: func(m *maker) {
		expertWidth(m)
		m.set("embedding_scale", float32(3))
		m.set("attention.output_scale", float32(0.3))
		m.set("attn_logit_softcapping", float32(2))
		m.set("router_logit_softcapping", float32(30))
		m.set("final_logit_softcapping", float32(3))
		m.set("logit_scale", float32(0.4))
	}, ffn: all(gated, experts), layer: func(m *maker, prefix string) {
		m.norm(prefix+"attn_output_norm", m.width)
		m.norm(prefix+"post_ffw_norm", m.width)
	}}.spec(),
	like{name: "orion", arch: "orion", norms: "layer"}.spec(),
	like{name: "nemotron", arch: "nemotron", norms: "layer", keys: partOfHeads, layer: all(qkvBiases, outBias), ffn: all(plain, plainBiases)}.spec(),
	like{name: "minicpm", arch: "minicpm", output: "tied"}.spec(),
	like{name: "starcoder", arch: "starcoder", norms: "layer", keys: func(m *maker) { m.set("attention.head_count_kv", uint32(1)) },
		attn: func(m *maker, prefix string) {
			m.matrix(prefix+"attn_qkv", (headCount+2)*m.headSize, m.width)
			m.bias(prefix+"attn_qkv", (headCount+2)*m.headSize)
			m.matrix(prefix+"attn_output", m.width, m.width)
			outBias(m, prefix)
		}, ffn: all(plain, plainBiases), outside: func(m *maker) { m.matrix("position_embd", Positions, m.width) }}.spec(),
}

// absorbed makes a DeepSeek with a matrix of keys and one of values for each head.
func absorbed(name string, keys func(m *maker)) spec {
	return like{name: name, arch: "deepseek2", keys: func(m *maker) {
		keys(m)
		latent(m)
		m.set("attention.head_count_kv", uint32(1))
		m.set("attention.key_length", uint32(latentRank+latentTurned))
		m.set("attention.value_length", uint32(latentRank))
		m.set("attention.key_length_mla", uint32(latentStill+latentTurned))
		m.set("attention.value_length_mla", uint32(latentValue))
		m.set("expert_weights_scale", float32(2.5))
		m.set("expert_weights_norm", true)
		m.set("expert_gating_func", uint32(2))
		m.set("expert_count", uint32(2*expertCount))
		m.set("expert_group_count", uint32(4))
		m.set("expert_group_used_count", uint32(2))
		m.set("rope.scaling.yarn_log_multiplier", float32(0.0707))
	}, attn: all(latentParts, func(m *maker, prefix string) {
		m.matrix(prefix+"attn_k_b", headCount, latentRank, latentStill)
		m.matrix(prefix+"attn_v_b", headCount, latentValue, latentRank)
	}), ffn: afterDense(all(expertsOf(2*expertCount), sharedExperts, func(m *maker, prefix string) {
		m.bias(prefix+"exp_probs_b", 2*expertCount)
	}))}.spec()
}

// ministral makes a Ministral 3 whose queries grow after so many positions.
func ministral(name string, original int) spec {
	return like{name: name, arch: "mistral3", keys: func(m *maker) {
		yarn(m)
		m.set("rope.scaling.original_context_length", uint32(original))
		m.set("rope.scaling.yarn_log_multiplier", float32(0.5))
		m.set("rope.scaling.yarn_beta_fast", float32(16))
		m.set("rope.scaling.yarn_beta_slow", float32(2))
		m.set("attention.temperature_scale", float32(0.1))
	}}.spec()
}
