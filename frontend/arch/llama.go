package arch

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// llamaParams are the hyperparameters of the llama architecture, by the names that
// GGUF's documentation gives them (docs/gguf.md in ggml-org/ggml).
type llamaParams struct {
	layers, embd, ff, vocab int64
	heads, kvHeads          int64
	headK, headV            int64 // size of a head of queries and keys, of values
	rotated                 int64 // elements of a head that rope turns
	trained, context        int64 // positions
	eps                     float64
	ropeBase, ropeScale     float64 // frequencies are divided by ropeScale
}

// Limits that no real model comes near; beyond them a file is damaged, and sizes computed
// from it could wrap.
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
	w := m.llamaWeights(b, p)
	m.leftover(func(name string) bool { return strings.HasSuffix(name, ".attn_rot_embd") })
	if err := m.err(); err != nil {
		return nil, err
	}

	tokens := b.Symbol("tokens", 1, int64(m.o.Batch))
	llamaFunc(b, p, w, "prefill", ir.Sym(tokens))
	llamaFunc(b, p, w, "decode", ir.Const(1))
	mod, err := b.Finish()
	if err != nil {
		return nil, err
	}
	mod.SetMeta("lm.arch", m.arch)
	mod.SetMeta("lm.vocab", strconv.FormatInt(p.vocab, 10))
	mod.SetMeta("lm.context", strconv.FormatInt(p.context, 10))
	mod.SetMeta("lm.trained", strconv.FormatInt(p.trained, 10))
	mod.SetMeta("lm.batch", strconv.Itoa(m.o.Batch))
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
	m.headSizes(&p)
	m.refuseVariants()
	p.ropeScale = m.ropeScale()
	p.context = m.context(p.trained)
	return p
}

// vocabSize is the number of rows of the embedding, which the vocabulary must agree with.
func (m *model) vocabSize() int64 {
	const name = "token_embd.weight"
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

// headSizes reads the sizes of heads and checks how they go together.
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
		p.rotated = 2
	}
}

// refuseVariants reports what would change the graph and is not built.
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

// ropeScale returns what the frequencies are divided by.
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
	m.fail(m.file.KeyError(key, "rope scaling %q is not supported yet: none and linear are", kind))
	return 1
}

// context returns the positions of a sequence: what the user asked for, or the trained
// length within DefaultContext.
func (m *model) context(trained int64) int64 {
	if m.o.Context > 0 {
		return min(int64(m.o.Context), maxContext)
	}
	return min(trained, DefaultContext)
}

// llamaWeights are the weights of the whole model.
type llamaWeights struct {
	embd, outNorm, out *ir.Weight
	freqs              *ir.Weight
	layers             []llamaLayer
	kv                 dtype.DType
}

// llamaLayer are the weights and states of one layer.
type llamaLayer struct {
	attnNorm, q, k, v, attnOut *ir.Weight
	ffnNorm, gate, up, down    *ir.Weight
	keys, values               *ir.State
}

func (m *model) llamaWeights(b *ir.Builder, p llamaParams) llamaWeights {
	w := llamaWeights{kv: m.o.KV}
	w.embd = m.matrix(b, "token_embd.weight", p.vocab, p.embd)
	w.freqs = m.ropeFreqs(b, p)
	for i := range p.layers {
		w.layers = append(w.layers, m.llamaLayer(b, p, i))
	}
	w.outNorm = m.vector(b, "output_norm.weight", p.embd)
	w.out = w.embd // tied
	if m.has("output.weight") {
		w.out = m.matrix(b, "output.weight", p.vocab, p.embd)
	}
	return w
}

func (m *model) llamaLayer(b *ir.Builder, p llamaParams, i int64) llamaLayer {
	matrix := func(name string, rows, cols int64) *ir.Weight { return m.matrix(b, layerName(i, name), rows, cols) }
	state := func(name string, size int64) *ir.State {
		if m.o.KV.IsQuantized() && size%int64(m.o.KV.BlockElems()) != 0 {
			m.fail(m.file.KeyError(m.key("attention.key_length"), "heads of %d elements cannot be kept as %v: choose another --kv", size, m.o.KV))
			return nil
		}
		return b.State(layerName(i, name), ir.Type{DType: m.o.KV, Shape: ir.Dims(1, p.kvHeads, p.context, size)})
	}
	return llamaLayer{
		attnNorm: m.vector(b, layerName(i, "attn_norm.weight"), p.embd),
		q:        matrix("attn_q.weight", p.heads*p.headK, p.embd),
		k:        matrix("attn_k.weight", p.kvHeads*p.headK, p.embd),
		v:        matrix("attn_v.weight", p.kvHeads*p.headV, p.embd),
		attnOut:  matrix("attn_output.weight", p.embd, p.heads*p.headV),
		ffnNorm:  m.vector(b, layerName(i, "ffn_norm.weight"), p.embd),
		gate:     matrix("ffn_gate.weight", p.ff, p.embd),
		up:       matrix("ffn_up.weight", p.ff, p.embd),
		down:     matrix("ffn_down.weight", p.embd, p.ff),
		keys:     state("keys", p.headK),
		values:   state("values", p.headV),
	}
}

