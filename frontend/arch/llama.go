package arch

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// llamaParams are the hyperparameters of the llama architecture, by the names that
// GGUF's documentation gives them (docs/gguf.md in ggml-org/ggml).
type llamaParams struct {
	layers, embd, ff, vocab int64
	heads, kvHeads          int64
	headK, headV            int64 // size of a head of queries and keys, of values
	rotated                 int64 // elements of a head that rope rotates
	trained, context        int64 // positions
	batch                   int64 // tokens of a step
	eps                     float64
	ropeBase, ropeScale     float64 // frequencies are divided by ropeScale
}

// Limits far above those of real models. Beyond them a file is damaged, and sizes computed from it could overflow.
const (
	maxLayers  = 512
	maxWidth   = 1 << 20
	maxHeads   = 1 << 12
	maxVocab   = 1 << 24
	maxContext = 1 << 24
)

func buildLlama(m *model) (*ir.Module, error) {
	p := m.llamaParams()
	if err := m.err(); err != nil {
		return nil, err
	}
	b := ir.NewBuilder(moduleName(m))
	b.Source(SourceName, m.file.Name(), m.file.Size(), m.o.SHA256)
	m.llamaWeights(b, p)
	m.leftover(func(name string) bool { return strings.HasSuffix(name, ".attn_rot_embd") })
	if err := m.err(); err != nil {
		return nil, err
	}

	tokens := b.Symbol("tokens", 1, p.batch)
	b.Language(ir.LanguageModel{
		Prefill: m.llamaFunc(b, p, "prefill", tokens),
		Decode:  m.llamaFunc(b, p, "decode", ir.Const(1)),
	})
	mod, err := b.Finish()
	if err != nil {
		return nil, err
	}
	mod.SetMeta("lm.arch", m.arch)
	mod.SetMeta("lm.trained", strconv.FormatInt(p.trained, 10))
	return mod, nil
}

// llamaParams reads and checks the hyperparameters.
func (m *model) llamaParams() llamaParams {
	var p llamaParams
	p.layers = m.count("block_count", 1, maxLayers)
	p.embd = m.count("embedding_length", 1, maxWidth)
	p.ff = m.count("feed_forward_length", 1, maxWidth)
	p.heads = m.count("attention.head_count", 1, maxHeads)
	p.kvHeads = m.countOr("attention.head_count_kv", p.heads, 1, maxHeads)
	p.trained = m.count("context_length", 1, math.MaxUint32)
	p.eps = m.positive("attention.layer_norm_rms_epsilon")
	p.ropeBase = m.positiveOr("rope.freq_base", 10000)
	p.vocab = m.vocabSize()
	if !m.errs.Any() { // otherwise they would be computed from missing numbers
		m.headSizes(&p)
	}
	m.refuseVariants()
	p.ropeScale = m.ropeScale()
	p.context = m.context(p.trained)
	p.batch = m.batch(p.context)
	return p
}

// vocabSize returns the number of rows of the embedding, which must be that of the vocabulary.
func (m *model) vocabSize() int64 {
	const name = embdName
	t, ok := m.file.Tensor(name)
	if !ok || len(t.Shape) != 2 {
		m.fail(m.file.TensorError(name, "missing, or no matrix: %s cannot be built without its token embedding", m.arch))
		return 1
	}
	rows := int64(t.Shape[0])
	if rows > maxVocab {
		m.fail(m.file.TensorError(name, "%d rows are more than any vocabulary has: the file is damaged", rows))
	}
	if n := m.countOr("vocab_size", rows, 1, maxVocab); n != rows {
		m.fail(m.file.KeyError(m.key("vocab_size"), "%d tokens, but token_embd.weight has %d rows: the file is damaged", n, rows))
	}
	return rows
}

// headSizes reads the sizes of heads and checks that they are consistent.
func (m *model) headSizes(p *llamaParams) {
	key := m.key("attention.head_count")
	if p.heads%p.kvHeads != 0 {
		m.fail(m.file.KeyError(key, "%d heads cannot share %d key/value heads evenly: the file is damaged", p.heads, p.kvHeads))
	}
	if !m.file.Has(m.key("attention.key_length")) && p.embd%p.heads != 0 {
		m.fail(m.file.KeyError(key, "%d heads do not divide the width %d, and attention.key_length is absent: the file is damaged", p.heads, p.embd))
	}
	p.headK = m.countOr("attention.key_length", max(1, p.embd/p.heads), 1, maxWidth)
	p.headV = m.countOr("attention.value_length", p.headK, 1, maxWidth)
	p.rotated = m.countOr("rope.dimension_count", p.headK, 1, maxWidth)
	if p.rotated%2 != 0 || p.rotated > p.headK {
		m.fail(m.file.KeyError(m.key("rope.dimension_count"), "%d elements cannot be turned in pairs within a head of %d: the file is damaged", p.rotated, p.headK))
	}
}

