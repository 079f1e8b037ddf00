package runtime

import (
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// TestContradictoryLanguageModelPanicsInOpen: contradictions in the tables of a language model are found before any
// step.
func TestContradictoryLanguageModelPanicsInOpen(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(p *Program)
		want   string
	}{
		{"good", func(*Program) {}, ""},
		{"one function for both", func(p *Program) { p.LM.Decode = p.LM.Prefill }, ""},
		{"prompts by single tokens", func(p *Program) {
			p.Funcs[0].Inputs[0].Dims, p.Funcs[0].Inputs[1].Dims = []Dim{{Const: 1}}, []Dim{{Const: 1}}
			p.LM.Batch = 1
		}, ""},
		{"no function", func(p *Program) { p.LM.Decode.Func = 2 }, "function 2 of 2"},
		{"a negative function", func(p *Program) { p.LM.Prefill.Func = -1 }, "function -1 of 2"},
		{"no ids", func(p *Program) { p.LM.Prefill.Tokens = -1 }, "prefill: input -1 of 2"},
		{"no such input", func(p *Program) { p.LM.Decode.Slot = 2 }, "decode: input 2 of 2"},
		{"a negative input", func(p *Program) { p.LM.Decode.Slot = -2 }, "decode: input -2 of 2"},
		{"two roles", func(p *Program) { p.LM.Decode.Slot = 1 }, "decode: input 1 of 2 has a role, or two"},
		{"roles of each other", func(p *Program) { p.LM.Decode.Tokens, p.LM.Decode.Pos = 1, 0 }, "cannot hold up to 63"},
		{"no such output", func(p *Program) { p.LM.Prefill.Logits = 1 }, "output 1 of 1"},
		{"another vocabulary", func(p *Program) { p.LM.Vocab++ }, "logits is no row of 33 logits"},
		{"another context", func(p *Program) { p.LM.Context++ }, "pos cannot hold up to 64"},
		{"another batch", func(p *Program) { p.LM.Batch++ }, "batch 9, its prefill takes 8 tokens"},
		{"no context", func(p *Program) { p.LM.Context = 0 }, "context 0"},
		{"another bound", func(p *Program) { p.Symbols[0].Max++ }, "batch 8, its prefill takes 9 tokens"},
		{"no single token", func(p *Program) { p.Symbols[0].Min = 2 }, "no step can take any number of tokens"},
		{"twice the tokens", func(p *Program) { p.Funcs[0].Inputs[0].Dims = []Dim{{Sym: 0, Scale: 2}} }, "no step can take any number of tokens"},
		{"other positions than tokens", func(p *Program) { p.Funcs[1].Inputs[1].Dims = []Dim{{Const: 1}} }, "decode: pos cannot hold"},
		{"ids of eight bytes", func(p *Program) { p.Funcs[1].Inputs[0].Type = dtype.I64 }, "decode: tokens cannot hold"},
		{"few rows", func(p *Program) { p.Funcs[1].Inputs[0].Below = []Dim{{Const: toyVocab - 1}} }, "decode: tokens cannot hold up to 31"},
		{"rows of a symbol", func(p *Program) { p.Funcs[0].Inputs[0].Below = []Dim{{Const: toyVocab}, {Scale: toyVocab - 1}} }, "prefill: tokens cannot hold up to 31"},
		{"enough rows of a symbol", func(p *Program) { p.Funcs[0].Inputs[0].Below = []Dim{{Const: toyVocab}, {Scale: toyVocab}} }, ""},
		{"logits of two bytes", func(p *Program) { p.Funcs[0].Outputs[0].Type = dtype.F16 }, "prefill: logits is no row"},
		{"another tokenizer", func(p *Program) { p.Tokenizer = toyTokenizer(t); widen(p, toyVocab+1) }, "the tokenizer has 32 ids, LM 33"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := toyProgram()
			for i := range p.Funcs {
				p.Funcs[i].Inputs, p.Funcs[i].Outputs = append([]Tensor(nil), p.Funcs[i].Inputs...), append([]Tensor(nil), p.Funcs[i].Outputs...)
			}
			c.change(p)
			defer func() {
				said, _ := recover().(string)
				if (said == "") != (c.want == "") || !strings.Contains(said, c.want) {
					t.Errorf("got %q, want %q", said, c.want)
				}
			}()
			m, err := Open(p, Options{Threads: 1})
			if err != nil {
				t.Fatal(err)
			}
			m.Close()
		})
	}
}

// widen gives a program another number of logits.
func widen(p *Program, vocab int) {
	p.LM.Vocab, p.IOBytes = vocab, 2*p.IOBytes
	for i := range p.Funcs {
		p.Funcs[i].Inputs[0].Below = []Dim{{Const: vocab}}
		p.Funcs[i].Outputs[0].Dims = []Dim{{Const: 1}, {Const: vocab}}
	}
}
