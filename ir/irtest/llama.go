package irtest

import (
	"fmt"
	"strings"
)

// Llama describes a small model for tests, as it is after packing.
type Llama struct {
	Layers, heads, KvHeads, Head, ff, vocab, ctx int
	Tokens                                       string // 1, or the symbol tokens
	Quantized                                    bool
}

var SmallLlama = Llama{Layers: 4, heads: 8, KvHeads: 4, Head: 32, ff: 512, vocab: 320, ctx: 128, Tokens: "1", Quantized: true}

// Text returns the model as .ggir.
func (l Llama) Text() string {
	var b strings.Builder
	b.WriteString("ggir 1\nmodule \"small\"\nafter \"elide-copy\"\nprops imported,shaped,assigned,packed,split,copied\nsymbol tokens 1 64\n")
	l.members(&b)
	l.Entry(&b, "decode")
	return b.String()
}

func (l Llama) width() int { return l.heads * l.Head }

func (l Llama) wtype(rows, cols int) string {
	d := "f32"
	if l.Quantized {
		d = "q8_0"
	}
	return fmt.Sprintf("%s.r16[%d,%d]", d, rows, cols)
}

// layerWeights are the weights of a layer.
func (l Llama) layerWeights() [][2]string {
	n, kv := l.width(), l.KvHeads*l.Head
	norm := fmt.Sprintf("f32[%d]", n)
	return [][2]string{
		{"attn_norm", norm}, {"attn_q", l.wtype(n, n)}, {"attn_k", l.wtype(kv, n)}, {"attn_v", l.wtype(kv, n)},
		{"attn_output", l.wtype(n, n)}, {"ffn_norm", norm}, {"ffn_gate", l.wtype(l.ff, n)}, {"ffn_up", l.wtype(l.ff, n)},
		{"ffn_down", l.wtype(n, l.ff)},
	}
}

func (l Llama) cache() string { return fmt.Sprintf("f16[1,%d,%d,%d]", l.KvHeads, l.ctx, l.Head) }

func (l Llama) members(b *strings.Builder) {
	weight := func(name, typ string) { fmt.Fprintf(b, "weight %q : %s @host\n", name, typ) }
	weight("token_embd", fmt.Sprintf("f32[%d,%d]", l.vocab, l.width()))
	weight("freqs", fmt.Sprintf("f32[%d]", l.Head/2))
	weight("output_norm", fmt.Sprintf("f32[%d]", l.width()))
	weight("output", l.wtype(l.vocab, l.width()))
	for i := range l.Layers {
		for _, w := range l.layerWeights() {
			weight(fmt.Sprintf("blk.%d.%s", i, w[0]), w[1])
		}
	}
	for i := range l.Layers {
		fmt.Fprintf(b, "state \"k.%d\" : %s @host\nstate \"v.%d\" : %s @host\n", i, l.cache(), i, l.cache())
	}
}

