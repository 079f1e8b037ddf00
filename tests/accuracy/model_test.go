package accuracy

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// shape is the size of a random llama.
type shape struct {
	name                 string
	embd, ff, vocab      int
	heads, kvHeads, head int // head 0: embd/heads
	rotated              int // elements of a head that rope turns; 0: all
	tied                 bool
	factors              bool // rope_freqs.weight, as Llama 3.1 has it
	linear               float32
	ropeBase             float32
	ctx, batch           int
	tokens               int           // that are run; 0: 40
	layers               int           // 0: 2
	only                 []dtype.DType // formats that it is made in, with a cache in f16; nil: all, with all
}

// shapes vary what graphs, tiles and partitions depend on. Most have two layers: the least
// that is rolled. Where weights may be quantized there are some 512 tokens, as in the models
// of peers.md: the range of logits, which errors are a share of, grows with their number.
var shapes = []shape{
	{name: "plain", embd: 64, ff: 96, vocab: 509, heads: 4, kvHeads: 4, ctx: 48, batch: 8},
	{name: "gqa", embd: 128, ff: 352, vocab: 513, heads: 8, kvHeads: 2, tied: true, ctx: 40, batch: 8},
	{name: "mqa-head128", embd: 256, ff: 288, vocab: 600, heads: 2, kvHeads: 1, head: 128, ctx: 64, batch: 16},
	{name: "key-length", embd: 96, ff: 160, vocab: 511, heads: 4, kvHeads: 4, head: 32, factors: true, ctx: 48, batch: 8},
	{name: "wide-heads", embd: 64, ff: 64, vocab: 512, heads: 3, kvHeads: 3, head: 64, linear: 4, ropeBase: 500000, ctx: 36, batch: 5},
	{name: "partial-rope", embd: 160, ff: 224, vocab: 521, heads: 5, kvHeads: 1, rotated: 16, tied: true, ctx: 48, batch: 7},
	{name: "k-output", embd: 256, ff: 512, vocab: 800, heads: 8, kvHeads: 4, factors: true, ctx: 64, batch: 8},
	// More positions than attention takes in a step (128), more heads than it reads the cache for by itself (8).
	{name: "long", embd: 96, ff: 160, vocab: 509, heads: 12, kvHeads: 1, head: 32, ctx: 150, batch: 32, tokens: 150},
	// Large enough for dynamic shares: of the products of queries as well, with the rotation of their heads. With 9
	// heads of 256 in one layer, workers must not wait for each other inside of a share.
	{name: "tails", embd: 2048, ff: 1024, vocab: 512, heads: 9, kvHeads: 3, head: 256, ctx: 64, batch: 32, tokens: 32, layers: 1,
		only: []dtype.DType{dtype.Q4_0, dtype.F16}},
	// No block divides these: float formats only.
	{name: "odd", embd: 72, ff: 100, vocab: 35, heads: 9, kvHeads: 3, head: 8, ctx: 37, batch: 8},
	{name: "narrow", embd: 24, ff: 37, vocab: 17, heads: 2, kvHeads: 1, head: 10, tied: true, ctx: 40, batch: 3},
	{name: "one-token-batch", embd: 40, ff: 51, vocab: 19, heads: 4, kvHeads: 2, head: 24, linear: 2, ctx: 40, batch: 1},
}

// format is how the matrices of a file are stored and what the compiler makes of them.
type format struct {
	name     string
	stored   dtype.DType
	output   dtype.DType // of the output matrix, and of two matrices of the first layer if the others have a scheme; Invalid: as the others
	quantize dtype.DType // --quantize; Invalid: none
	bf16     bool        // --allow-bf16
}

var formats = []format{
	{name: "f32", stored: dtype.F32},
	{name: "f16", stored: dtype.F16},
	{name: "bf16", stored: dtype.BF16},
	{name: "q8_0", stored: dtype.Q8_0},
	{name: "q4_0", stored: dtype.Q4_0},
	{name: "f16-as-bf16", stored: dtype.F16, bf16: true},
	{name: "f32-to-q8_0", stored: dtype.F32, quantize: dtype.Q8_0},
	{name: "f16-to-q4_0", stored: dtype.F16, quantize: dtype.Q4_0},
	{name: "q4_0-q6_k", stored: dtype.Q4_0, output: dtype.Q6_K},
	{name: "q4_k-q6_k", stored: dtype.Q4_K, output: dtype.Q6_K},
	{name: "q5_k", stored: dtype.Q5_K},
	{name: "q3_k", stored: dtype.Q3_K},
	{name: "q2_k", stored: dtype.Q2_K},
	{name: "iq4_xs", stored: dtype.IQ4_XS},
	{name: "q4_1", stored: dtype.Q4_1},
	{name: "q5_0", stored: dtype.Q5_0},
	{name: "q5_1", stored: dtype.Q5_1},
	{name: "iq4_nl", stored: dtype.IQ4_NL},
	{name: "mxfp4", stored: dtype.MXFP4},
	{name: "f16-q8_0", stored: dtype.F16, output: dtype.Q8_0},
	{name: "iq2_xxs", stored: dtype.IQ2_XXS},
	{name: "iq1_m-q5_k", stored: dtype.IQ1_M, output: dtype.Q5_K},
	{name: "iq3_xxs", stored: dtype.IQ3_XXS},
	{name: "iq3_s-q6_k", stored: dtype.IQ3_S, output: dtype.Q6_K},
	{name: "tq1_0", stored: dtype.TQ1_0},
}

