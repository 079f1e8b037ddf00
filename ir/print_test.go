package ir

import (
	"strings"
	"testing"
)

// fullText is a module with everything that the text form can hold.
const fullText = `ggir 1
module "story"
after plan
props imported,shaped
target cpu threads=64
option ctx=4096
header "odd key" "two\nlines"
source m "../model.gguf" 1068640 0ab12e
source "odd name" "x" 1
symbol tokens 1 512
symbol kv 0 4096
meta "lm.arch" "llama"
weight "w" : q8_0.r16[16,32] @dev0 = pack(m["w"], r16) at 0:0x0+1088
weight "e" : f32[32] = concat(m["a"], "odd name"["b"], quantize(literal "00ff", f32), file "x", rows(columns(m["c"], 32, 64), 0, 7))
state "k.0" : f16[1,1,128,16] @host at 1.1:0x40+4096
func @decode(%x: f32[tokens,32] @host at 2:0x0+128, %"p q": i32[1]) -> (logits: f32[tokens,16], i32[1]) doc="one step" observed=["h", "n 1", "n"] epochs=3 {
  %w = weight "w" : q8_0.r16[16,32] @dev0
  %n = weight "e" : f32[32] backend=cpu
  %c = constant "0000803f" : f32[]
  %h = rms_norm %x, %n {eps=1e-05} : f32[tokens,32] in dev0 @gpu0 split=1 part=split(0, tokens, 16) epoch=3 queue=gpu0.in slots=4 within=split(0, tokens, 16) concurrent=true wait=[1,2] waitprev=[3] event=4 pos="blk.0" at 2:0x40+256 ; assign/1.wgt %w "a b" @gpu0 was "cpu" now "gpu0" ; fuse/norm-scale
  observe %h {names=["h"]} @cpu split=0 part=one epoch=3 wait=[4] pos="blk.0"
  %y = matmul %h, %w : f32[tokens,16] @cpu
  %s = slice %y {axis=1, start=0, len=8} : f32[tokens,8 strides 16,1]
  %o, %o.1 = foreign "MUL_MAT" %s, _, %c {source="x.txt", srcs=[0,2]} : f32[(tokens+31)/32], i32[2*((tokens+1)/2)] @"gpu 0" part=split(0, tokens, 8, dynamic) at -, 3:0x10+4
  %r = repeat %h, %n, %w, %w {count=2, carried=1, invariant=1} : f32[tokens,32] split=0 part=replicated
  body @layer(%a: f32[tokens,32], %b: f32[32], %w: q8_0.r16[16,32]) -> f32[tokens,32] epochs=1 head=barrier {
    %n = rms_norm %a, %b {eps=nan} : f32[tokens,32]
    observe %n {names=["n 1", "n"]} @cpu part=one
    return %n
  }
  return %y, %"p q"
}
func @empty() -> () {
  return
}
plan pipeline=4 {
  arena host activations align=64 chunks=[4096,100] bound=4000 func="decode" setters=["%x", "%h"]
  arena dev0 scratch align=1 chunks=[] bound=0 func="" setters=[]
  func "decode" barriers=3 nodes=40 parts=8 {
    split @cpu
    split @"gpu 0" inputs=["x"] ; split/backend @cpu
  }
}
`

