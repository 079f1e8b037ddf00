package passtest

import (
	"fmt"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
)

// Transformer describes a model of the llama family for tests and tables: the entry points
// decode, for one token, and prefill, for up to Batch. It has shapes and no weights' bytes.
type Transformer struct {
	Layers, Heads, KVHeads, Head int
	FF, Vocab, Ctx, Batch        int
	Experts, Chosen              int    // of a mixture; no experts is a dense model
	Weights                      string // dtype of the matrices, such as q8_0
}

// Module returns the model as it is imported.
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

type transformerText struct {
	Transformer
	b      strings.Builder
	tokens string
}

func (w *transformerText) line(format string, args ...any) { fmt.Fprintf(&w.b, format+"\n", args...) }

func (w *transformerText) width() int { return w.Heads * w.Head }

// layerWeights returns name and type of the weights of a layer, in the order of use.
func (w *transformerText) layerWeights() [][2]string {
	n, kv := w.width(), w.KVHeads*w.Head
	norm := fmt.Sprintf("f32[%d]", n)
	matrix := func(dims ...int) string {
		texts := make([]string, len(dims))
		for i, d := range dims {
			texts[i] = fmt.Sprint(d)
		}
		return w.Weights + "[" + strings.Join(texts, ",") + "]"
	}
	list := [][2]string{
		{"attn_norm", norm}, {"attn_q", matrix(n, n)}, {"attn_k", matrix(kv, n)}, {"attn_v", matrix(kv, n)},
		{"attn_output", matrix(n, n)}, {"ffn_norm", norm},
	}
	if w.Experts == 0 {
		return append(list, [2]string{"ffn_gate", matrix(w.FF, n)}, [2]string{"ffn_up", matrix(w.FF, n)}, [2]string{"ffn_down", matrix(n, w.FF)})
	}
	return append(list, [2]string{"ffn_router", fmt.Sprintf("f32[%d,%d]", w.Experts, n)}, [2]string{"ffn_gate_exps", matrix(w.Experts, w.FF, n)},
		[2]string{"ffn_up_exps", matrix(w.Experts, w.FF, n)}, [2]string{"ffn_down_exps", matrix(w.Experts, n, w.FF)})
}

func (w *transformerText) cache() string {
	return fmt.Sprintf("f16[1,%d,%d,%d]", w.KVHeads, w.Ctx, w.Head)
}

// shared are the weights that belong to no layer.
func (w *transformerText) shared() [][2]string {
	n := w.width()
	return [][2]string{
		{"token_embd", fmt.Sprintf("%s[%d,%d]", w.Weights, w.Vocab, n)}, {"rope_freqs", fmt.Sprintf("f32[%d]", w.Head/2)},
		{"output_norm", fmt.Sprintf("f32[%d]", n)}, {"output", fmt.Sprintf("%s[%d,%d]", w.Weights, w.Vocab, n)},
	}
}

func (w *transformerText) members() {
	for _, x := range w.shared() {
		w.line("weight %q : %s", x[0], x[1])
	}
	for i := range w.Layers {
		for _, x := range w.layerWeights() {
			w.line("weight \"blk.%d.%s\" : %s", i, x[0], x[1])
		}
	}
	for i := range w.Layers {
		w.line("state \"k.%d\" : %s\nstate \"v.%d\" : %s", i, w.cache(), i, w.cache())
	}
}

func (w *transformerText) entry(name, tokens string) {
	w.tokens = tokens
	ints := "i32[" + tokens + "]"
	w.line("func @%s(%%token: %s, %%pos: %s, %%slot: %s, %%length: i32[1]) -> (logits: f32[%s,%d]) {", name, ints, ints, ints, tokens, w.Vocab)
	for _, x := range w.shared() {
		w.line("%%%s = weight %q : %s", x[0], x[0], x[1])
	}
	w.line("%%x0 = gather %%token_embd, %%token\n%%rope = rope_table %%pos, %%rope_freqs")
	for i := range w.Layers {
		w.layer(i)
	}
	w.line("%%last = rms_norm %%x%d, %%output_norm {eps=1e-05}\n%%logits = matmul %%last, %%output\nreturn %%logits\n}", w.Layers)
}

// layer writes a layer. In its text # stands for the layer's number, T for the number of
// tokens.
func (w *transformerText) layer(i int) {
	for _, x := range w.layerWeights() {
		w.numbered(i, "%"+x[0]+"# = weight \"blk.#."+x[0]+"\" : "+x[1])
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

func (w *transformerText) numbered(i int, text string) {
	w.line("%s", strings.NewReplacer("#", fmt.Sprint(i), "CACHE", w.cache(), "CHOSEN", fmt.Sprint(w.Chosen), "[T,", "["+w.tokens+",",
		"HEADS", fmt.Sprint(w.Heads), "HEAD", fmt.Sprint(w.Head), "KV", fmt.Sprint(w.KVHeads), "WIDTH", fmt.Sprint(w.width())).Replace(text))
}
