package arch

import (
	"math"
	"slices"

	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/ir"
)

// gemma4 is Gemma 4: gemma3 with heads of another size in layers with a sliding window, norms of values, and scores without
// a factor. Values may be what norms of keys read, the last layers may read keys and values of earlier ones, layers may
// have inputs of their own made of the tokens (E2B, E4B), and experts beside the feed-forward part (26B).
func gemma4(m *model) decoder {
	windowed := m.windowList(windowPattern)
	inputs := m.count("embedding_length_per_layer_input", 0, maxWidth)
	attn, ffn := m.gemma4Attention(windowed), m.gemma4FeedForward()
	return decoder{
		embedding: embedding{scale: math.Sqrt(float64(m.embd)), inputs: layerInputs{inputs, m.rmsNorm("per_layer_proj_norm").over(inputs)}},
		layer: byLayer(func(i int64) part {
			s := sequence{
				residual{at: "attn", in: m.rmsNorm("attn_norm"), body: attn(i), out: m.rmsNorm("post_attention_norm")},
				residual{at: "ffn", body: ffn(i), out: m.rmsNorm("post_ffw_norm")},
			}
			if inputs > 0 {
				s = append(s, residual{at: "input", body: ownInput{inputs}, out: m.rmsNorm("post_norm")})
			}
			return append(s, outputScale{})
		}),
		norm:   m.rmsNorm("output_norm"),
		output: output{cap: m.atLeastZeroOr("final_logit_softcapping", usualLogitCap)},
	}
}

// usualLogitCap is that of files that state none (llama.cpp, src/llama-hparams.h).
const usualLogitCap = 30

// gemma4Attention describes the attention of each layer.
func (m *model) gemma4Attention(windowed []bool) func(layer int64) attention {
	count := m.perLayer("attention.head_count", 1, maxHeads)
	kv, usual := count, int64(1)
	if m.file.Has(m.key("attention.head_count_kv")) {
		kv = m.perLayer("attention.head_count_kv", 1, maxHeads)
	}
	if !m.errs.Any() {
		usual = max(1, m.embd/count(0))
	}
	global, local := attention{scale: 1, qkv: valuesOfKeys{}}, attention{scale: 1, qkv: valuesOfKeys{}, window: m.window()}
	global.heads.k, global.heads.v = m.countOr("attention.key_length", usual, 1, maxWidth), m.countOr("attention.value_length", usual, 1, maxWidth)
	local.heads.k, local.heads.v = m.count("attention.key_length_swa", 1, maxWidth), m.count("attention.value_length_swa", 1, maxWidth)
	if slices.Contains(windowed, false) {
		m.tensor("rope_freqs.weight", global.heads.k/2)
	}
	global.rope, local.rope = m.rope(global.heads.k, halves), m.shortWindowRope(local.heads.k, global.heads.k, halves)
	owners := m.layers - m.countOr("attention.shared_kv_layers", 0, 0, maxLayers)
	of := func(i int64) attention {
		a := &global
		if windowed[i] {
			a = &local
		}
		own := *a
		own.heads.count, own.heads.kv = count(i), kv(i)
		own.qNorm, own.kNorm, own.vNorm = m.rmsNorm("attn_q_norm").over(own.heads.k), m.rmsNorm("attn_k_norm").over(own.heads.k), m.bareRMSNorm(own.heads.v)
		if i >= owners {
			owner := owners - 1
			if windowed[i] {
				owner--
			}
			own.of = &owner
			if n := kv(owner); n != own.heads.kv && !m.errs.Any() {
				m.fail(m.file.KeyError(m.key("attention.head_count_kv"), "%d in layer %d, which reads the keys of layer %d with %d: the file is damaged", own.heads.kv, i, owner, n))
			}
		}
		return own
	}
	if !m.errs.Any() {
		m.checkOwners(owners, windowed)
		for i := range m.layers {
			m.checkHeads(of(i).heads)
		}
	}
	return of
}

// checkHeads reports heads that do not fit each other.
func (m *model) checkHeads(h heads) {
	if h.count%h.kv != 0 {
		m.fail(m.file.KeyError(m.key("attention.head_count"), "%d heads cannot share %d key/value heads evenly: the file is damaged", h.count, h.kv))
	}
	if h.k != h.v {
		m.fail(m.file.KeyError(m.key("attention.value_length"), "heads of %d elements for values and %d for keys: those of %s are equal; the file is damaged", h.v, h.k, m.arch))
	}
	m.checkKV(h)
}

// checkOwners checks that the last layers with keys and values of their own are one with a window and one without: those
// that the layers after them read.
func (m *model) checkOwners(owners int64, windowed []bool) {
	if owners < m.layers && (owners < 2 || !windowed[owners-2] || windowed[owners-1]) {
		m.fail(m.file.KeyError(m.key("attention.shared_kv_layers"), "%d of %d: the layers before them are not one with a sliding window and one without; the file is damaged", m.layers-owners, m.layers))
	}
}