// refuseVariants reports keys that would change the graph in ways that are not implemented.
func (m *model) refuseVariants() {
	for _, name := range []string{"expert_count", "expert_used_count", "attention.sliding_window"} {
		key := m.key(name)
		if !m.file.Has(key) {
			continue
		}
		if n, err := m.file.Int(key); err != nil {
			m.fail(err)
		} else if n != 0 {
			m.fail(m.file.KeyError(key, "%d: models with this are not supported yet: only dense llama models are", n))
		}
	}
}

// ropeScale returns the divisor of the frequencies.
func (m *model) ropeScale() float64 {
	key := m.key("rope.scaling.type")
	kind := "none"
	if m.file.Has(key) {
		s, err := m.file.String(key)
		m.fail(err)
		kind = s
	}
	switch kind {
	case "none", "":
		return m.positiveOr("rope.scale_linear", 1)
	case "linear":
		return m.positiveOr("rope.scaling.factor", 1)
	}
	m.fail(m.file.KeyError(key, "rope scaling %s is not supported yet: none and linear are", gguf.Quote(kind)))
	return 1
}

// context returns the number of positions of a sequence: the user's choice, or else the trained length but at most
// DefaultContext.
func (m *model) context(trained int64) int64 {
	switch n := int64(m.o.Context); {
	case n > maxContext:
		m.failOption("--ctx %d is more than the %d positions that a cache may have: ask for fewer", n, maxContext)
	case n > 0:
		return n
	}
	return min(trained, DefaultContext)
}

// batch returns the number of prompt tokens in one step: the user's choice or the default, but no more than a
// sequence has positions.
func (m *model) batch(context int64) int64 {
	n := int64(m.o.Batch)
	if n > maxContext {
		m.failOption("--batch %d is more than the %d positions that a sequence may have: ask for fewer", n, maxContext)
	}
	return min(n, context)
}

// llamaWeights declares the weights and states of the whole model.
func (m *model) llamaWeights(b *ir.Builder, p llamaParams) {
	m.matrix(b, embdName, p.vocab, p.embd)
	m.ropeFreqs(b, p)
	m.checkKV(p)
	for i := range p.layers {
		m.llamaLayer(b, p, i)
	}
	m.vector(b, "output_norm.weight", p.embd)
	if m.has(outputName) { // otherwise the output is tied to the embedding
		m.matrix(b, outputName, p.vocab, p.embd)
	}
}

// Names of weights that do not belong to a layer.
const (
	embdName   = "token_embd.weight"
	outputName = "output.weight"
	freqsName  = "rope.freqs"
)

func (m *model) llamaLayer(b *ir.Builder, p llamaParams, i int64) {
	vector := func(name string, n int64) { m.vector(b, layerName(i, name), n) }
	matrix := func(name string, rows, cols int64) { m.matrix(b, layerName(i, name), rows, cols) }
	vector("attn_norm.weight", p.embd)
	matrix("attn_q.weight", p.heads*p.headK, p.embd)
	matrix("attn_k.weight", p.kvHeads*p.headK, p.embd)
	matrix("attn_v.weight", p.kvHeads*p.headV, p.embd)
	matrix("attn_output.weight", p.embd, p.heads*p.headV)
	vector("ffn_norm.weight", p.embd)
	matrix("ffn_gate.weight", p.ff, p.embd)
	matrix("ffn_up.weight", p.ff, p.embd)
	matrix("ffn_down.weight", p.embd, p.ff)
	m.kvState(b, p, layerName(i, "keys"), p.headK)
	m.kvState(b, p, layerName(i, "values"), p.headV)
}

// checkKV reports a cache type whose blocks do not divide a head.
func (m *model) checkKV(p llamaParams) {
	for _, size := range []int64{p.headK, p.headV} {
		if !m.kvFits(size) {
			m.failOption("--kv %v: heads of %d elements cannot be kept in its blocks of %d: choose another", m.o.KV, size, m.o.KV.BlockElems())
			return
		}
	}
}

func (m *model) kvFits(size int64) bool { return size%int64(m.o.KV.BlockElems()) == 0 }

// kvState declares one layer's cache of keys or values. checkKV reports sizes that do not fit.
func (m *model) kvState(b *ir.Builder, p llamaParams, name string, size int64) {
	if m.kvFits(size) {
		b.State(name, ir.Type{DType: m.o.KV, Shape: ir.Dims(1, p.kvHeads, p.context, size)})
	}
}

