package ir

import (
	"strings"
	"testing"
)

// encoding is an encoder of one layer.
const encoding = `ggir 1
module "embedder"
after import
props imported,shaped
source m "m.gguf" 100
symbol tokens 1 8
encoder embed=@embed(tokens=%ids, pos=%pos, last=%last, slot=%slot, lengths=%n, hidden=1) pooling=mean tokenizer=m
weight "embd" : f32[40,8] = m["embd"]
state "k" : f32[1,1,8,8]
func @embed(%n: i32[1], %ids: i32[tokens], %pos: i32[tokens], %last: i32[tokens], %slot: i32[tokens]) -> (none: f32[tokens,1,8], hidden: f32[tokens,8]) {
  %embd = weight "embd" : f32[40,8]
  %k = state "k" : f32[1,1,8,8]
  %x = gather %embd, %ids : f32[tokens,8]
  %q = reshape %x {shape=[tokens, 1, 8]} : f32[tokens,1,8]
  %w = state_write %k, %q, %slot, %pos : f32[1,1,8,8]
  %y = attention %q, %w, %w, %slot, %last, %n {scale=0.25} : f32[tokens,1,8]
  %h = reshape %y {shape=[tokens, 8]} : f32[tokens,8]
  return %y, %h
}
`

func TestEncoderIsPrintedAndParsed(t *testing.T) {
	m := mustParse(t, encoding)
	if err := Verify(m); err != nil {
		t.Fatal(err)
	}
	want := Encoder{Func: "embed", Tokens: 1, Pos: 2, Last: 3, Slot: 4, Lengths: 0, First: -1, Hidden: 1, Pooling: PoolMean, Scores: -1, Tokenizer: "m"}
	if *m.Encoder != want {
		t.Errorf("%+v, want %+v", *m.Encoder, want)
	}
	for _, other := range []*Module{mustParse(t, m.String()), m.Clone()} {
		if equal, diff := Equal(m, other); !equal {
			t.Error(diff)
		}
		other.Encoder.Last = 2
		if equal, _ := Equal(m, other); equal {
			t.Error("another role of a parameter is equal")
		}
	}
}

