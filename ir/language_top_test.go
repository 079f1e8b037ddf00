package ir

import (
	"strings"
	"testing"
)

// chooser is speaker with an entry that returns the three most probable tokens of each quarter of the vocabulary.
func chooser() string {
	at := strings.Index(speaker, "func @decode(")
	end := strings.Index(speaker, "func @step(")
	top := strings.NewReplacer("@decode(", "@best(", "(logits: f32[1,40])", "(ids: i32[4,3], most: f32[4,1], few: f32[4,3])",
		"  return %logits\n", `  %parts = reshape %logits {shape=[4, 10]} : f32[4,10]
  %top = top_k %parts {k=3} : i32[4,3]
  %most = reduce_max %parts : f32[4,1]
  %few = take %parts, %top : f32[4,3]
  return %top, %most, %few
`).Replace(speaker[at:end])
	return strings.Replace(speaker, " tokenizer=m",
		" top=@best(tokens=%ids, pos=%pos, slot=%slot, lengths=%n, logits=2, ids=0, largest=1) tokenizer=m", 1) + top
}

func TestTopEntryIsPrintedAndParsed(t *testing.T) {
	m := mustParse(t, chooser())
	if err := Verify(m); err != nil {
		t.Fatal(err)
	}
	want := TopEntry{LanguageEntry{Func: "best", Tokens: 0, Pos: 1, Slot: 2, Lengths: 3, Logits: 2}, 0, 1}
	if m.LM.Top != want || !m.LM.HasTop() {
		t.Errorf("%+v", m.LM.Top)
	}
	if equal, diff := Equal(m, mustParse(t, m.String())); !equal {
		t.Error(diff)
	}
}

// TestTopViolations has entries that the runtime could not drive.
func TestTopViolations(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"no such function", "top=@best(", "top=@nosuch(", "there is no function @nosuch"},
		{"a role of its own", "decode=@decode(tokens=%ids", "decode=@decode(ids=0, tokens=%ids", "unknown role ids"},
		{"no ids", ", ids=0", "", "ids is result -1 of 3"},
		{"no largest", ", largest=1", "", "largest is result -1 of 3"},
		{"ids are logits", "ids=0", "ids=2", "ids is f32[4,3]: it has to be i32[p,k]"},
		{"one largest", "largest=1", "largest=2", "the largest logits are f32[4,3]"},
		{"a logit for each", "logits=2, ids", "logits=1, ids", "top returns f32[4,1] logits and i32[4,3] ids"},
		{"rows", "(ids: i32[4,3], most: f32[4,1]", "(ids: i32[4,3], most: f32[1,1]", "a row for each part of the vocabulary"},
		{"parts", "shape=[4, 10]} : f32[4,10]", "shape=[3, 10]} : f32[3,10]", "top returns 3 tokens for each of 3 parts of a vocabulary of 40"},
		{"tokens", "top=@best(tokens=%ids, pos=%pos", "top=@best(pos=%pos", "no parameter has the role tokens"},
		{"several tokens", "top=@best(tokens=%ids, pos=%pos, slot=%slot, lengths=%n, logits=2, ids=0, largest=1)",
			"top=@prefill(tokens=%ids, pos=%pos, slot=%slot, lengths=%n, logits=1, ids=0, largest=0)", "top takes i32[tokens] tokens: let it take one"},
	} {
		text := strings.Replace(chooser(), c.old, c.new, 1)
		if text == chooser() {
			t.Fatalf("%s: %q is not in the text", c.name, c.old)
		}
		switch c.name {
		case "rows":
			text = strings.Replace(text, "reduce_max %parts : f32[4,1]", "reduce_max %logits : f32[1,1]", 1)
		case "parts":
			text = strings.NewReplacer("%parts = reshape %logits", "%some = slice %logits {axis=1, start=0, len=30} : f32[1,30]\n  %parts = reshape %some",
				"[4,", "[3,").Replace(text)
		}
		m, err := Parse("chooser", []byte(text))
		if err == nil {
			err = Verify(m)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}
