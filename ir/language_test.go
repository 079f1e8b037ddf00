package ir

import (
	"fmt"
	"strings"
	"testing"
)

// speaker is a small language model: prefill in a repeat of two layers, decode through a call.
const speaker = `ggir 1
module "speaker"
after import
props imported,shaped
source m "m.gguf" 100
source other "other.gguf" 100
symbol tokens 1 8
symbol kv 1 32
language prefill=@prefill(tokens=%ids, pos=%pos, slot=%slot, lengths=%n, logits=1) decode=@decode(tokens=%ids, pos=%pos, slot=%slot, lengths=%n, logits=0) tokenizer=m
weight "embd" : f32[40,8] = m["embd"]
state "k.0" : f32[1,1,32,8]
state "k.1" : f32[1,1,32,8]
func @prefill(%n: i32[1], %ids: i32[tokens], %pos: i32[tokens], %slot: i32[tokens]) -> (hidden: f32[tokens,8], logits: f32[tokens,40]) {
  %embd = weight "embd" : f32[40,8]
  %k.0 = state "k.0" : f32[1,1,32,8]
  %k.1 = state "k.1" : f32[1,1,32,8]
  %x = gather %embd, %ids : f32[tokens,8]
  %q = reshape %x {shape=[tokens, 1, 8]} : f32[tokens,1,8]
  %at = copy %pos : i32[tokens]
  %y, %same = repeat %q, %at, %slot, %n, %k.0, %k.1 {count=2, carried=2, invariant=2} : f32[tokens,1,8], i32[tokens]
  body @layer(%a: f32[tokens,1,8], %p: i32[tokens], %s: i32[tokens], %len: i32[1], %k: f32[1,1,32,8]) -> (f32[tokens,1,8], i32[tokens]) {
    %w = state_write %k, %a, %s, %p : f32[1,1,32,8]
    %b = attention %a, %w, %w, %s, %p, %len {scale=0.25} : f32[tokens,1,8]
    return %b, %p
  }
  %h = reshape %y {shape=[tokens, 8]} : f32[tokens,8]
  %logits = matmul %h, %embd : f32[tokens,40]
  return %h, %logits
}
func @decode(%ids: i32[1], %pos: i32[1], %slot: i32[1], %n: i32[1]) -> (logits: f32[1,40]) {
  %embd = weight "embd" : f32[40,8]
  %x = gather %embd, %ids : f32[1,8]
  %q = reshape %x {shape=[1, 1, 8]} : f32[1,1,8]
  %y = call @step %n, %slot, %pos, %q : f32[1,1,8]
  %h = reshape %y {shape=[1, 8]} : f32[1,8]
  %logits = matmul %h, %embd : f32[1,40]
  return %logits
}
func @step(%len: i32[1], %s: i32[1], %p: i32[1], %a: f32[1,1,8]) -> f32[1,1,8] {
  %k.0 = state "k.0" : f32[1,1,32,8]
  %k.1 = state "k.1" : f32[1,1,32,8]
  %w0 = state_write %k.0, %a, %s, %p : f32[1,1,32,8]
  %w1 = state_write %k.1, %a, %s, %p : f32[1,1,32,8]
  %parts = attention_segments %a, %w0, %w0, %s, %p, %len {scale=0.25, len=8, segments=(kv+7)/8} : f32[(kv+7)/8,1,1,10]
  %b = attention_combine %parts {kv_heads=1} : f32[1,1,8]
  %c = attention %b, %w1, %w1, %s, %p, %len {scale=0.25} : f32[1,1,8]
  return %c
}
`