var kvs = []dtype.DType{dtype.F16, dtype.F32, dtype.Q8_0, dtype.Q4_0}

// random is one model of the test.
type random struct {
	shape
	format
	kv   dtype.DType
	seed uint64
	path string
	peer bool // llama.cpp reads the file too

	weights map[string][]float64 // by tensor, as the file's bytes decode
}

func (r *random) String() string {
	return fmt.Sprintf("%s/%s/kv-%v", r.shape.name, r.format.name, r.kv)
}

// possible reports whether the shape is made in the format, and blocks divide the rows.
func (r *random) possible() bool {
	if r.only != nil && (!slices.Contains(r.only, r.stored) || r.format.name != r.stored.String() || r.kv != dtype.F16) {
		return false
	}
	if r.inBlocks() && r.shape.name != "k-output" { // see sampled
		return false
	}
	for _, n := range r.rows() {
		if n%r.stored.BlockElems() != 0 {
			return false
		}
	}
	if r.output != dtype.Invalid && (r.tied || r.embd%r.output.BlockElems() != 0 || r.inBlocks() && r.ff%r.output.BlockElems() != 0) {
		return false
	}
	return r.headSize()%r.kv.BlockElems() == 0
}

// inBlocks reports whether matrices are in one of the formats whose blocks have a scheme, or are expanded to such ones.
func (r *random) inBlocks() bool {
	return r.stored.Scheme() != nil || r.stored.Expansion().Valid()
}

// quantized returns how many of the three lengths that rows have --quantize takes: rows that
// blocks do not divide are left as they are.
func (r *random) quantized() (n int) {
	for _, row := range r.rows() {
		if r.quantize != dtype.Invalid && row%r.quantize.BlockElems() == 0 {
			n++
		}
	}
	return n
}

// rows are the lengths of the matrices' rows.
func (r *random) rows() []int { return []int{r.embd, r.ff, r.heads * r.headSize()} }

func (r *random) headSize() int {
	if r.head != 0 {
		return r.head
	}
	return r.embd / r.heads
}

// depth is the number of layers.
func (r *random) depth() int {
	if r.layers != 0 {
		return r.layers
	}
	return 2
}

