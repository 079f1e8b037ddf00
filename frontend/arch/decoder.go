package arch

import (
	"math"
	"strconv"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// decoder describes a language model: an embedding, equal layers, a norm, and the product that gives the logits.
type decoder struct {
	embedding embedding
	layer     part
	norm      norm
	output    output
	pooling   ir.Pooling // of encoders, which have no output; 0: of language models
	head      part       // of encoders: what follows the norm; nil: nothing
}

// part is a piece of a layer: a function of the hidden state [tokens, width].
type part interface {
	apply(g *graph, x *ir.Value) *ir.Value
}

// graph is a function under construction. Its methods declare weights and states when they are first read.
type graph struct {
	*model
	f      *ir.FuncBuilder
	in     step
	tables map[*rope]*ir.Value

	versions map[string]*ir.Value // the last version of each state

	inputs      *ir.Value // rows that each layer has for each token; nil: none
	headIndices *ir.Value // for products with a matrix for each head
	growths     *ir.Value // factors of queries; nil: none
	layer       int64     // outside of layers: -1
}

// name returns the full name of a tensor of the layer under construction, or of the model.
func (g *graph) name(tensor string) string {
	if g.layer < 0 {
		return tensor
	}
	return layerName(g.layer, tensor)
}

// build returns the module of a description.
func (m *model) build(d decoder) (*ir.Module, error) {
	if d.pooling != 0 {
		return m.buildEncoder(d)
	}
	m.refuseUnread()
	if err := m.err(); err != nil {
		return nil, err
	}
	m.b = ir.NewBuilder(moduleName(m))
	m.b.Source(SourceName, m.file.Name(), m.file.Size())
	tokens := m.b.Symbol("tokens", 1, m.batch)
	lm := ir.LanguageModel{Prefill: m.function(d, prefillName, tokens, m.promptRows()), Decode: m.function(d, "decode", ir.Const(1), lastRow)}
	if m.o.Embeddings {
		lm.Hidden, lm.Pooling = hiddenResult, m.pooling()
	}
	if m.o.Sequences > 1 {
		lm.Joint = m.function(d, "decode_joint", m.b.Symbol("sequences", 1, int64(m.o.Sequences)), allRows)
	}
	if m.o.Top > 0 {
		lm.Top = m.topFunction(d)
	}
	m.leftover()
	if err := m.err(); err != nil {
		return nil, err
	}
	m.b.Language(lm)
	mod, err := m.b.Finish()
	if err != nil {
		return nil, err
	}
	mod.SetMeta("lm.arch", m.arch)
	mod.SetMeta("lm.trained", strconv.FormatInt(m.trained, 10))
	return mod, m.advise(mod)
}

// prefillName is the name of the function that takes the tokens of a prompt.
const prefillName = "prefill"

// rows specifies after which tokens a function returns logits.
type rows int

const (
	lastRow rows = iota // the last one
	allRows
)

// promptRows returns after which tokens of a prompt there are logits.
func (m *model) promptRows() rows {
	if m.o.AllLogits {
		return allRows
	}
	return lastRow
}

// function adds the function that takes n tokens and returns logits.
func (m *model) function(d decoder, name string, n ir.Dim, r rows) ir.LanguageEntry {
	g, x := m.hidden(d, name, n)
	f := g.f
	if m.o.Embeddings && name == prefillName {
		x = d.norm.apply(g, x)
		f.Return("logits", d.output.apply(g, g.chosen(x, n, r)))
		f.Return("hidden", x)
	} else {
		f.Return("logits", d.output.apply(g, d.norm.apply(g, g.chosen(x, n, r))))
	}
	return g.in.entry(name, 0)
}

// topFunction adds the function that takes one token and returns the most probable next ones. The largest logits, which
// are NaN if any logit is, show what top_k does not.
func (m *model) topFunction(d decoder) ir.TopEntry {
	const name = "decode_top"
	g, x := m.hidden(d, name, ir.Const(1))
	f := g.f
	logits := d.output.apply(g, d.norm.apply(g, x))
	if int64(m.o.Top) > m.vocab {
		m.failOption("--device-top-k %d: the vocabulary has %d tokens: ask for fewer", m.o.Top, m.vocab)
		m.o.Top = 1
	}
	parts := partsOf(m.vocab, int64(m.o.Top))
	logits = f.Reshape(logits, ir.Const(parts), ir.Const(m.vocab/parts))
	ids, largest := f.TopK(logits, m.o.Top), f.ReduceMax(logits)
	f.Return("ids", ids)
	f.Return("largest", largest)
	e := ir.TopEntry{LanguageEntry: g.in.entry(name, 1), IDs: 0, Largest: 1}
	if m.o.Top > 1 {
		f.Return("logits", f.Take(logits, ids))
		e.Logits = 2
	}
	return e
}

// Parts of a vocabulary in each of which a workgroup looks for the most probable tokens.
const (
	mostParts = 64   // enough for the bandwidth of a GPU
	leastPart = 2048 // tokens: eight for each thread of a workgroup
)

// partsOf returns the number of equal parts of a vocabulary of which k tokens each are returned: the most that are
// allowed. It is 1 for a prime number of tokens.
func partsOf(vocab, k int64) int64 {
	parts := max(1, min(mostParts, vocab/max(leastPart, 4*k)))
	for vocab%parts != 0 {
		parts--
	}
	return parts
}

// hidden begins the function that takes n tokens. It returns the state of each after the last layer.
func (m *model) hidden(d decoder, name string, n ir.Dim) (*graph, *ir.Value) {
	f := m.b.Func(name)
	g := &graph{model: m, f: f, in: stepInputs(f, n, int64(m.o.Sequences)), tables: make(map[*rope]*ir.Value), versions: make(map[string]*ir.Value), layer: -1}
	m.declareMatrix(m.embdName(), m.vocab, m.embd)
	for i, r := range m.ropes {
		g.tables[r] = f.RopeTable(g.in.pos, g.ropeFreqs(i, r), r.scale)
	}
	g.growths = m.growth.factors(g)
	if m.perHead > 0 {
		g.headIndices = g.indicesOfHeads(m.perHead)
	}
	x := d.embedding.apply(g)
	for g.layer = range m.layers {
		x = d.layer.apply(g, x)
	}
	g.layer = -1
	f.At("output")
	return g, x
}

// hiddenResult is the result of prefill with the states of tokens, if there is one.
const hiddenResult = 1

// chosen returns the rows of x, which has a row for each of n tokens, from which logits are computed.
func (g *graph) chosen(x *ir.Value, n ir.Dim, r rows) *ir.Value {
	if r == allRows {
		return x
	}
	return g.f.Slice(x, 0, n.Sub(ir.Const(1)), ir.Const(1))
}

// poolings are the kinds of pooling by the number that files have for them (llama.h, llama_pooling_type).
var poolings = []ir.Pooling{ir.PoolNone, ir.PoolMean, ir.PoolCLS, ir.PoolLast}

// pooling returns how the model makes one embedding of a text.
func (m *model) pooling() ir.Pooling {
	const key = "pooling_type"
	n := m.countOr(key, 0, 0, math.MaxUint32)
	if n >= int64(len(poolings)) {
		m.fail(m.file.KeyError(m.key(key), "pooling %d is not supported: leave --embeddings out, or use a model with a kind from 0 to %d", n, len(poolings)-1))
		return ir.PoolNone
	}
	return poolings[n]
}

// Names of weights that do not belong to a layer.
const (
	embdName      = "token_embd.weight"
	positionsName = "position_embd.weight"
	typesName     = "token_types.weight"
	outputName    = "output"
)

// embedding looks up the rows of the tokens.
type embedding struct {
	scale     float64   // a factor; 0: none
	positions positions // what is added for the position of each token
	types     presence  // what is added for the kind of text that tokens belong to, of which the first is taken
	norm      norm
	inputs    layerInputs
}

// positions are embeddings of positions.
type positions int

const (
	noPositions      positions = iota
	learnedPositions           // position_embd has a row for each
)

// learned returns learnedPositions, and limits the context to the positions that have a row.
func (m *model) learned() positions {
	m.limitContext(m.trained, "that "+m.arch+" has embeddings for", "context_length")
	return learnedPositions
}

func (e embedding) apply(g *graph) *ir.Value {
	x := g.f.Gather(g.matrix(g.embdName(), g.vocab, g.embd), g.in.tokens)
	x = g.scaled(x, e.scale)
	if e.positions == learnedPositions {
		x = g.f.Add(x, g.f.Gather(g.matrix(positionsName, g.trained, g.embd), g.in.pos))
	}
	if t, ok := g.file.Tensor(typesName); ok && e.types == optional && len(t.Shape) == 2 {
		first := g.f.Constant(ir.Type{DType: dtype.I32, Shape: ir.Dims(1)}, make([]byte, 4))
		x = g.f.Add(x, g.f.Gather(g.table(typesName, int64(t.Shape[0]), g.embd), first))
	}
	x = e.norm.apply(g, x)
	if e.inputs.width > 0 {
		g.inputs = e.inputs.of(g, x)
	}
	return x
}

// scaled is x times a factor. A factor of 0 means none.
func (g *graph) scaled(x *ir.Value, factor float64) *ir.Value {
	if factor == 0 || factor == 1 {
		return x
	}
	return g.f.Scale(x, float32(factor), 0)
}

// output is the product that gives the logits.
type output struct {
	tied  tied
	bias  presence
	scale float64 // of the logits; 0: none
	cap   float64 // logits are cap·tanh(logits/cap); 0: none
}

// tied specifies whether the output matrix is that of the embedding.
type tied int

const (
	tiedIfAbsent tied = iota // the embedding's, unless the file has an output matrix
	tiedNever
	tiedAlways
)

func (o output) apply(g *graph, x *ir.Value) *ir.Value {
	name := outputName
	if o.tied == tiedAlways || o.tied == tiedIfAbsent && !g.has(outputName+".weight") {
		name = "token_embd"
	}
	y := g.f.MatMul(x, g.matrix(name+".weight", g.vocab, g.embd))
	y = g.scaled(g.biased(y, outputName, g.vocab, o.bias), o.scale)
	if name == outputName && g.embdName() == embdName {
		g.divide(name, "vocab", 0, g.vocab, g.vocab)
	}
	if o.cap == 0 {
		return y
	}
	return g.scaled(g.f.Tanh(g.scaled(y, 1/o.cap)), o.cap)
}

// sequence applies parts one after the other.
type sequence []part

func (s sequence) apply(g *graph, x *ir.Value) *ir.Value {
	for _, p := range s {
		x = p.apply(g, x)
	}
	return x
}

// byLayer applies a part that depends on the number of the layer.
type byLayer func(layer int64) part

func (p byLayer) apply(g *graph, x *ir.Value) *ir.Value { return p(g.layer).apply(g, x) }

// residual is x + scale·out(body(in(x))).
type residual struct {
	at    string // in the layer, as explain names it
	in    norm
	body  part
	out   norm
	scale float64 // 0: none
}

// branch is what a residual adds to x.
func (r residual) branch(g *graph, x *ir.Value) *ir.Value {
	g.f.At(g.name(r.at))
	return g.scaled(r.out.apply(g, r.body.apply(g, r.in.apply(g, x))), r.scale)
}

func (r residual) apply(g *graph, x *ir.Value) *ir.Value { return g.f.Add(x, r.branch(g, x)) }

// parallel adds to x what each of its residuals makes of x. Equal norms are merged by the pass cse.
type parallel []residual

func (p parallel) apply(g *graph, x *ir.Value) *ir.Value {
	sum := x
	for _, r := range p {
		sum = g.f.Add(sum, r.branch(g, x))
	}
	return sum
}

// step holds the inputs of prefill and decode: for each token its id, its position in its sequence and the sequence's
// slot; for each sequence its number of tokens after the step.
// Attention reads the positions up to reach. Encoders that rank texts have the row of each text's first token.
type step struct{ tokens, pos, slot, lengths, reach, first *ir.Value }

// stepInputs declares the inputs of a function that takes n tokens, with room for so many sequences.
func stepInputs(f *ir.FuncBuilder, n ir.Dim, sequences int64) step {
	perToken := ir.Type{DType: dtype.I32, Shape: []ir.Dim{n}}
	s := step{
		tokens:  f.Param("tokens", perToken),
		pos:     f.Param("pos", perToken),
		slot:    f.Param("slot", perToken),
		lengths: f.Param("lengths", ir.Type{DType: dtype.I32, Shape: ir.Dims(sequences)}),
	}
	s.reach = s.pos
	return s
}

// entry returns the roles of the inputs. logits is the index of the result that holds the logits.
func (s step) entry(name string, logits int) ir.LanguageEntry {
	return ir.LanguageEntry{Func: name, Tokens: s.tokens.Index, Pos: s.pos.Index, Slot: s.slot.Index, Lengths: s.lengths.Index, Logits: logits}
}
