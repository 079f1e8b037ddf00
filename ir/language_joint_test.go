package ir

import (
	"strings"
	"testing"
)

// speakers is speaker with room for three sequences, and a function that takes a token of each.
func speakers() string {
	text := strings.NewReplacer(
		"f32[1,1,32,8]", "f32[3,1,32,8]", "%n: i32[1]", "%n: i32[3]", "%len: i32[1]", "%len: i32[3]",
		"symbol kv", "symbol sequences 1 3\nsymbol kv",
		" tokenizer=m", " joint=@joint(tokens=%ids, pos=%pos, slot=%slot, lengths=%n, logits=0) tokenizer=m").Replace(speaker)
	return text + `func @joint(%ids: i32[sequences], %pos: i32[sequences], %slot: i32[sequences], %n: i32[3]) -> (logits: f32[sequences,40]) {
  %embd = weight "embd" : f32[40,8]
  %k.0 = state "k.0" : f32[3,1,32,8]
  %k.1 = state "k.1" : f32[3,1,32,8]
  %x = gather %embd, %ids : f32[sequences,8]
  %q = reshape %x {shape=[sequences, 1, 8]} : f32[sequences,1,8]
  %w0 = state_write %k.0, %q, %slot, %pos : f32[3,1,32,8]
  %w1 = state_write %k.1, %q, %slot, %pos : f32[3,1,32,8]
  %y = attention %q, %w0, %w1, %slot, %pos, %n {scale=0.25} : f32[sequences,1,8]
  %h = reshape %y {shape=[sequences, 8]} : f32[sequences,8]
  %logits = matmul %h, %embd : f32[sequences,40]
  return %logits
}
`
}

func TestJointEntryIsPrintedAndParsed(t *testing.T) {
	m := mustParse(t, speakers())
	if err := Verify(m); err != nil {
		t.Fatal(err)
	}
	want := LanguageEntry{Func: "joint", Tokens: 0, Pos: 1, Slot: 2, Lengths: 3}
	if m.LM.Joint != want || !m.LM.HasJoint() || m.Sequences() != 3 || m.Context() != 32 {
		t.Errorf("%+v, %d sequences of %d", m.LM.Joint, m.Sequences(), m.Context())
	}
	if equal, diff := Equal(m, mustParse(t, m.String())); !equal {
		t.Error(diff)
	}
}

// TestJointViolations has joint entries that the runtime could not drive.
func TestJointViolations(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"no such function", "joint=@joint(", "joint=@nosuch(", "there is no function @nosuch"},
		{"no slots", "pos=%pos, slot=%slot, lengths=%n, logits=0) tokenizer", "pos=%pos, lengths=%n, logits=0) tokenizer", "joint takes tokens of several sequences: give parameters of @joint the roles slot and pos"},
		{"one row for all", "return %logits\n}\n", "%one = slice %logits {axis=0, start=0, len=1} : f32[1,40]\n  return %one\n}\n", "joint returns f32[1,40] for i32[sequences] tokens: let it return a row"},
		{"more tokens than sequences", "symbol sequences 1 3", "symbol sequences 1 4", "joint takes up to 4 tokens, one of each sequence, and the states have 3 sequences"},
		{"fewer tokens than sequences", "symbol sequences 1 3", "symbol sequences 1 2", "joint takes up to 2 tokens, one of each sequence, and the states have 3 sequences"},
		{"other states", "  %w1 = state_write %k.1, %q, %slot, %pos : f32[3,1,32,8]\n  %y = attention %q, %w0, %w1", "  %y = attention %q, %w0, %w0", `@joint writes ["k.0"]`},
		{"another vocabulary", "%h, %embd : f32[sequences,40]\n  return %logits", "%h, %embd : f32[sequences,40]\n  %few = slice %logits {axis=1, start=0, len=39} : f32[sequences,39 strides 40,1]\n  return %few", "@joint has 39"},
	} {
		text := speakers()
		at := strings.LastIndex(text, c.old) // of joint, not of decode
		if at < 0 {
			t.Fatalf("%s: %q is not in the text", c.name, c.old)
		}
		text = text[:at] + c.new + text[at+len(c.old):]
		switch c.name {
		case "one row for all":
			text = strings.Replace(text, "@joint(%ids: i32[sequences], %pos: i32[sequences], %slot: i32[sequences], %n: i32[3]) -> (logits: f32[sequences,40])",
				"@joint(%ids: i32[sequences], %pos: i32[sequences], %slot: i32[sequences], %n: i32[3]) -> (logits: f32[1,40])", 1)
		case "another vocabulary":
			text = strings.Replace(text, "(logits: f32[sequences,40])", "(logits: f32[sequences,39 strides 40,1])", 1)
		}
		m, err := Parse("speakers", []byte(text))
		if err == nil {
			err = Verify(m)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}
