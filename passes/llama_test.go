package passes

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
)

// llama describes a small model for tests, as it is after packing.
type llama struct {
	layers, heads, kvHeads, head, ff, vocab, ctx int
	tokens                                       string // 1, or the symbol tokens
	quantized                                    bool
}

var smallLlama = llama{layers: 4, heads: 8, kvHeads: 4, head: 32, ff: 512, vocab: 320, ctx: 128, tokens: "1", quantized: true}

// text returns the model as .ggir.
func (l llama) text() string {
	var b strings.Builder
	b.WriteString("ggir 1\nmodule \"small\"\nafter \"elide-copy\"\nprops imported,shaped,assigned,packed,split,copied\nsymbol tokens 1 64\n")
	l.members(&b)
	l.entry(&b, "decode")
	return b.String()
}

func (l llama) width() int { return l.heads * l.head }

func (l llama) wtype(rows, cols int) string {
	d := "f32"
	if l.quantized {
		d = "q8_0"
	}
	return fmt.Sprintf("%s.r16[%d,%d]", d, rows, cols)
}

// layerWeights are the weights of a layer.
func (l llama) layerWeights() [][2]string {
	n, kv := l.width(), l.kvHeads*l.head
	norm := fmt.Sprintf("f32[%d]", n)
	return [][2]string{
		{"attn_norm", norm}, {"attn_q", l.wtype(n, n)}, {"attn_k", l.wtype(kv, n)}, {"attn_v", l.wtype(kv, n)},
		{"attn_output", l.wtype(n, n)}, {"ffn_norm", norm}, {"ffn_gate", l.wtype(l.ff, n)}, {"ffn_up", l.wtype(l.ff, n)},
		{"ffn_down", l.wtype(n, l.ff)},
	}
}

func (l llama) cache() string { return fmt.Sprintf("f16[1,%d,%d,%d]", l.kvHeads, l.ctx, l.head) }

func (l llama) members(b *strings.Builder) {
	weight := func(name, typ string) { fmt.Fprintf(b, "weight %q : %s @host\n", name, typ) }
	weight("token_embd", fmt.Sprintf("f32[%d,%d]", l.vocab, l.width()))
	weight("freqs", fmt.Sprintf("f32[%d]", l.head/2))
	weight("output_norm", fmt.Sprintf("f32[%d]", l.width()))
	weight("output", l.wtype(l.vocab, l.width()))
	for i := range l.layers {
		for _, w := range l.layerWeights() {
			weight(fmt.Sprintf("blk.%d.%s", i, w[0]), w[1])
		}
	}
	for i := range l.layers {
		fmt.Fprintf(b, "state \"k.%d\" : %s @host\nstate \"v.%d\" : %s @host\n", i, l.cache(), i, l.cache())
	}
}

