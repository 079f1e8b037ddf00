package passtest

import (
	"fmt"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
)

// Transformer describes a model of the llama family for tests and tables. It has the entry points decode, for one
// token, and prefill, for up to Batch tokens. The module has the shapes of weights, without their bytes.
type Transformer struct {
	Layers  int
	Heads   int    // of queries
	KVHeads int    // of keys and values
	Head    int    // elements of a head
	FF      int    // width of the feed-forward network
	Vocab   int    // tokens
	Ctx     int    // positions of the caches
	Batch   int    // tokens of a prefill
	Experts int    // of a mixture of experts; 0 makes a dense model
	Chosen  int    // experts for each token
	Weights string // dtype of the matrices, such as q8_0
}

// Module returns the model as a module at the level imported.
func (c Transformer) Module() (*ir.Module, error) {
	return ir.Parse("transformer.ggir", []byte(c.Text()))
}

// Text returns the model as .ggir.
func (c Transformer) Text() string {
	w := &transformerText{Transformer: c}
	w.line("ggir 1\nmodule \"transformer\"\nafter import\nprops imported\nsymbol tokens 1 %d", c.Batch)
	w.members()
	w.entry("decode", "1")
	w.entry("prefill", "tokens")
	return w.b.String()
}

// transformerText writes the text of a model.
type transformerText struct {
	Transformer
	b      strings.Builder
	tokens string // dimension of the tokens of the entry point that is written
}

func (w *transformerText) line(format string, args ...any) { fmt.Fprintf(&w.b, format+"\n", args...) }

// width returns the number of elements of the residual stream.
func (w *transformerText) width() int { return w.Heads * w.Head }

// member is a weight of the module.
type member struct{ name, typ string }

// layerWeights returns the names and types of the weights of a layer, in the order of use.
func (w *transformerText) layerWeights() []member {
	n, kv := w.width(), w.KVHeads*w.Head
	norm := fmt.Sprintf("f32[%d]", n)
	matrix := func(dims ...int) string {
		texts := make([]string, len(dims))
		for i, d := range dims {
			texts[i] = fmt.Sprint(d)
		}
		return w.Weights + "[" + strings.Join(texts, ",") + "]"
	}
	attention := []member{
		{"attn_norm", norm}, {"attn_q", matrix(n, n)}, {"attn_k", matrix(kv, n)}, {"attn_v", matrix(kv, n)},
		{"attn_output", matrix(n, n)}, {"ffn_norm", norm},
	}
	if w.Experts == 0 {
		return append(attention, []member{
			{"ffn_gate", matrix(w.FF, n)}, {"ffn_up", matrix(w.FF, n)}, {"ffn_down", matrix(n, w.FF)},
		}...)
	}
	return append(attention, []member{
		{"ffn_router", fmt.Sprintf("f32[%d,%d]", w.Experts, n)},
		{"ffn_gate_exps", matrix(w.Experts, w.FF, n)},
		{"ffn_up_exps", matrix(w.Experts, w.FF, n)},
		{"ffn_down_exps", matrix(w.Experts, n, w.FF)},
	}...)
}

// cache returns the type of a cache of keys or values.
func (w *transformerText) cache() string {
	return fmt.Sprintf("f16[1,%d,%d,%d]", w.KVHeads, w.Ctx, w.Head)
}

// shared returns the names and types of the weights outside of layers.
func (w *transformerText) shared() []member {
	n := w.width()
	table := fmt.Sprintf("%s[%d,%d]", w.Weights, w.Vocab, n)
	return []member{
		{"token_embd", table}, {"rope_freqs", fmt.Sprintf("f32[%d]", w.Head/2)},
		{"output_norm", fmt.Sprintf("f32[%d]", n)}, {"output", table},
	}
}

// members writes the weights and states of the module.
func (w *transformerText) members() {
	for _, x := range w.shared() {
		w.line("weight %q : %s", x.name, x.typ)
	}
	for i := range w.Layers {
		for _, x := range w.layerWeights() {
			w.line("weight \"blk.%d.%s\" : %s", i, x.name, x.typ)
		}
	}
	for i := range w.Layers {
		w.line("state \"k.%d\" : %s\nstate \"v.%d\" : %s", i, w.cache(), i, w.cache())
	}
}