// Entry writes a function that computes the logits of all tokens.
func (l Llama) Entry(b *strings.Builder, name string) {
	p := func(format string, args ...any) { fmt.Fprintf(b, "  "+format+"\n", args...) }
	act := func(inner ...int) string {
		text := "f32[" + l.Tokens
		for _, n := range inner {
			text += fmt.Sprintf(",%d", n)
		}
		return text + "]"
	}
	work := func(name, op, typ string) { p("%%%s = %s : %s in host @cpu split=0", name, op, typ) }
	leaf := func(name, w, typ string) { p("%%%s = weight %q : %s @host", name, w, typ) }
	n, kv := l.width(), l.KvHeads*l.Head
	fmt.Fprintf(b, "func @%s(%%token: i32[%s] @host, %%pos: i32[%s] @host, %%slot: i32[%s] @host, %%length: i32[1] @host) -> (logits: %s) {\n", name, l.Tokens, l.Tokens, l.Tokens, act(l.vocab))
	leaf("embd", "token_embd", fmt.Sprintf("f32[%d,%d]", l.vocab, n))
	leaf("fr", "freqs", fmt.Sprintf("f32[%d]", l.Head/2))
	work("x0", "gather %embd, %token", act(n))
	work("rope", "rope_table %pos, %fr", act(l.Head/2, 2))
	for i := range l.Layers {
		v := func(s string) string { return fmt.Sprintf("%s%d", s, i) }
		for _, w := range l.layerWeights() {
			leaf(v(w[0]+"."), fmt.Sprintf("blk.%d.%s", i, w[0]), w[1])
		}
		p("%%%s = state \"k.%d\" : %s @host", v("k.state"), i, l.cache())
		p("%%%s = state \"v.%d\" : %s @host", v("v.state"), i, l.cache())
		xn := l.norm(work, act, v("an"), fmt.Sprintf("x%d", i), v("attn_norm."), n)
		for _, m := range []struct {
			name  string
			rows  int
			heads int
		}{{"q", n, l.heads}, {"k", kv, l.KvHeads}, {"v", kv, l.KvHeads}} {
			work(v(m.name+"f"), fmt.Sprintf("matmul %%%s, %%%s", xn, v("attn_"+m.name+".")), act(m.rows))
			p("%%%s = reshape %%%s {shape=[%s,%d,%d]} : %s in host", v(m.name), v(m.name+"f"), l.Tokens, m.heads, l.Head, act(m.heads, l.Head))
		}
		work(v("qr"), fmt.Sprintf("rope %%%s, %%rope", v("q")), act(l.heads, l.Head))
		work(v("kr"), fmt.Sprintf("rope %%%s, %%rope", v("k")), act(l.KvHeads, l.Head))
		work(v("k.new"), fmt.Sprintf("state_write %%%s, %%%s, %%slot, %%pos", v("k.state"), v("kr")), l.cache())
		work(v("v.new"), fmt.Sprintf("state_write %%%s, %%%s, %%slot, %%pos", v("v.state"), v("v")), l.cache())
		work(v("att"), fmt.Sprintf("attention %%%s, %%%s, %%%s, %%slot, %%pos, %%length {scale=0.125}", v("qr"), v("k.new"), v("v.new")), act(l.heads, l.Head))
		p("%%%s = reshape %%%s {shape=[%s,%d]} : %s in host", v("attf"), v("att"), l.Tokens, n, act(n))
		work(v("y"), fmt.Sprintf("matmul %%%s, %%%s, %%x%d", l.quantize(work, v("attf"), n), v("attn_output."), i), act(n))
		fn := l.norm(work, act, v("fn"), v("y"), v("ffn_norm."), n)
		work(v("h"), fmt.Sprintf("matmul_swiglu %%%s, %%%s, %%%s", fn, v("ffn_gate."), v("ffn_up.")), act(l.ff))
		work(fmt.Sprintf("x%d", i+1), fmt.Sprintf("matmul %%%s, %%%s, %%%s", l.quantize(work, v("h"), l.ff), v("ffn_down."), v("y")), act(n))
	}
	leaf("onorm", "output_norm", fmt.Sprintf("f32[%d]", n))
	leaf("out", "output", l.wtype(l.vocab, n))
	work("logits", fmt.Sprintf("matmul %%%s, %%out", l.norm(work, act, "final", fmt.Sprintf("x%d", l.Layers), "onorm", n)), act(l.vocab))
	b.WriteString("  return %logits\n}\n")
}

func (l Llama) norm(work func(name, op, typ string), act func(...int) string, name, x, w string, n int) string {
	if l.Quantized {
		work(name, fmt.Sprintf("rms_norm_quantize %%%s, %%%s {eps=1e-05}", x, w), "q8a"+strings.TrimPrefix(act(n), "f32"))
	} else {
		work(name, fmt.Sprintf("rms_norm %%%s, %%%s {eps=1e-05}", x, w), act(n))
	}
	return name
}

func (l Llama) quantize(work func(name, op, typ string), x string, n int) string {
	if !l.Quantized {
		return x
	}
	work(x+".q", "quantize %"+x, fmt.Sprintf("q8a[%s,%d]", l.Tokens, n))
	return x + ".q"
}