// TestEncodersReadTheirTexts: positions that are not written, or not of the text, have what other texts had there.
func TestEncodersReadTheirTexts(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"some positions are written", "  %w = state_write %k, %q, %slot, %pos",
			"  %q1 = slice %q {axis=0, start=tokens-1, len=1} : f32[1,1,8]\n  %s1 = slice %slot {axis=0, start=tokens-1, len=1} : i32[1]\n  %p1 = slice %pos {axis=0, start=tokens-1, len=1} : i32[1]\n  %w = state_write %k, %q1, %s1, %p1",
			"@embed %w: language: state_write writes positions of %s1, which are not those of all tokens of the step"},
		{"positions of another input are written", "%slot, %pos :", "%slot, %last :", "@embed %w: language: state_write reads %last, where it needs the parameter with the role pos"},
		{"attention of a decoder", "%slot, %last, %n", "%slot, %pos, %n", "@embed %y: language: attention reads %pos, where it needs the parameter with the role last"},
		{"slots in place of positions", "%slot, %last, %n", "%slot, %slot, %n", "the parameter with the role last"},
		{"an entry without the role", "last=%last, slot=%slot", "last=%slot, slot=%last", "the parameter with the role slot"},
	} {
		if err := Verify(mustParse(t, strings.ReplaceAll(encoding, c.old, c.new))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// ranking is encoding of up to three texts, with scores of their first tokens.
var ranking = strings.NewReplacer(
	"lengths=%n, hidden=1) pooling=mean", "lengths=%n, first=%first, hidden=1, scores=2) pooling=rank",
	"%slot: i32[tokens])", "%slot: i32[tokens], %first: i32[texts])", "hidden: f32[tokens,8])", "hidden: f32[tokens,8], scores: f32[texts,8])",
	"  return %y, %h", "  %s = gather %h, %first : f32[texts,8]\n  return %y, %h, %s",
	"symbol tokens", "symbol texts 1 3\nsymbol tokens", "f32[1,1,8,8]", "f32[3,1,8,8]", "%n: i32[1]", "%n: i32[3]",
).Replace(encoding)

// TestRankingEncoders: the scores of texts are a result of their own.
func TestRankingEncoders(t *testing.T) {
	m := mustParse(t, ranking)
	if err := Verify(m); err != nil {
		t.Fatal(err)
	}
	if e := m.Encoder; e.Pooling != PoolRank || e.First != 5 || e.Scores != 2 || e.Hidden != 1 {
		t.Errorf("%+v", e)
	}
	if equal, diff := Equal(m, mustParse(t, m.String())); !equal {
		t.Error(diff)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"another pooling", "pooling=rank", "pooling=mean", "scores is given with pooling=mean"},
		{"first with another pooling", ", scores=2) pooling=rank", ") pooling=mean", "first is given with pooling=mean"},
		{"no scores", ", scores=2", "", "scores is result -1 of 3"},
		{"no such result", "scores=2", "scores=3", "scores is result 3 of 3"},
		{"the states", "scores=2", "scores=1", "scores is result 1 of 3"},
		{"a row for each token", "scores=2) pooling", "scores=0) pooling", "scores is f32[tokens,1,8]: it has to be f32 with a row for each text"},
		{"first of each token", "%first: i32[texts]", "%first: i32[tokens]", "first is i32[tokens]: it has to be i32 with one dimension, 1, or a symbol"},
		{"more first rows than texts", "symbol texts 1 3", "symbol texts 1 4", "first is i32[texts]: it has to be"},
		{"no text", "symbol texts 1 3", "symbol texts 0 3", "first is i32[texts]: it has to be"},
	} {
		text := strings.Replace(ranking, c.old, c.new, 1)
		if strings.HasSuffix(c.new, "i32[tokens]") {
			text = strings.ReplaceAll(text, "f32[texts,8]", "f32[tokens,8]")
		}
		m, err := Parse("ranking", []byte(text))
		if err == nil {
			err = Verify(m)
		}
		if text == ranking || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

// TestEncoderViolations has encoders that the runtime could not drive.
func TestEncoderViolations(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"no such function", "embed=@embed(", "embed=@nosuch(", "there is no function @nosuch"},
		{"no such parameter", "last=%last", "last=%lost", "has no parameter %lost"},
		{"unknown role", "last=%last", "end=%last", "unknown role end: the known ones are tokens, pos, last, slot, lengths, first, hidden, scores"},
		{"unknown pooling", "pooling=mean", "pooling=max", "unknown pooling max"},
		{"no tokens", "tokens=%ids, ", "", "no parameter has the role tokens"},
		{"a parameter without role", ", last=%last", "", "it has no role, and the runtime sets no other parameters"},
		{"two roles", "slot=%slot", "slot=%pos", "it is both pos and slot"},
		{"a float", ") -> (none", ", %more: f32[tokens]) -> (none", "it has no role, and the runtime sets no other parameters"},
		{"rows of positions", "last=%last, slot=%slot", "last=%slot, slot=%more", "slot is f32[tokens]: it has to be i32 with one dimension"},
		{"several lengths", "slot=%slot, lengths=%n", "slot=%more, lengths=%slot", "lengths is i32[tokens]: it has to be i32 with one dimension, a constant"},
		{"no such result", "hidden=1", "hidden=2", "hidden is result 2 of 2"},
		{"no rows", "hidden=1", "hidden=0", "hidden is f32[tokens,1,8]: it has to be f32 with a row for each token"},
		{"another source", "tokenizer=m", "tokenizer=x", "tokenizer=x is no source of the module"},
		{"two encoders", "encoder embed", "encoder embed=@embed(tokens=%ids, hidden=0)\nencoder embed", "there is an encoder already"},
	} {
		text := strings.Replace(encoding, c.old, c.new, 1)
		if strings.Contains(c.new, "%more") && c.name != "a float" {
			text = strings.Replace(text, ") -> (none", ", %more: f32[tokens]) -> (none", 1)
		}
		if text == encoding {
			t.Fatalf("%s: %q is not in the text", c.name, c.old)
		}
		m, err := Parse("encoding", []byte(text))
		if err == nil {
			err = Verify(m)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}