// entry writes an entry point for a number of tokens: 1 or a symbol.
func (w *transformerText) entry(name, tokens string) {
	w.tokens = tokens
	ints := "i32[" + tokens + "]"
	w.line("func @%s(%%token: %s, %%pos: %s, %%slot: %s, %%length: i32[1]) -> (logits: f32[%s,%d]) {",
		name, ints, ints, ints, tokens, w.Vocab)
	for _, x := range w.shared() {
		w.line("%%%s = weight %q : %s", x.name, x.name, x.typ)
	}
	w.line("%%x0 = gather %%token_embd, %%token\n%%rope = rope_table %%pos, %%rope_freqs")
	for i := range w.Layers {
		w.layer(i)
	}
	w.line("%%last = rms_norm %%x%d, %%output_norm {eps=1e-05}", w.Layers)
	w.line("%%logits = matmul %%last, %%output\nreturn %%logits\n}")
}

// layer writes layer i. See numbered for the words that are replaced in its text.
func (w *transformerText) layer(i int) {
	for _, x := range w.layerWeights() {
		w.numbered(i, "%"+x.name+"# = weight \"blk.#."+x.name+"\" : "+x.typ)
	}
	w.numbered(i, `%ks# = state "k.#" : CACHE
%vs# = state "v.#" : CACHE
%an# = rms_norm %x#, %attn_norm# {eps=1e-05}
%qf# = matmul %an#, %attn_q#
%kf# = matmul %an#, %attn_k#
%vf# = matmul %an#, %attn_v#
%q# = reshape %qf# {shape=[T,HEADS,HEAD]}
%k# = reshape %kf# {shape=[T,KV,HEAD]}
%v# = reshape %vf# {shape=[T,KV,HEAD]}
%qr# = rope %q#, %rope
%kr# = rope %k#, %rope
%kn# = state_write %ks#, %kr#, %slot, %pos
%vn# = state_write %vs#, %v#, %slot, %pos
%att# = attention %qr#, %kn#, %vn#, %slot, %pos, %length {scale=0.125}
%attf# = reshape %att# {shape=[T,WIDTH]}
%ao# = matmul %attf#, %attn_output#
%y# = add %ao#, %x#
%fn# = rms_norm %y#, %ffn_norm# {eps=1e-05}`)
	if w.Experts == 0 {
		w.numbered(i, `%g# = matmul %fn#, %ffn_gate#
%u# = matmul %fn#, %ffn_up#
%s# = silu %g#
%h# = mul %s#, %u#
%d# = matmul %h#, %ffn_down#`)
	} else {
		w.numbered(i, `%r# = matmul %fn#, %ffn_router#
%idx# = top_k %r# {k=CHOSEN}
%rc# = take %r#, %idx#
%p# = softmax %rc#
%fx# = reshape %fn# {shape=[T,1,WIDTH]}
%g# = experts_matmul %fx#, %ffn_gate_exps#, %idx#
%u# = experts_matmul %fx#, %ffn_up_exps#, %idx#
%h# = swiglu %g#, %u#
%e# = experts_matmul %h#, %ffn_down_exps#, %idx#
%d# = experts_sum %e#, %p#`)
	}
	w.numbered(i, fmt.Sprintf("%%x%d = add %%d#, %%y#", i+1))
}

// numbered writes a text of layer i. It replaces # by i, T by the number of tokens, and words in capital letters by
// sizes of the model.
func (w *transformerText) numbered(i int, text string) {
	words := strings.NewReplacer(
		"#", fmt.Sprint(i), "[T,", "["+w.tokens+",", "CACHE", w.cache(), "CHOSEN", fmt.Sprint(w.Chosen),
		"HEADS", fmt.Sprint(w.Heads), "HEAD", fmt.Sprint(w.Head), "KV", fmt.Sprint(w.KVHeads),
		"WIDTH", fmt.Sprint(w.width()))
	w.line("%s", words.Replace(text))
}
