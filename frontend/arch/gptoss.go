package arch

import "github.com/ggmlc/ggmlc/ir"

// gptOSS is gpt-oss: a sliding window in every other layer, a sink of each head's scores, experts whose activation is
// limited, and biases everywhere.
func gptOSS(m *model) decoder {
	h := m.heads()
	global := attention{
		heads: h,
		qkv:   separate{bias: required},
		rope:  m.rope(h.k, halves),
		scale: h.scale(),
		sinks: required,
		out:   required,
	}
	local := global
	local.window, local.rope = m.window(), m.windowRope(h.k, halves, global.rope)
	windowed := m.windowedLayers(2)
	e := m.experts(m.expertFeedForward(), softmaxOfScores)
	e.join, e.biases = limitedSwiGLU, required
	ffn := residual{at: "ffn", in: m.rmsNorm("post_attention_norm"), body: e}
	return decoder{
		layer: byLayer(func(i int64) part {
			attn := residual{at: "attn", in: m.rmsNorm("attn_norm"), body: global}
			if windowed(i) {
				attn.body = local
			}
			return sequence{attn, ffn}
		}),
		norm:   m.rmsNorm("output_norm"),
		output: output{tied: tiedNever},
	}
}

// Constants of limitedSwiGLU, as in OpenAI's gpt-oss (gpt_oss/torch/model.py).
const (
	swigluLimit = 7
	swigluAlpha = 1.702
)

// limitedSwiGLU is gate·sigmoid(alpha·gate)·(up+1), where the gate is at most the limit and up is limited on both
// sides.
func limitedSwiGLU(f *ir.FuncBuilder, gate, up *ir.Value) *ir.Value {
	gate = f.Clamp(gate, negativeInfinity, swigluLimit)
	up = f.Scale(f.Clamp(up, -swigluLimit, swigluLimit), 1, 1)
	return f.Mul(f.Mul(gate, f.Sigmoid(f.Scale(gate, swigluAlpha, 0))), up)
}