func TestLanguageModelIsPrintedAndParsed(t *testing.T) {
	m := mustParse(t, speaker)
	if err := Verify(m); err != nil {
		t.Fatal(err)
	}
	if v, c, b := m.Vocab(), m.Context(), m.Batch(); v != 40 || c != 32 || b != 8 {
		t.Errorf("vocabulary %d, context %d, batch %d", v, c, b)
	}
	want := LanguageModel{
		Prefill:   LanguageEntry{Func: "prefill", Tokens: 1, Pos: 2, Slot: 3, Lengths: 0, Logits: 1},
		Decode:    LanguageEntry{Func: "decode", Tokens: 0, Pos: 1, Slot: 2, Lengths: 3},
		Tokenizer: "m",
	}
	if *m.LM != want {
		t.Errorf("got %+v\nwant %+v", *m.LM, want)
	}
	again := mustParse(t, m.String())
	if equal, diff := Equal(m, again); !equal {
		t.Error(diff)
	}
	c := m.Clone()
	if equal, diff := Equal(m, c); !equal {
		t.Error(diff)
	}
	c.LM.Decode.Pos = 2
	if equal, _ := Equal(m, c); equal || m.LM.Decode.Pos != 1 || Hash(m) == Hash(c) {
		t.Error("a copy shares roles with the module, or they are not compared")
	}
	if c.LM = nil; c.Clone().LM != nil {
		t.Error("a copy has a language model of its own")
	}
}

// TestLanguageSyntaxErrorsAreLocated has errors in the line language itself.
func TestLanguageSyntaxErrorsAreLocated(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"prefill=@prefill(tokens=%ids", "prefill=@prefill(tokens=%idz", "speaker:9:34: @prefill has no parameter %idz: it has %n, %ids, %pos, %slot"},
		{"decode=@decode", "decode=@nosuch", "speaker:9:91: there is no function @nosuch: the module has @prefill, @decode, @step"},
		{"tokens=%ids, pos", "tokens=%ids, tokens=%ids, pos", "speaker:9:46: tokens is given twice"},
		{"tokens=%ids", "words=%ids", "speaker:9:27: unknown role words: the known ones are tokens, pos, slot, lengths, logits"},
		{"tokens=%ids", "tokens=1", "speaker:9:34: 1 where a parameter is expected"},
		{"logits=1", "logits=%h", "speaker:9:81: %h where a whole number is expected"},
		{" decode=@decode(", " prefill=@decode(", "prefill is given twice"},
		{" tokenizer=m", " tokenizer=m tokenizer=m", "tokenizer is given twice"},
		{"language prefill=", "language decode=@decode(logits=0)\nlanguage prefill=", "speaker:9:34: end of line where prefill=@FUNCTION(…) is expected"},
		{"\nweight", "\nlanguage prefill=@prefill(logits=0) decode=@decode(logits=0)\nweight", "there is a language model already"},
	} {
		text := strings.Replace(speaker, c.old, c.new, 1)
		if text == speaker {
			t.Fatalf("%q is not in the text", c.old)
		}
		_, err := Parse("speaker", []byte(text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.new, err, c.want)
		}
	}
}

