package ir

import (
	"strings"
	"testing"
)

// chooser is speaker with an entry that returns the three most probable tokens.
func chooser() string {
	at := strings.Index(speaker, "func @decode(")
	end := strings.Index(speaker, "func @step(")
	top := strings.NewReplacer("@decode(", "@best(", "(logits: f32[1,40])", "(ids: i32[1,3], most: f32[1,1], few: f32[1,3])",
		"  return %logits\n", `  %top = top_k %logits {k=3} : i32[1,3]
  %most = reduce_max %logits : f32[1,1]
  %few = take %logits, %top : f32[1,3]
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
		{"ids are logits", "ids=0", "ids=2", "ids is f32[1,3]: it has to be i32[1,k]"},
		{"one largest", "largest=1", "largest=2", "the largest logit is f32[1,3]"},
		{"a logit for each", "logits=2, ids", "logits=1, ids", "top returns f32[1,1] logits and i32[1,3] ids"},
		{"tokens", "top=@best(tokens=%ids, pos=%pos", "top=@best(pos=%pos", "no parameter has the role tokens"},
		{"several tokens", "top=@best(tokens=%ids, pos=%pos, slot=%slot, lengths=%n, logits=2, ids=0, largest=1)",
			"top=@prefill(tokens=%ids, pos=%pos, slot=%slot, lengths=%n, logits=1, ids=0, largest=0)", "top takes i32[tokens] tokens: let it take one"},
	} {
		text := strings.Replace(chooser(), c.old, c.new, 1)
		if text == chooser() {
			t.Fatalf("%s: %q is not in the text", c.name, c.old)
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