func mustParse(t *testing.T, text string) *Module {
	t.Helper()
	m, err := Parse("test.ggir", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestFullTextIsAFixedPoint(t *testing.T) {
	m := mustParse(t, fullText)
	if got := m.String(); got != fullText {
		t.Errorf("printed:\n%s\nread:\n%s", got, fullText)
	}
	checkRoundTrip(t, m)
	c := m.Clone()
	if equal, diff := Equal(m, c); !equal {
		t.Errorf("the clone differs: %s", diff)
	}
	c.Symbols[0].Max = 7
	if m.Funcs[0].Params[0].Type.Shape[0].Upper() != 512 || c.Funcs[0].Params[0].Type.Shape[0].Upper() != 7 {
		t.Error("the clone shares symbols")
	}
	checkNothingShared(t, m, mustParse(t, fullText))
}

// checkRoundTrip checks that m is printed and read back without loss.
func checkRoundTrip(t *testing.T, m *Module) {
	t.Helper()
	text := m.String()
	back, err := Parse("printed", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if equal, diff := Equal(m, back); !equal {
		t.Errorf("reading back loses: %s\n%s", diff, text)
	}
	if Hash(m) != Hash(back) {
		t.Error("hashes differ")
	}
}

// checkNothingShared changes everything in a clone of m and expects m to stay as want is.
func checkNothingShared(t *testing.T, m, want *Module) {
	t.Helper()
	c := m.Clone()
	for _, s := range c.Symbols {
		s.Name += "x"
	}
	for _, f := range c.AllFuncs() {
		for _, n := range f.Nodes {
			n.Pos += "x"
			n.Args = append(n.Args[:0], nil)
			n.Cause(Cause{Rule: "x"})
			for _, r := range n.Results {
				r.name += "x"
				r.Place = &Place{}
			}
		}
	}
	for _, w := range c.Weights {
		w.Expr.Op = ExprFile
		w.Type.Shape[0] = Const(99)
	}
	c.Plan.Arenas[0].Chunks[0]++
	if equal, diff := Equal(m, want); !equal {
		t.Errorf("changing a clone changes the original: %s", diff)
	}
}

func TestShortFormDeclaresWeights(t *testing.T) {
	m := mustParse(t, `func @f(%x: f32[4,32] @host) -> f32[4,16] {
  %w = weight "w" : q8_0[16,32] @dev0
  %y = matmul %x, %w @gpu0 ; assign/9.old ; assign/1.wgt %w now "gpu0"
  return %y
}`)
	var b strings.Builder
	if err := Print(&b, m, PrintOptions{Show: ShowBackend | ShowCause, Bare: true}); err != nil {
		t.Fatal(err)
	}
	const want = "func @f\n  %y = matmul %x, %w   @gpu0 ; 1.wgt %w\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	if w := m.Weight("w"); w == nil || w.Type.String() != "q8_0[16,32] @dev0" {
		t.Errorf("weight %v", w)
	}
	checkRoundTrip(t, m)
}

func TestNarrowedTextIsMarkedAndRefused(t *testing.T) {
	m := mustParse(t, fullText)
	for _, opts := range []PrintOptions{
		{Show: ShowTypes},
		{Show: ShowAll &^ ShowPos},
		{Show: ShowAll, Funcs: []string{"empty"}},
	} {
		var b strings.Builder
		if err := Print(&b, m, opts); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(b.String(), "ggir 1\npartial\n") {
			t.Errorf("%+v: not marked:\n%s", opts, b.String())
		}
		if _, err := Parse("t", []byte(b.String())); err == nil {
			t.Errorf("%+v: read back", opts)
		}
		if opts.Funcs != nil && strings.Contains(b.String(), "@decode") {
			t.Errorf("%+v: shows another function", opts)
		}
	}
}

func TestColumnsShowOnlyTheirPart(t *testing.T) {
	m := mustParse(t, fullText)
	tests := []struct {
		show Show
		want string // at %h
	}{
		{0, "%h = rms_norm %x, %n {eps=1e-05}"},
		{ShowSplit | ShowPartition, "%h = rms_norm %x, %n {eps=1e-05}   split=1 part=split(0, tokens, 16) epoch=3"},
		{ShowPlace | ShowPos, `%h = rms_norm %x, %n {eps=1e-05}   pos="blk.0" at 2:0x40+256`},
		{ShowCause, "%h = rms_norm %x, %n {eps=1e-05}   ; norm-scale"},
		{ShowTypes | ShowBackend, "%h = rms_norm %x, %n {eps=1e-05} : f32[tokens,32] in dev0 @gpu0"},
	}
	for _, tt := range tests {
		var b strings.Builder
		if err := Print(&b, m, PrintOptions{Show: tt.show, Bare: true}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "\n  "+tt.want+"\n") {
			t.Errorf("%v: no line %s in\n%s", tt.show, tt.want, b.String())
		}
	}
}

func TestExpressionsArePrintedAndParsed(t *testing.T) {
	e := Pack(Quantize(Concat(Tensor("m", "a"), Tensor("m", "b")), "q8_0"), "r16")
	if got, want := e.String(), `pack(quantize(concat(m["a"], m["b"]), q8_0), r16)`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	c := e.Clone()
	if !e.Equal(c) || e.Equal(nil) {
		t.Error("a clone differs, or nothing is equal")
	}
	if part := Rows(e, 1, 2); part.Equal(Rows(e, 0, 2)) || part.Equal(Rows(e, 1, 3)) || part.Equal(Columns(e, 1, 2)) || !part.Equal(part.Clone()) {
		t.Error("other rows, or columns, are equal, or a clone differs")
	}
	c.Args[0].Args[0].Args[1].Tensor = "c"
	if e.Equal(c) {
		t.Error("a change of an inner expression is not noticed, or the clone shares it")
	}
}

// TestCutPlansStayMarked parses, clones and compares a plan whose search ran out of time, and its
// number of workers.
func TestCutPlansStayMarked(t *testing.T) {
	m := mustParse(t, "plan {\n}\n")
	m.Plan.Cut, m.Plan.Pipeline, m.Plan.Threads = true, 2, 3
	if text := m.String(); !strings.Contains(text, "plan pipeline=2 threads=3 cut=clock {") {
		t.Errorf("got %s", text)
	}
	back := mustParse(t, m.String())
	if same, diff := Equal(m, back); !same {
		t.Error(diff)
	}
	m.Plan.Cut = false
	if same, _ := Equal(m, back.Clone()); same {
		t.Error("a plan that was cut equals one that was not")
	}
	m.Plan.Cut, m.Plan.Threads = true, 0
	if same, diff := Equal(m, back.Clone()); same || !strings.Contains(diff, "threads") || m.Plan.Workers() != MaxThreads || back.Plan.Workers() != 3 {
		t.Errorf("a plan for 3 workers equals one for all: %q", diff)
	}
	if _, err := Parse("t", []byte("plan cut=moon {\n}\n")); err == nil {
		t.Error("cut=moon is accepted")
	}
}

// TestCauseOperandsAreQuotedWhereNeeded uses operands from Value.String and from parsed texts: names
// are quoted once, if necessary.
func TestCauseOperandsAreQuotedWhereNeeded(t *testing.T) {
	for operand, want := range map[string]string{
		"%v1":              "%v1",
		"%v1.gpu:0":        `%"v1.gpu:0"`,
		`%"v1.gpu:0"`:      `%"v1.gpu:0"`,
		`%"v1`:             `%"\"v1"`,
		"@f":               "@f",
		"npu does not":     `"npu does not"`,
		`"a word of these`: `"\"a word of these"`,
	} {
		if got := causeOperand(operand); got != want {
			t.Errorf("%s: got %s, want %s", operand, got, want)
		}
	}
}