// entry writes a function that computes the logits of all tokens.
func (l llama) entry(b *strings.Builder, name string) {
	p := func(format string, args ...any) { fmt.Fprintf(b, "  "+format+"\n", args...) }
	act := func(inner ...int) string {
		text := "f32[" + l.tokens
		for _, n := range inner {
			text += fmt.Sprintf(",%d", n)
		}
		return text + "]"
	}
	work := func(name, op, typ string) { p("%%%s = %s : %s in host @cpu split=0", name, op, typ) }
	leaf := func(name, w, typ string) { p("%%%s = weight %q : %s @host", name, w, typ) }
	n, kv := l.width(), l.kvHeads*l.head
	fmt.Fprintf(b, "func @%s(%%token: i32[%s] @host, %%pos: i32[%s] @host, %%slot: i32[%s] @host, %%length: i32[1] @host) -> (logits: %s) {\n", name, l.tokens, l.tokens, l.tokens, act(l.vocab))
	leaf("embd", "token_embd", fmt.Sprintf("f32[%d,%d]", l.vocab, n))
	leaf("fr", "freqs", fmt.Sprintf("f32[%d]", l.head/2))
	work("x0", "gather %embd, %token", act(n))
	work("rope", "rope_table %pos, %fr", act(l.head/2, 2))
	for i := range l.layers {
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
		}{{"q", n, l.heads}, {"k", kv, l.kvHeads}, {"v", kv, l.kvHeads}} {
			work(v(m.name+"f"), fmt.Sprintf("matmul %%%s, %%%s", xn, v("attn_"+m.name+".")), act(m.rows))
			p("%%%s = reshape %%%s {shape=[%s,%d,%d]} : %s in host", v(m.name), v(m.name+"f"), l.tokens, m.heads, l.head, act(m.heads, l.head))
		}
		work(v("qr"), fmt.Sprintf("rope %%%s, %%rope", v("q")), act(l.heads, l.head))
		work(v("kr"), fmt.Sprintf("rope %%%s, %%rope", v("k")), act(l.kvHeads, l.head))
		work(v("k.new"), fmt.Sprintf("state_write %%%s, %%%s, %%slot, %%pos", v("k.state"), v("kr")), l.cache())
		work(v("v.new"), fmt.Sprintf("state_write %%%s, %%%s, %%slot, %%pos", v("v.state"), v("v")), l.cache())
		work(v("att"), fmt.Sprintf("attention %%%s, %%%s, %%%s, %%slot, %%pos, %%length {scale=0.125}", v("qr"), v("k.new"), v("v.new")), act(l.heads, l.head))
		p("%%%s = reshape %%%s {shape=[%s,%d]} : %s in host", v("attf"), v("att"), l.tokens, n, act(n))
		work(v("y"), fmt.Sprintf("matmul %%%s, %%%s, %%x%d", l.quantize(work, v("attf"), n), v("attn_output."), i), act(n))
		fn := l.norm(work, act, v("fn"), v("y"), v("ffn_norm."), n)
		work(v("h"), fmt.Sprintf("matmul_swiglu %%%s, %%%s, %%%s", fn, v("ffn_gate."), v("ffn_up.")), act(l.ff))
		work(fmt.Sprintf("x%d", i+1), fmt.Sprintf("matmul %%%s, %%%s, %%%s", l.quantize(work, v("h"), l.ff), v("ffn_down."), v("y")), act(n))
	}
	leaf("onorm", "output_norm", fmt.Sprintf("f32[%d]", n))
	leaf("out", "output", l.wtype(l.vocab, n))
	work("logits", fmt.Sprintf("matmul %%%s, %%out", l.norm(work, act, "final", fmt.Sprintf("x%d", l.layers), "onorm", n)), act(l.vocab))
	b.WriteString("  return %logits\n}\n")
}

func (l llama) norm(work func(name, op, typ string), act func(...int) string, name, x, w string, n int) string {
	if l.quantized {
		work(name, fmt.Sprintf("rms_norm_quantize %%%s, %%%s {eps=1e-05}", x, w), "q8a"+strings.TrimPrefix(act(n), "f32"))
	} else {
		work(name, fmt.Sprintf("rms_norm %%%s, %%%s {eps=1e-05}", x, w), act(n))
	}
	return name
}

func (l llama) quantize(work func(name, op, typ string), x string, n int) string {
	if !l.quantized {
		return x
	}
	work(x+".q", "quantize %"+x, fmt.Sprintf("q8a[%s,%d]", l.tokens, n))
	return x + ".q"
}

// planned runs the passes from roll to plan.
func planned(t *testing.T, m *ir.Module, o Options, targets string) *Stats {
	t.Helper()
	list, err := target.Parse("targets", targets)
	if err != nil {
		t.Fatal(err)
	}
	stats, err := Run(context.Background(), m, RunOptions{Targets: list, Options: o, Passes: []string{"roll", "order", "partition", "plan"}})
	if err != nil {
		t.Fatalf("%v\n%s", err, m)
	}
	return stats
}

const cpuTarget = "target cpu like=cpu"