// ropeFreqs declares the angles per position: base^(-2i/rotated), divided by the scale
// and by the file's factors where it has some (Llama 3.1 stores them as rope_freqs).
func (m *model) ropeFreqs(b *ir.Builder, p llamaParams) *ir.Weight {
	half := p.rotated / 2
	factors := m.ropeFactors(half)
	data := make([]byte, 0, 4*half)
	for i := range half {
		f := math.Pow(p.ropeBase, -2*float64(i)/float64(p.rotated)) / p.ropeScale / factors[i]
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(f)))
	}
	e := &ir.Expr{Op: ir.ExprLiteral, Data: data}
	return b.Weight("rope.freqs", ir.Type{DType: dtype.F32, Shape: ir.Dims(half)}, e)
}

func (m *model) ropeFactors(half int64) []float64 {
	factors := make([]float64, half)
	for i := range factors {
		factors[i] = 1
	}
	const name = "rope_freqs.weight"
	if !m.has(name) {
		return factors
	}
	t := m.tensor(name, half)
	if t == nil {
		return factors
	}
	buf := make([]byte, t.Size)
	if err := m.file.ReadTensor(t, 0, buf); err != nil {
		m.fail(err)
		return factors
	}
	dt, _ := m.file.DType(t)
	if err := dtype.Decode(dt, factors, buf); err != nil {
		m.fail(m.file.TensorError(name, "%v", err))
	}
	for _, x := range factors {
		if !(x > 0) || math.IsInf(x, 0) {
			m.fail(m.file.TensorError(name, "holds %v: factors are positive finite numbers; the file is damaged", x))
			break
		}
	}
	return factors
}

// llamaFunc adds the function that takes n tokens and returns the logits that follow the
// last of them.
func llamaFunc(b *ir.Builder, p llamaParams, w llamaWeights, name string, n ir.Dim) {
	f := b.Func(name)
	in := stepInputs(f, n)
	table := f.RopeTable(in.pos, f.Weight(w.freqs), 1)
	x := f.Gather(f.Weight(w.embd), in.tokens)
	for i, l := range w.layers {
		f.At("blk." + strconv.Itoa(i))
		x = llamaAttention(f, p, l, in, table, x)
		x = swiGLUBlock(f, l, p.eps, x)
	}
	f.At("output")
	last := f.Slice(x, 0, n.Sub(ir.Const(1)), ir.Const(1))
	last = f.RMSNorm(last, f.Weight(w.outNorm), float32(p.eps))
	f.Return("logits", f.MatMul(last, f.Weight(w.out), nil))
}

// llamaAttention is x + wo·attention(rope(wq·h), rope(wk·h), wv·h) with h = norm(x).
func llamaAttention(f *ir.FuncBuilder, p llamaParams, l llamaLayer, in step, table, x *ir.Value) *ir.Value {
	h := f.RMSNorm(x, f.Weight(l.attnNorm), float32(p.eps))
	q := f.Rope(splitHeads(f, f.MatMul(h, f.Weight(l.q), nil), p.heads, p.headK), table, false)
	k := f.Rope(splitHeads(f, f.MatMul(h, f.Weight(l.k), nil), p.kvHeads, p.headK), table, false)
	v := splitHeads(f, f.MatMul(h, f.Weight(l.v), nil), p.kvHeads, p.headV)
	keys := f.StateWrite(f.State(l.keys), k, in.slot, in.pos)
	values := f.StateWrite(f.State(l.values), v, in.slot, in.pos)
	a := f.Attention(q, keys, values, in.slot, in.pos, in.lengths, float32(1/math.Sqrt(float64(p.headK))))
	return f.Add(x, f.MatMul(joinHeads(f, a), f.Weight(l.attnOut), nil))
}
