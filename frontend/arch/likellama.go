package arch

import "math"

// internlm2 is InternLM 2 and 2.5, a llama.
func internlm2(m *model) decoder {
	return llamaLayers(m, neighbours, gated{act: silu, size: m.feedForward()})
}

// xverse is XVERSE, a llama.
func xverse(m *model) decoder {
	return llamaLayers(m, neighbours, gated{act: silu, size: m.feedForward()})
}

// ernie45 is the dense ERNIE 4.5, a llama.
func ernie45(m *model) decoder {
	return llamaLayers(m, neighbours, gated{act: silu, size: m.feedForward()})
}

// exaone is EXAONE 3, a llama with rotations of halves.
func exaone(m *model) decoder {
	return llamaLayers(m, halves, gated{act: silu, size: m.feedForward()})
}

// arcee is AFM, a llama with a plain feed-forward part of squares.
func arcee(m *model) decoder {
	return llamaLayers(m, neighbours, plain{act: reluSquared, size: m.feedForward()})
}

// smollm3 is SmolLM 3, a llama that rotates nothing in every fourth layer.
func smollm3(m *model) decoder {
	d := llamaLayers(m, neighbours, gated{act: silu, size: m.feedForward(), bias: optional})
	turned := d.layer.(sequence)
	attn := turned[0].(residual)
	still := attn.body.(attention)
	still.rope = nil
	attn.body = still
	d.layer = byLayer(func(i int64) part {
		if i%4 == 3 {
			return sequence{attn, turned[1]}
		}
		return turned
	})
	return d
}

// seedOSS is Seed-OSS, a llama with rotations of halves and another name of a norm.
func seedOSS(m *model) decoder {
	h := m.heads()
	return decoder{
		layer: sequence{
			residual{at: "attn", in: m.rmsNorm("attn_norm"), body: attention{
				heads: h,
				qkv:   separate{bias: optional},
				rope:  m.rope(h.k, halves),
				scale: h.scale(),
			}},
			residual{at: "ffn", in: m.rmsNorm("post_attention_norm"), body: gated{act: silu, size: m.feedForward()}},
		},
		norm: m.rmsNorm("output_norm"),
	}
}

// orion is Orion, a llama with layer norms and rotations of halves.
func orion(m *model) decoder {
	h := m.heads()
	return decoder{
		layer: sequence{
			residual{at: "attn", in: m.layerNorm("attn_norm", required), body: attention{
				heads: h,
				qkv:   separate{bias: optional},
				rope:  m.rope(h.k, halves),
				scale: h.scale(),
			}},
			residual{at: "ffn", in: m.layerNorm("ffn_norm", required), body: gated{act: silu, size: m.feedForward()}},
		},
		norm:   m.layerNorm("output_norm", required),
		output: output{tied: tiedNever},
	}
}

// hunyuanDense is the dense Hunyuan, a llama with rotations of halves and norms of each head after them.
func hunyuanDense(m *model) decoder {
	m.countOr("expert_count", 0, 0, 1) // older files state one, and that it is used
	m.countOr("expert_used_count", 0, 0, 1)
	h, base := m.heads(), m.positiveOr(ropeBase, usualBase)
	if alpha := m.atLeastZeroOr("rope.scaling.alpha", 0); alpha > 0 && h.k > 2 {
		base *= math.Pow(alpha, float64(h.k)/float64(h.k-2)) // "NTK-aware" scaling (llama.cpp, src/models/hunyuan-vl.cpp)
	}
	return hunyuanLayers(m, h, m.ropeOfBase(h.k, halves, ropeBase, base, m.ropeScaling), gated{act: silu, size: m.feedForward()})
}

func hunyuanLayers(m *model, h heads, turns *rope, ffn part) decoder {
	return decoder{
		layer: sequence{
			residual{at: "attn", in: m.rmsNorm("attn_norm"), body: attention{
				heads:  h,
				qkv:    separate{bias: optional},
				rope:   turns,
				qAfter: m.rmsNorm("attn_q_norm").over(h.k),
				kAfter: m.rmsNorm("attn_k_norm").over(h.k),
				scale:  h.scale(),
			}},
			residual{at: "ffn", in: m.rmsNorm("ffn_norm"), body: ffn},
		},
		norm: m.rmsNorm("output_norm"),
	}
}
