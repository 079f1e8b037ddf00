package arch

import (
	"math"

	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/ir"
)

// apertus is Apertus: a llama with rotations of halves, norms of each head of queries and keys, and a plain feed-forward part
// whose activation has numbers of each layer.
func apertus(m *model) decoder {
	heads := m.attentionOfNormedHeads(m.equalHeads())
	heads.out = optional
	positive, negative := m.layerNumbers("xielu.alpha_p"), m.layerNumbers("xielu.alpha_n")
	linear, limit := m.layerNumbers("xielu.beta"), m.layerNumbers("xielu.eps")
	up, down := product{"ffn_up", m.feedForward(), m.embd}, product{"ffn_down", m.embd, m.feedForward()}
	attn := residual{at: "attn", in: m.rmsNorm("attn_norm"), body: heads}
	return decoder{
		layer: byLayer(func(i int64) part {
			act := xielu{
				positive: softplus(positive(i)),
				negative: linear(i) + softplus(negative(i)),
				linear:   linear(i),
				limit:    min(limit(i), 0),
			}
			return sequence{attn, residual{at: "ffn", in: m.rmsNorm("ffn_norm"), body: sequence{up, act, down}}}
		}),
		norm:   m.rmsNorm("output_norm"),
		output: output{tied: tiedNever},
	}
}

// softplus is ln(1 + e^x).
func softplus(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// xielu is positive·x² + linear·x above 0, and negative·(e^min(x, limit) - 1 - x) + linear·x elsewhere (Huang, Schlag 2025,
// "Deriving Activation Functions Using Integration").
type xielu struct{ positive, negative, linear, limit float64 }

// apply multiplies by the two numbers that layers differ in as weights of a sum, so that the nodes of all layers are equal
// and become a repeat.
func (p xielu) apply(g *graph, x *ir.Value) *ir.Value {
	f, name := g.f, g.name("xielu")
	above := f.ReLU(x)
	below := f.Scale(f.Sub(f.Exp(f.Clamp(x, negativeInfinity, float32(p.limit))), f.Sub(x, above)), 1, -1)
	if p.limit < 0 { // where x is above 0, below is e^limit - 1
		isAbove := f.Clamp(f.Scale(x, 1e30, 0), 0, 1)
		below = f.Sub(below, f.Scale(isAbove, float32(math.Expm1(p.limit)), 0))
	}
	g.declareLiteral(name, []float64{p.positive, p.negative}, 2, 1)
	both := splitHeads(f, f.Concat(1, f.Square(above), below), 2, mustConst(x.Type.Inner()))
	sum := f.ExpertsSum(both, f.MatMul(g.onePerToken(x), f.Weight(name)))
	return f.Add(sum, f.Scale(x, float32(p.linear), 0))
}

// mustConst returns a dimension that depends on no symbol.
func mustConst(d ir.Dim) int64 {
	n, _ := d.IsConst()
	return n
}

// layerNumbers reads a key without the architecture's name: a number, or a list with one for each layer.
func (m *model) layerNumbers(key string) func(layer int64) float64 {
	k, ok := m.file.Key(key)
	if !ok || k.Type != gguf.Array {
		x, err := m.file.Float(key)
		m.fail(err)
		m.checkFinite(key, x)
		return func(int64) float64 { return x }
	}
	list := listOfLayers(m, key, m.file.Floats)
	for _, x := range list {
		m.checkFinite(key, x)
	}
	if m.errs.Any() {
		return func(int64) float64 { return 0 }
	}
	return func(layer int64) float64 { return list[layer] }
}

// checkFinite reports numbers with which results overflow.
func (m *model) checkFinite(key string, x float64) {
	const most = 1e4
	if !(math.Abs(x) <= most) {
		m.fail(m.file.KeyError(key, "%g is outside of ±%g: the file is damaged", x, most))
	}
}