// write makes the file in dir.
func (r *random) write(t *testing.T, dir string, index int) {
	t.Helper()
	r.weights = make(map[string][]float64)
	w := gguf.NewWriter()
	r.keys(w)
	rng := rand.New(rand.NewPCG(r.seed, 77))
	r.matrix(t, w, rng, "token_embd.weight", r.stored, r.vocab, r.embd)
	if r.factors {
		r.vector(t, w, rng, "rope_freqs.weight", max(r.rotated, r.headSize()*btoi(r.rotated == 0))/2, 1.5)
	}
	for i := range r.depth() {
		r.layer(t, w, rng, i)
	}
	r.vector(t, w, rng, "output_norm.weight", r.embd, 1)
	if !r.tied {
		out := r.stored
		if r.output != dtype.Invalid {
			out = r.output
		}
		r.matrix(t, w, rng, "output.weight", out, r.vocab, r.embd)
	}
	r.path = filepath.Join(dir, fmt.Sprintf("m%d.gguf", index))
	if err := w.WriteFile(r.path); err != nil {
		t.Fatalf("%v: %v", r, err)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (r *random) keys(w *gguf.Writer) {
	set := func(key string, v any) { w.Set("llama."+key, v) }
	w.Set("general.architecture", "llama")
	if r.peer {
		w.Set("tokenizer.ggml.model", "none")
		set("vocab_size", uint32(r.vocab))
	}
	set("block_count", uint32(r.depth()))
	set("embedding_length", uint32(r.embd))
	set("feed_forward_length", uint32(r.ff))
	set("context_length", uint32(r.ctx))
	set("attention.head_count", uint32(r.heads))
	set("attention.head_count_kv", uint32(r.kvHeads))
	set("attention.layer_norm_rms_epsilon", float32(1e-5))
	if r.head != 0 {
		set("attention.key_length", uint32(r.head))
		set("attention.value_length", uint32(r.head))
	}
	if r.rotated != 0 {
		set("rope.dimension_count", uint32(r.rotated))
	}
	if r.linear != 0 {
		set("rope.scaling.type", "linear")
		set("rope.scaling.factor", r.linear)
	}
	if r.ropeBase != 0 {
		set("rope.freq_base", r.ropeBase)
	}
}

// layer adds a layer. As in files named Q4_K_M, layers differ in the formats of values and of the last matrix.
func (r *random) layer(t *testing.T, w *gguf.Writer, rng *rand.Rand, i int) {
	prefix, head, better := fmt.Sprintf("blk.%d.", i), r.headSize(), r.stored
	if i == 0 && r.inBlocks() && r.output != dtype.Invalid {
		better = r.output
	}
	r.vector(t, w, rng, prefix+"attn_norm.weight", r.embd, 1)
	r.matrix(t, w, rng, prefix+"attn_q.weight", r.stored, r.heads*head, r.embd)
	r.matrix(t, w, rng, prefix+"attn_k.weight", r.stored, r.kvHeads*head, r.embd)
	r.matrix(t, w, rng, prefix+"attn_v.weight", better, r.kvHeads*head, r.embd)
	r.matrix(t, w, rng, prefix+"attn_output.weight", r.stored, r.embd, r.heads*head)
	r.vector(t, w, rng, prefix+"ffn_norm.weight", r.embd, 1)
	r.matrix(t, w, rng, prefix+"ffn_gate.weight", r.stored, r.ff, r.embd)
	r.matrix(t, w, rng, prefix+"ffn_up.weight", r.stored, r.ff, r.embd)
	r.matrix(t, w, rng, prefix+"ffn_down.weight", better, r.embd, r.ff)
}

// matrix adds a matrix whose products keep the size of what they multiply.
func (r *random) matrix(t *testing.T, w *gguf.Writer, rng *rand.Rand, name string, d dtype.DType, rows, cols int) {
	scale := 1 / math.Sqrt(float64(cols))
	if name == "token_embd.weight" {
		scale = 1
	}
	if d.Expansion().Valid() {
		r.add(t, w, name, d, []int{rows, cols}, randomBlocks(t, rng, d, rows*cols, scale))
		return
	}
	r.tensor(t, w, name, d, []int{rows, cols}, func() float32 { return float32(rng.NormFloat64() * scale) })
}

// randomBlocks returns n elements of a format that is only read: random bits, and scales that make the elements' root
// mean square scale.
func randomBlocks(t *testing.T, rng *rand.Rand, d dtype.DType, n int, scale float64) []byte {
	t.Helper()
	data, exact := make([]byte, d.Bytes(n)), make([]float64, d.BlockElems())
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	for at := 0; at < len(data); at += d.BlockBytes() {
		block := data[at:][:d.BlockBytes()]
		setScale(d, block, 1)
		if err := dtype.Decode(d, exact, block); err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, x := range exact {
			sum += x * x
		}
		setScale(d, block, float32(scale/math.Sqrt(sum/float64(len(exact)))))
	}
	return data
}

// setScale sets the scale of a block. That of IQ1_M is in the upper halves of the last four bytes with odd offsets.
func setScale(d dtype.DType, block []byte, scale float32) {
	h := dtype.F32ToF16(scale)
	for _, at := range d.ScaleOffsets() {
		binary.LittleEndian.PutUint16(block[at:], h)
	}
	if d == dtype.IQ1_M {
		for i := range 4 {
			b := &block[49+2*i]
			*b = *b&15 | byte(h>>(4*i)&15)<<4
		}
	}
}

// vector adds positive numbers around a mean.
func (r *random) vector(t *testing.T, w *gguf.Writer, rng *rand.Rand, name string, n int, mean float64) {
	r.tensor(t, w, name, dtype.F32, []int{n}, func() float32 { return float32(mean * (0.75 + rng.Float64()/2)) })
}

func (r *random) tensor(t *testing.T, w *gguf.Writer, name string, d dtype.DType, shape []int, draw func() float32) {
	t.Helper()
	n := 1
	for _, s := range shape {
		n *= s
	}
	data, values := make([]byte, d.Bytes(n)), make([]float32, n)
	for i := range values {
		values[i] = draw()
	}
	if err := dtype.Encode(d, data, values); err != nil {
		t.Fatal(err)
	}
	r.add(t, w, name, d, shape, data)
}

// add adds a tensor of the given bytes.
func (r *random) add(t *testing.T, w *gguf.Writer, name string, d dtype.DType, shape []int, data []byte) {
	t.Helper()
	exact := make([]float64, len(data)/d.BlockBytes()*d.BlockElems())
	if err := dtype.Decode(d, exact, data); err != nil {
		t.Fatal(err)
	}
	r.weights[name] = exact
	typ, err := gguf.TypeOf(d)
	if err != nil {
		t.Fatal(err)
	}
	w.Tensor(name, typ, shape, func(out io.Writer) error { _, err := out.Write(data); return err })
}

func (r *random) loadOptions() driver.LoadOptions {
	return driver.LoadOptions{Context: r.ctx, Batch: r.batch, KV: r.kv, Quantize: r.quantize}
}