// gemma4FeedForward describes the feed-forward part of each layer.
func (m *model) gemma4FeedForward() func(layer int64) part {
	size := m.perLayer("feed_forward_length", 1, maxWidth)
	var e experts
	if m.inSomeLayer("ffn_gate_inp.weight") {
		e = m.experts(m.count("expert_feed_forward_length", 1, maxWidth), softmaxOfChosen)
		e.act, e.scales = gelu, optional
		e.in, e.router = m.rmsNorm("pre_ffw_norm_2"), scaledRouter{m.rmsNorm("")}
	}
	m.ignore("expert_count", "expert_used_count") // of files without experts
	return func(i int64) part {
		dense := residual{at: "ffn", in: m.rmsNorm("ffn_norm"), body: gated{act: gelu, size: size(i)}}
		if !m.has(layerName(i, "ffn_gate_inp.weight")) {
			return branches{dense}
		}
		dense.out = m.rmsNorm("post_ffw_norm_1")
		return branches{dense, residual{at: "ffn", body: e, out: m.rmsNorm("post_ffw_norm_2")}}
	}
}

// scaledRouter makes what a router reads: a norm with factors of its own, divided by the root of the width.
type scaledRouter struct{ norm norm }

func (r scaledRouter) apply(g *graph, x *ir.Value) *ir.Value {
	y := g.f.RMSNorm(x, g.vector("ffn_gate_inp.scale", g.embd), float32(r.norm.eps))
	return g.scaled(y, 1/math.Sqrt(float64(g.embd)))
}

// branches is the sum of what residuals make of x.
type branches []residual

func (b branches) apply(g *graph, x *ir.Value) *ir.Value {
	sum := b[0].branch(g, x)
	for _, r := range b[1:] {
		sum = g.f.Add(sum, r.branch(g, x))
	}
	return sum
}

// valuesOfKeys is separate for files that lack attn_v in some layers, where the product for keys also gives values.
type valuesOfKeys struct{}

func (valuesOfKeys) project(g *graph, h heads, x *ir.Value) func(role) *ir.Value {
	made := separate{}.project(g, h, x)
	return func(r role) *ir.Value {
		if r == values && !g.has(g.name("attn_v.weight")) {
			r = keys
		}
		return made(r)
	}
}

// layerInputs are rows that each layer has for each token: of a table with the rows of all layers, plus a product of the
// embedding.
type layerInputs struct {
	width int64 // of a layer; 0: there are none
	norm  norm  // of the product
}

// Tensors of layerInputs.
const (
	inputsName  = "per_layer_token_embd.weight"
	productName = "per_layer_model_proj.weight"
)

// of returns the rows of all layers [tokens, layers, width].
func (p layerInputs) of(g *graph, x *ir.Value) *ir.Value {
	f, all := g.f, g.layers*p.width
	inLayers := func(y *ir.Value) *ir.Value { return splitHeads(f, y, g.layers, p.width) }
	rows := g.scaled(inLayers(f.Gather(g.matrix(inputsName, g.vocab, all), g.in.tokens)), math.Sqrt(float64(p.width)))
	made := inLayers(g.scaled(f.MatMul(x, g.matrix(productName, all, g.embd)), 1/math.Sqrt(float64(g.embd))))
	return g.scaled(f.Add(p.norm.apply(g, made), rows), math.Sqrt2/2)
}

// ownInput is proj·(gelu(gate·x) * the layer's input).
type ownInput struct{ width int64 }

func (p ownInput) apply(g *graph, x *ir.Value) *ir.Value {
	gate := gelu(g.f, g.linear(x, "inp_gate", p.width, g.embd, absent))
	return g.linear(g.f.Mul(gate, g.ownInput()), "proj", g.embd, p.width, absent)
}

// ownInput returns the rows of the layer. It is a sum with weights of 0 and 1, and no slice, so that the nodes of all layers
// are equal and become a repeat.
func (g *graph) ownInput() *ir.Value {
	f, name := g.f, g.name("inputs.own")
	choice := make([]float64, g.layers)
	choice[g.layer] = 1
	g.declareLiteral(name, choice, g.layers, 1)
	return f.ExpertsSum(g.inputs, f.MatMul(g.onePerToken(joinHeads(f, g.inputs)), f.Weight(name)))
}

// onePerToken returns a 1 for each row of x.
func (g *graph) onePerToken(x *ir.Value) *ir.Value {
	return g.f.Scale(g.f.Slice(x, 1, ir.Const(0), ir.Const(1)), 0, 1)
}

// outputScale multiplies the state by a number of the layer, if the file has one.
type outputScale struct{}

func (outputScale) apply(g *graph, x *ir.Value) *ir.Value {
	if !g.has(g.name("layer_output_scale.weight")) {
		return x
	}
	f, share := g.f, g.f.Mul(g.onePerToken(x), g.vector("layer_output_scale.weight", 1))
	return f.ExpertsSum(f.Reshape(x, x.Type.Shape[0], ir.Const(1), ir.Const(g.embd)), share) // of one expert with a weight
}

// perLayer reads an integer hyperparameter that may be a list with an entry for each layer.
func (m *model) perLayer(name string, lo, hi int64) func(layer int64) int64 {
	k, ok := m.file.Key(m.key(name))
	if !ok || k.Type != gguf.Array {
		n := m.count(name, lo, hi)
		return func(int64) int64 { return n }
	}
	list := listOfLayers(m, m.key(name), m.file.Ints)
	for i, n := range list {
		if n < lo || n > hi {
			m.fail(m.file.KeyError(m.key(name), "%d of layer %d is outside of %d to %d: the file is damaged or of a kind that is not supported", n, i, lo, hi))
		}
	}
	if m.errs.Any() {
		return func(int64) int64 { return lo }
	}
	return func(layer int64) int64 { return list[layer] }
}
