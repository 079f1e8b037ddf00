package arch

import (
	"math"
	"slices"

	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Encoders. Each token reads all tokens of its text, those after it included. Their module has one function:
//
//	@embed(tokens i32[n], pos i32[n], last i32[n], slot i32[n], lengths i32[S]) -> (hidden f32[n,width])
//
// It takes at most S texts, one after the other. For text s of k tokens pos is 0, 1, …, k-1, last is k-1 everywhere,
// slot is s, and lengths[s] is k. Attention reads the positions of its text up to last. The rows of keys and values are
// states, which all layers share: nothing is kept for the next call. hidden has the states of tokens, of which the
// runtime makes embeddings. Models that rank texts also have a parameter first i32[texts] with the row of each text's
// first token, and a result scores f32[texts,labels].

// encoderName is the function of encoders.
const encoderName = "embed"

// buildEncoder returns the module of an encoder.
func (m *model) buildEncoder(d decoder) (*ir.Module, error) {
	m.refuseUnread()
	if err := m.err(); err != nil {
		return nil, err
	}
	m.b = ir.NewBuilder(moduleName(m))
	m.b.Source(SourceName, m.file.Name(), m.file.Size())
	n := m.b.Symbol("tokens", 1, m.batch)
	f := m.b.Func(encoderName)
	g := &graph{model: m, f: f, in: m.encoderInputs(f, n, d.pooling), tables: make(map[*rope]*ir.Value), versions: make(map[string]*ir.Value), layer: -1}
	for i, r := range m.ropes {
		g.tables[r] = f.RopeTable(g.in.pos, g.ropeFreqs(i, r), r.scale)
	}
	x := d.embedding.apply(g)
	for g.layer = range m.layers {
		x = d.layer.apply(g, x)
	}
	g.layer = -1
	f.At("output")
	x = d.norm.apply(g, x)
	if d.head != nil {
		x = d.head.apply(g, x)
	}
	f.Return("hidden", x)
	e := ir.Encoder{Func: encoderName, Tokens: g.in.tokens.Index, Pos: g.in.pos.Index, Last: g.in.reach.Index, Slot: g.in.slot.Index,
		Lengths: g.in.lengths.Index, First: -1, Hidden: 0, Pooling: d.pooling, Scores: -1}
	if d.pooling == ir.PoolRank {
		f.Return("scores", g.scores(x))
		e.First, e.Scores = g.in.first.Index, 1
	}
	m.leftover()
	if err := m.err(); err != nil {
		return nil, err
	}
	m.b.Encoder(e)
	mod, err := m.b.Finish()
	if err != nil {
		return nil, err
	}
	mod.SetMeta("encoder.arch", m.arch)
	return mod, m.advise(mod)
}

// encoderInputs declares the inputs of a function that takes texts of n tokens.
func (m *model) encoderInputs(f *ir.FuncBuilder, n ir.Dim, p ir.Pooling) step {
	perToken, most := ir.Type{DType: dtype.I32, Shape: []ir.Dim{n}}, int64(m.o.Sequences)
	s := step{
		tokens:  f.Param("tokens", perToken),
		pos:     f.Param("pos", perToken),
		reach:   f.Param("last", perToken),
		slot:    f.Param("slot", perToken),
		lengths: f.Param("lengths", ir.Type{DType: dtype.I32, Shape: ir.Dims(most)}),
	}
	if p == ir.PoolRank {
		texts := ir.Const(1)
		if most > 1 {
			texts = m.b.Symbol("texts", 1, most)
		}
		s.first = f.Param("first", ir.Type{DType: dtype.I32, Shape: []ir.Dim{texts}})
	}
	return s
}

// encoderPooling is poolingOfEncoder for files that have to state that tokens read those after them. One without a kind that has
// a classification head ranks texts: there is nothing else that heads are for.
func (m *model) encoderPooling() ir.Pooling {
	if !m.denied("attention.causal") {
		m.fail(m.file.KeyError(m.key("attention.causal"), "absent or true: %s models whose tokens read only those before them are not supported", m.arch))
	}
	if !m.file.Has(m.key("pooling_type")) && (m.has(denseName+".weight") || m.has(labelsName+".weight")) {
		return ir.PoolRank
	}
	return m.poolingOfEncoder()
}

// poolingOfEncoder reads the kind of pooling, by the number that files have for it (llama.h, llama_pooling_type).
func (m *model) poolingOfEncoder() ir.Pooling {
	kinds := append(slices.Clone(poolings), ir.PoolRank)
	n := m.countOr("pooling_type", 0, 0, math.MaxUint32)
	if n >= int64(len(kinds)) {
		m.fail(m.file.KeyError(m.key("pooling_type"), "pooling %d is not supported: 0 to %d are", n, len(kinds)-1))
		return ir.PoolNone
	}
	return kinds[n]
}

// Names of the tensors of a classification head.
const (
	denseName  = "cls"
	labelsName = "cls.output"
)

// scores is what a classification head makes of the states of first tokens: output·tanh(dense·x). Files may lack one of
// both matrices; without output, dense has a row for each label.
func (g *graph) scores(x *ir.Value) *ir.Value {
	dense, output, labels := g.has(denseName+".weight"), g.has(labelsName+".weight"), g.labels()
	if !dense && !output {
		g.fail(g.file.TensorError(labelsName+".weight", "missing, as is %s.weight: pooling_type 4 ranks texts, which needs one of them", denseName))
	}
	y := g.f.Gather(x, g.in.first)
	if dense {
		rows := g.embd
		if !output {
			rows = labels
		}
		y = g.f.Tanh(g.linear(y, denseName, rows, g.embd, optional))
	}
	if output {
		y = g.linear(y, labelsName, labels, g.embd, optional)
	}
	return y
}

// labels returns the number of scores of a text: that of the names which the file has for them, or 1.
func (m *model) labels() int64 {
	key := m.key("classifier.output_labels")
	k, ok := m.file.Key(key)
	switch {
	case !ok:
		return 1
	case k.Type != gguf.Array || k.Count < 1 || k.Count > maxLabels:
		m.fail(m.file.KeyError(key, "no list of 1 to %d names: the file is damaged", maxLabels))
		return 1
	}
	return int64(k.Count)
}

// maxLabels is more than any classification head has.
const maxLabels = 1 << 16

// afterwards is norm(x + body(x)).
type afterwards struct {
	at    string // in the layer, as explain names it
	body  part
	norm  norm
	again norm // of the result plus x once more, if there is one
}

func (p afterwards) apply(g *graph, x *ir.Value) *ir.Value {
	g.f.At(g.name(p.at))
	y := p.norm.apply(g, g.f.Add(p.body.apply(g, x), x))
	if p.again.kind == noNorm {
		return y
	}
	return p.again.apply(g, g.f.Add(y, x))
}

// bert is BERT and what is made like it, such as bge, e5 and MiniLM: an encoder with learned positions, norms after
// parts, a plain feed-forward part, and biases everywhere.
func bert(m *model) decoder {
	return m.bertLike(plain{act: gelu, size: m.feedForward(), bias: optional}, nil, m.learned())
}

// nomicBert is nomic-embed: bert with rotations of halves and a gated feed-forward part.
func nomicBert(m *model) decoder {
	h := m.equalHeads()
	return m.bertLike(gated{act: silu, size: m.feedForward()}, m.rope(h.k, halves), noPositions)
}

// nomicBertMoE is nomic-embed 2: bert with rotations of halves and, in one of several layers, experts without gates.
func nomicBertMoE(m *model) decoder {
	h, size := m.equalHeads(), m.feedForward()
	dense := plain{act: gelu, size: size, bias: optional}
	period := m.countOr("moe_every_n_layers", 0, 0, maxLayers)
	if period == 0 {
		m.ignore("expert_count", "expert_used_count")
		return m.bertLike(dense, m.rope(h.k, halves), noPositions)
	}
	e := m.experts(size, softmaxOfAll)
	e.act, e.ungated = gelu, true
	return m.bertLike(byLayer(func(i int64) part {
		if i%period == 1 {
			return e
		}
		return dense
	}), m.rope(h.k, halves), noPositions)
}

// jinaBert2 is jina-embeddings-v2: bert without positions, with a bias of scores by distance, and a feed-forward part that is
// gated in most files. Those for code have norms of queries and keys, and a second norm after attention.
func jinaBert2(m *model) decoder {
	d := m.bertLike(nil, nil, noPositions)
	s := d.layer.(sequence)
	attn, ffn := s[0].(afterwards), s[1].(afterwards)
	a := attn.body.(attention)
	a.alibi, a.around = usualAlibi, m.context
	a.qNorm, a.kNorm = m.layerNormIfAny("attn_q_norm").over(a.heads.count*a.heads.k), m.layerNormIfAny("attn_k_norm").over(a.heads.kv*a.heads.k)
	attn.body, attn.again = a, m.layerNormIfAny("attn_norm_2")
	ffn.body = m.jinaFeedForward()
	d.layer = sequence{attn, ffn}
	return d
}

// jinaFeedForward describes the feed-forward part that the tensors of the first layer are of.
func (m *model) jinaFeedForward() part {
	size := m.feedForward()
	up, ok := m.file.Tensor(layerName(0, "ffn_up.weight"))
	switch {
	case m.has(layerName(0, "ffn_gate.weight")):
		return gated{act: gelu, size: size, bias: optional}
	case ok && int64(up.Shape[0]) == 2*size:
		return gatedInOne{act: gelu, size: size, bias: optional}
	}
	return plain{act: gelu, size: size, bias: optional}
}

// modernBert is ModernBERT: an encoder with norms before parts and none in the first layer, rotations of halves, and a gated
// feed-forward part. The first of three layers reads all tokens, and the others have a window and angles of a base of their
// own, if the file states a window.
func modernBert(m *model) decoder {
	m.asEncoder()
	h := m.equalHeads()
	global := attention{
		heads: h,
		qkv:   fusedOrSeparate{},
		rope:  m.rope(h.k, halves),
		scale: h.scale(),
	}
	local, windowed := global, func(int64) bool { return false }
	if m.windowOr(0) > 0 {
		local.around, local.rope = m.halfWindow(), m.unscaledWindowRope(h.k, halves)
		windowed = m.layersAfterWhole(3)
	} else {
		m.ignore(windowPattern, localRopeBase)
	}
	ffn := residual{at: "ffn", in: m.layerNorm("ffn_norm", absent), body: gatedInOne{act: m.gate(), size: m.feedForward()}}
	d := decoder{
		pooling:   m.encoderPooling(),
		embedding: embedding{norm: m.layerNorm("token_embd_norm", absent)},
		layer: byLayer(func(i int64) part {
			attn := residual{at: "attn", in: m.layerNorm("attn_norm", absent), body: global}
			if windowed(i) {
				attn.body = local
			}
			if i == 0 && !m.has(layerName(0, "attn_norm.weight")) {
				attn.in = norm{}
			}
			return sequence{attn, ffn}
		}),
		norm: m.layerNorm("output_norm", absent),
	}
	if d.pooling == ir.PoolRank {
		m.fail(m.file.KeyError(m.key("pooling_type"), "4, or absent beside a classification head: %s models that rank texts are not supported yet", m.arch))
	}
	return d
}

// gate reads the activation of gates.
func (m *model) gate() activation {
	switch name := m.stringOr("hidden_activation", "gelu"); name {
	case "gelu", "geglu":
		return gelu
	case "silu", "swish", "swiglu":
		return silu
	default:
		m.fail(m.file.KeyError(m.key("hidden_activation"), "activation %s is not supported: gelu and silu are", gguf.Quote(name)))
		return gelu
	}
}

// refuseForEncoders reports options that have no effect on encoders.
func (m *model) refuseForEncoders() {
	switch o := m.given; {
	case o.Batch > 0:
		m.failOption("--batch %d: %s reads a text in one step: leave it out; --ctx limits the tokens of a step", o.Batch, m.arch)
	case o.KV != dtype.Invalid:
		m.failOption("--kv %v: %s keeps no keys and values after a step, and those of a step are f32: leave it out", o.KV, m.arch)
	case o.Top > 1:
		m.failOption("--device-top-k %d: %s computes no logits: leave it out", o.Top, m.arch)
	case o.AllLogits:
		m.failOption("--all-logits: %s computes no logits: leave it out; the program's embed prints the states of tokens with --pooling none", m.arch)
	}
}

// asEncoder sets the options of encoders.
func (m *model) asEncoder() {
	m.refuseForEncoders()
	m.o.KV, m.batch = dtype.F32, m.context // a text is read at once
	if m.given.Sequences == 0 {
		m.o.Sequences = DefaultTexts
	}
}

func (m *model) bertLike(ffn part, r *rope, p positions) decoder {
	m.asEncoder()
	h := m.equalHeads()
	return decoder{
		pooling:   m.encoderPooling(),
		embedding: embedding{positions: p, types: optional, norm: m.layerNorm("token_embd_norm", required)},
		layer: sequence{
			afterwards{at: "attn", body: attention{
				heads: h,
				qkv:   fusedOrSeparate{bias: optional},
				rope:  r,
				scale: h.scale(),
				out:   optional,
			}, norm: m.layerNorm("attn_output_norm", required)},
			afterwards{at: "ffn", body: ffn, norm: m.layerNorm("layer_output_norm", required)},
		},
	}
}