// TestLanguageViolationsNameFunctionAndParameter has lines that contradict the functions.
func TestLanguageViolationsNameFunctionAndParameter(t *testing.T) {
	for _, c := range []struct {
		name     string
		old, new []string // pairs of what is replaced everywhere
		want     []string
	}{
		{"no tokens", []string{"tokens=%ids, "}, []string{""}, []string{"@prefill the line language: language: no parameter has the role tokens", "@decode %ids: language: it has no role"}},
		{"two roles", []string{"slot=%slot"}, []string{"slot=%pos"}, []string{"@prefill the line language: language: %pos is both pos and slot", "@prefill %slot: language: it has no role"}},
		{"roles of each other", []string{"pos=%pos, slot=%slot"}, []string{"pos=%slot, slot=%pos"},
			[]string{"@layer %w: language: state_write reads the slot of the step from %s, and the parameter with the role slot is %pos of @prefill",
				"@layer %w: language: state_write reads the pos"}},
		{"a role that is needed", []string{"pos=%pos, slot=%slot", "%pos: i32[tokens], ", "%pos: i32[1], ", "copy %pos", "%slot, %pos, %q"},
			[]string{"slot=%slot", "", "", "copy %slot", "%slot, %slot, %q"}, []string{"no parameter of @prefill has the role pos: give it to one"}},
		{"lengths of the wrong type", []string{"lengths=%n", "tokens=%ids"}, []string{"lengths=%ids", "tokens=%n"}, []string{"@prefill %ids: language: lengths has tokens elements"}},
		{"logits that are none", []string{"logits=1"}, []string{"logits=0"}, []string{"@prefill has 8 logits and @decode has 40"}},
		{"logits that are not there", []string{"logits=1"}, []string{"logits=2"}, []string{"@prefill the line language: language: logits is result 2 of 2"}},
		{"no logits", []string{", logits=1"}, []string{""}, []string{"logits is result -1 of 2"}},
		{"no single tokens", []string{"symbol tokens 1 8"}, []string{"symbol tokens 2 8"}, []string{"@prefill %ids: language: tokens has tokens elements: let it have 1, or a symbol"}},
		{"segments that end early", []string{"symbol kv 1 32"}, []string{"symbol kv 1 24"}, []string{"@step %parts: language: the segments of attention_segments are counted by kv, which is 1 to 24: let it be 1 to 32"}},
		{"an unknown size", []string{"  %x = gather %embd, %ids : f32[tokens,8]"}, []string{"  %part = slice %embd {axis=0, start=0, len=kv} : f32[kv,8]\n  %x = gather %part, %ids : f32[tokens,8]"},
			[]string{"@prefill %part: language: its size kv depends on kv, which is neither", "@prefill %x: language: gather selects one of 1 rows by tokens, which are 0 to 39: let there be 40"}},
		{"too few rows", []string{"  %x = gather %embd, %ids : f32[1,8]"}, []string{"  %few = slice %embd {axis=0, start=0, len=39} : f32[39,8]\n  %x = gather %few, %ids : f32[1,8]"},
			[]string{"@decode %x: language: gather selects one of 39 rows by tokens, which are 0 to 39: let there be 40"}},
		{"another tokenizer", []string{"tokenizer=m"}, []string{"tokenizer=other"}, []string{"@prefill %x: language: the rows of %embd come from source m, and the tokenizer is that of source other"}},
		{"no such tokenizer", []string{"tokenizer=m"}, []string{"tokenizer=x"}, []string{"the line language: language: tokenizer=x is no source of the module"}},
		{"positions of some tokens", []string{"    %w = state_write %k, %a, %s, %p : f32[1,1,32,8]"},
			[]string{"    %a1 = slice %a {axis=0, start=tokens-1, len=1} : f32[1,1,8]\n    %s1 = slice %s {axis=0, start=tokens-1, len=1} : i32[1]\n    %p1 = slice %p {axis=0, start=tokens-1, len=1} : i32[1]\n    %w = state_write %k, %a1, %s1, %p1 : f32[1,1,32,8]"},
			[]string{"@layer %w: language: state_write writes positions of %s1, which are not those of all tokens of the step: let it write all", "@layer %w: language: state_write writes positions of %p1"}},
		{"tokens of different places", []string{"    %b = attention %a, %w, %w, %s, %p, %len {scale=0.25} : f32[tokens,1,8]\n"},
			[]string{"    %a1 = slice %a {axis=0, start=0, len=1} : f32[1,1,8]\n    %s1 = slice %s {axis=0, start=tokens-1, len=1} : i32[1]\n    %p1 = slice %p {axis=0, start=0, len=1} : i32[1]\n    %one = attention %a1, %w, %w, %s1, %p1, %len {scale=0.25} : f32[1,1,8]\n    %b = attention %a, %w, %w, %s, %p, %len {scale=0.25} : f32[tokens,1,8]\n"},
			[]string{"@layer %one: language: attention reads slots from token tokens-1 of the step on, and positions from token 0 on"}},
		{"values that depend on the sequence", []string{"  %x = gather %embd, %ids : f32[1,8]"}, []string{"  %s1 = slice %slot {axis=0, start=0, len=1} : i32[1]\n  %x = gather %embd, %s1 : f32[1,8]"},
			[]string{"@decode %x: language: gather computes with %s1, which is the sequence of each token"}},
		{"rotations by the sequence", []string{"  %x = gather %embd, %ids : f32[1,8]"}, []string{"  %f0 = slice %embd {axis=0, start=0, len=1} : f32[1,8]\n  %f = reshape %f0 {shape=[8]} : f32[8]\n  %turn = rope_table %slot, %f {scale=1} : f32[1,8,2]\n  %x = gather %embd, %ids : f32[1,8]"},
			[]string{"@decode %turn: language: rope_table computes with %slot, which is the sequence of each token: let it read the parameter with the role pos"}},
		{"states of other lengths", []string{"state \"k.0\" : f32[1,1,32,8]\nstate", "  %w0 = state_write"},
			[]string{"state \"k.0\" : f32[1,1,32,8]\nstate \"more\" : f32[1,1,16,8]\nstate", "  %more = state \"more\" : f32[1,1,16,8]\n  %w2 = state_write %more, %a, %s, %p : f32[1,1,16,8]\n  %w0 = state_write"},
			[]string{"@step %w2: language: %more has not the 32 positions", `and @decode writes ["k.0", "more", "k.1"]`}},
		{"a state as a whole", []string{"  %b = attention_combine"}, []string{"  %all = add %w0, %w0 : f32[1,1,32,8]\n  %b = attention_combine"},
			[]string{`@step %all: language: add reads the state "k.0", of which the runtime clears no old positions`}},
		{"what the step has not written", []string{"  %w1 = state_write %k.1, %a, %s, %p : f32[1,1,32,8]\n", "%c = attention %b, %w1, %w1", "  return %c"},
			[]string{"", "%c = attention %b, %k.1, %k.1", "  %w1 = state_write %k.1, %a, %s, %p : f32[1,1,32,8]\n  return %c"},
			[]string{"@step %c: language: attention reads %k.1 before the step has written its positions"}},
		{"decode writes less", []string{"  %w1 = state_write %k.1, %a, %s, %p : f32[1,1,32,8]\n", "%w1, %w1"}, []string{"", "%w0, %w0"},
			[]string{`@prefill writes the states ["k.0", "k.1"], and @decode writes ["k.0"]`}},
	} {
		text := speaker
		for i := range c.old {
			if !strings.Contains(text, c.old[i]) {
				t.Fatalf("%s: %q is not in the text", c.name, c.old[i])
			}
			text = strings.ReplaceAll(text, c.old[i], c.new[i])
		}
		m, err := Parse("speaker", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		err = Verify(m)
		if err == nil {
			t.Errorf("%s: no violation", c.name)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error\n%v\nwant %q", c.name, err, want)
			}
		}
	}
}

// TestLongChainsOfCallsAreRefused lets decode call @step through a chain of functions. A long one is refused, because
// calls within calls could take very long to check.
func TestLongChainsOfCallsAreRefused(t *testing.T) {
	for _, c := range []struct {
		between int // functions
		refused bool
	}{{0, false}, {1, false}, {maxCallDepth - 1, false}, {maxCallDepth, true}, {2 * maxCallDepth, true}} {
		text := speaker
		for i := range c.between {
			callee := fmt.Sprintf("@between%d", i)
			text = strings.Replace(text, "call @step", "call "+callee, 1)
			text += "func " + callee + "(%len: i32[1], %s: i32[1], %p: i32[1], %a: f32[1,1,8]) -> f32[1,1,8] {\n" +
				"  %b = call @step %len, %s, %p, %a : f32[1,1,8]\n  return %b\n}\n"
		}
		m, err := Parse("speaker", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := Verify(m); (err != nil) != c.refused || err != nil && !strings.Contains(err.Error(), "functions call each other too often") {
			t.Errorf("%d functions between decode and @step: error %v, refused should be %v", c.between, err, c.refused)
		}
	}
}