// ropeFreqs declares the angles per position: base^(-2i/rotated), divided by the scale and by the file's factors if
// it has any (Llama 3.1 stores them as rope_freqs).
func (m *model) ropeFreqs(b *ir.Builder, p llamaParams) {
	half := p.rotated / 2
	factors, err := m.ropeFactors(half)
	if err != nil {
		m.fail(err)
		return
	}
	data := make([]byte, 0, 4*half)
	for i := range half {
		f := float32(math.Pow(p.ropeBase, -2*float64(i)/float64(p.rotated)) / p.ropeScale / factors[i])
		if math.IsInf(float64(f), 0) {
			m.fail(m.file.KeyError(m.key("rope.freq_base"), "%g gives angles that overflow: the file is damaged", p.ropeBase))
			return
		}
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(f))
	}
	e := &ir.Expr{Op: ir.ExprLiteral, Data: data}
	b.Weight(freqsName, ir.Type{DType: dtype.F32, Shape: ir.Dims(half)}, e)
}

// ropeFactors returns the divisor of each frequency. The divisors are ones if the file has no factors, or after a
// fault that tensor reports.
func (m *model) ropeFactors(half int64) ([]float64, error) {
	const name = "rope_freqs.weight"
	factors := slices.Repeat([]float64{1}, int(half))
	if !m.has(name) {
		return factors, nil
	}
	t := m.tensor(name, half)
	if t == nil {
		return factors, nil
	}
	dt, _ := m.file.DType(t)
	if dt != dtype.F32 && dt != dtype.F16 && dt != dtype.BF16 {
		return nil, m.file.TensorError(name, "factors of %v: they are f32, f16 or bf16; the file is damaged", dt)
	}
	buf := make([]byte, t.Size)
	if err := m.file.ReadTensor(t, 0, buf); err != nil {
		return nil, err
	}
	if err := dtype.Decode(dt, factors, buf); err != nil {
		return nil, m.file.TensorError(name, "%v", err)
	}
	for _, x := range factors {
		if !(x > 0) || math.IsInf(x, 0) {
			return nil, m.file.TensorError(name, "holds %v: factors are positive finite numbers; the file is damaged", x)
		}
	}
	return factors, nil
}

// llamaFunc adds the function that takes n tokens and returns the logits after the last one.
func (m *model) llamaFunc(b *ir.Builder, p llamaParams, name string, n ir.Dim) ir.LanguageEntry {
	f := b.Func(name)
	in := stepInputs(f, n)
	table := f.RopeTable(in.pos, f.Weight(freqsName), 1)
	x := f.Gather(f.Weight(embdName), in.tokens)
	for i := range p.layers {
		f.At(layerName(i, "attn"))
		x = llamaAttention(f, p, i, in, table, x)
		f.At(layerName(i, "ffn"))
		x = swiGLUBlock(f, i, p.eps, x)
	}
	f.At("output")
	out := embdName
	if m.has(outputName) {
		out = outputName
	}
	last := f.Slice(x, 0, n.Sub(ir.Const(1)), ir.Const(1))
	last = f.RMSNorm(last, f.Weight("output_norm.weight"), float32(p.eps))
	f.Return("logits", f.MatMul(last, f.Weight(out)))
	return in.entry(name, 0)
}

// llamaAttention is x + wo·attention(rope(wq·h), rope(wk·h), wv·h) with h = norm(x).
func llamaAttention(f *ir.FuncBuilder, p llamaParams, layer int64, in step, table, x *ir.Value) *ir.Value {
	weight := func(name string) *ir.Value { return f.Weight(layerName(layer, name)) }
	h := f.RMSNorm(x, weight("attn_norm.weight"), float32(p.eps))
	q := f.Rope(splitHeads(f, f.MatMul(h, weight("attn_q.weight")), p.heads, p.headK), table, ir.RopeAttr{})
	k := f.Rope(splitHeads(f, f.MatMul(h, weight("attn_k.weight")), p.kvHeads, p.headK), table, ir.RopeAttr{})
	v := splitHeads(f, f.MatMul(h, weight("attn_v.weight")), p.kvHeads, p.headV)
	keys := f.StateWrite(f.State(layerName(layer, "keys")), k, in.slot, in.pos)
	values := f.StateWrite(f.State(layerName(layer, "values")), v, in.slot, in.pos)
	a := f.Attention(q, keys, values, in.slot, in.pos, in.lengths,
		ir.AttentionAttr{Scale: float32(1 / math.Sqrt(float64(p.headK)))})
	return f.Add(x, f.MatMul(joinHeads(f, a), weight("attn_output.weight")))
}
