package arch

import (
	"math"

	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Encoders. Each token reads all tokens of its text, those after it included, and a text has one embedding. Their module
// has one function:
//
//	@embed(tokens i32[n], pos i32[n], last i32[n], slot i32[n], lengths i32[1]) -> (hidden f32[n,width], embedding f32[1,width])
//
// For a text of n tokens pos is 0, 1, …, n-1, last is n-1 everywhere, slot is 0, and lengths is n. Attention reads the
// positions up to last. The rows of keys and values are states, which all layers share: nothing is kept for the next
// call. hidden has the states of tokens, and embedding, which is absent without pooling, is not normalized. Models that rank
// texts have scores f32[1,labels] in its place, and a parameter first i32[1] with the row of the first token, which is 0.

// encoderName is the function of encoders.
const encoderName = "embed"

// buildEncoder returns the module of an encoder.
func (m *model) buildEncoder(d decoder) (*ir.Module, error) {
	m.refuseUnread()
	if err := m.err(); err != nil {
		return nil, err
	}
	m.b = ir.NewBuilder(moduleName(m))
	m.b.Source(SourceName, m.file.Name(), m.file.Size(), m.o.SHA256)
	n := m.b.Symbol("tokens", 1, m.batch)
	f := m.b.Func(encoderName)
	g := &graph{model: m, f: f, in: encoderInputs(f, n, d.pooling), tables: make(map[*rope]*ir.Value), versions: make(map[string]*ir.Value), layer: -1}
	for i, r := range m.ropes {
		g.tables[r] = f.RopeTable(g.in.pos, g.ropeFreqs(i, r), r.scale)
	}
	x := d.embedding.apply(g)
	for g.layer = range m.layers {
		x = d.layer.apply(g, x)
	}
	g.layer = -1
	f.At("output")
	f.Return("hidden", x)
	scores := -1
	if y := d.pooling.apply(g, x, n); y != nil && d.pooling == rankPooling {
		f.Return("scores", y)
		scores = 1
	} else if y != nil {
		f.Return("embedding", y)
	}
	m.leftover()
	if err := m.err(); err != nil {
		return nil, err
	}
	e := ir.Encoder{Func: encoderName, Tokens: g.in.tokens.Index, Pos: g.in.pos.Index, Last: g.in.reach.Index, Slot: g.in.slot.Index,
		Lengths: g.in.lengths.Index, First: -1, Hidden: 0, Pooling: d.pooling.kind(), Scores: scores}
	if g.in.first != nil {
		e.First = g.in.first.Index
	}
	m.b.Encoder(e)
	mod, err := m.b.Finish()
	if err == nil {
		mod.SetMeta("encoder.arch", m.arch)
	}
	return mod, err
}

// encoderInputs declares the inputs of a function that takes a text of n tokens.
func encoderInputs(f *ir.FuncBuilder, n ir.Dim, p pooling) step {
	perToken, perText := ir.Type{DType: dtype.I32, Shape: []ir.Dim{n}}, ir.Type{DType: dtype.I32, Shape: ir.Dims(1)}
	s := step{
		tokens:  f.Param("tokens", perToken),
		pos:     f.Param("pos", perToken),
		reach:   f.Param("last", perToken),
		slot:    f.Param("slot", perToken),
		lengths: f.Param("lengths", perText),
	}
	if p == rankPooling {
		s.first = f.Param("first", perText)
	}
	return s
}

// pooling is how an encoder makes the embedding of a text.
type pooling int

const (
	noPooling pooling = iota + 1
	meanPooling
	firstPooling
	lastPooling
	rankPooling
)

// kind returns the pooling in the line encoder.
func (p pooling) kind() ir.Pooling {
	return [...]ir.Pooling{noPooling: ir.PoolNone, meanPooling: ir.PoolMean, firstPooling: ir.PoolCLS, lastPooling: ir.PoolLast, rankPooling: ir.PoolRank}[p]
}

// encoderPooling reads the kind of pooling, by the number that files have for it (llama.h, llama_pooling_type).
func (m *model) encoderPooling() pooling {
	if !m.denied("attention.causal") {
		m.fail(m.file.KeyError(m.key("attention.causal"), "absent or true: %s models whose tokens read only those before them are not supported", m.arch))
	}
	n := m.countOr("pooling_type", 0, 0, math.MaxUint32)
	if most := int64(rankPooling - noPooling); n > most {
		m.fail(m.file.KeyError(m.key("pooling_type"), "pooling %d is not supported: 0 to %d are", n, most))
		return noPooling
	}
	return noPooling + pooling(n)
}

// apply returns the embedding of x [n, width], or its scores; nil if there is none.
func (p pooling) apply(g *graph, x *ir.Value, n ir.Dim) *ir.Value {
	f, one := g.f, ir.Const(1)
	switch p {
	case meanPooling:
		return f.ExpertsSum(f.Reshape(x, one, n, ir.Const(g.embd)), g.equalShares(n))
	case firstPooling:
		return f.Slice(x, 0, ir.Const(0), one)
	case lastPooling:
		return f.Slice(x, 0, n.Sub(one), one)
	case rankPooling:
		return g.scores(x)
	}
	return nil
}

// Names of the tensors of a classification head.
const (
	denseName  = "cls"
	labelsName = "cls.output"
)

// scores is what a classification head makes of the first token's state: output·tanh(dense·x). Files may lack one of both
// matrices; without output, dense has a row for each label.
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

// equalShares returns [1, n] with 1/n: the softmax of cosines of 0.
func (g *graph) equalShares(n ir.Dim) *ir.Value {
	g.declareLiteral("shares.angle", []float64{0}, 1)
	ones := g.f.ReduceMax(g.f.RopeTable(g.in.pos, g.f.Weight("shares.angle"), 1))
	return g.f.Softmax(g.f.Reshape(ones, ir.Const(1), n))
}

// afterwards is norm(x + body(x)).
type afterwards struct {
	at   string // in the layer, as explain names it
	body part
	norm norm
}

func (p afterwards) apply(g *graph, x *ir.Value) *ir.Value {
	g.f.At(g.name(p.at))
	return p.norm.apply(g, g.f.Add(p.body.apply(g, x), x))
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

// refuseForEncoders reports options that have no effect on encoders.
func (m *model) refuseForEncoders() {
	switch o := m.given; {
	case o.Sequences > 1:
		m.failOption("--sequences %d: %s reads one text at a time: leave it out", o.Sequences, m.arch)
	case o.Batch > 0:
		m.failOption("--batch %d: %s reads a text in one step: leave it out; --ctx limits the tokens of a text", o.Batch, m.arch)
	case o.KV != dtype.Invalid:
		m.failOption("--kv %v: %s keeps no keys and values after a step, and those of a step are f32: leave it out", o.KV, m.arch)
	case o.AllLogits:
		m.failOption("--all-logits: %s computes no logits: leave it out; the program's embed prints the states of tokens with --pooling none", m.arch)
	}
}

func (m *model) bertLike(ffn part, r *rope, p positions) decoder {
	m.refuseForEncoders()
	m.o.KV, m.batch = dtype.F32, m.context // a text is read at once
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
