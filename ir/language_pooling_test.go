package ir

import (
	"strings"
	"testing"
)

// embedder is speaker with a key of embeddings.
func embedder(key string) string {
	return strings.Replace(speaker, " tokenizer=m", " "+key+" tokenizer=m", 1)
}

func TestEmbeddingsArePrintedAndParsed(t *testing.T) {
	plain := mustParse(t, speaker)
	for name, want := range map[string]Pooling{"none": PoolNone, "mean": PoolMean, "cls": PoolCLS, "last": PoolLast} {
		m := mustParse(t, embedder("embeddings="+name+"(hidden=0)"))
		if err := Verify(m); err != nil {
			t.Fatal(err)
		}
		if m.LM.Pooling != want || m.LM.Hidden != 0 || want.String() != name {
			t.Errorf("%s: %v of result %d", name, m.LM.Pooling, m.LM.Hidden)
		}
		if equal, diff := Equal(m, mustParse(t, m.String())); !equal {
			t.Error(diff)
		}
		if equal, _ := Equal(m, plain); equal || Hash(m) == Hash(plain) {
			t.Error("embeddings are not compared")
		}
	}
}

func TestFaultsOfEmbeddingsAreNamed(t *testing.T) {
	for _, c := range []struct{ key, old, new, want string }{
		{"embeddings=max(hidden=0)", "", "", "unknown pooling max: the known kinds are none, mean, cls, last"},
		{"embeddings=mean(logits=0)", "", "", "logits where hidden is expected"},
		{"embeddings=mean", "", "", "where ( is expected"},
		{"embeddings=mean(hidden=0) embeddings=cls(hidden=0)", "", "", "embeddings is given twice"},
		{"embeddings=mean(hidden=2)", "", "", "@prefill the line language: language: hidden is result 2 of 2"},
		{"embeddings=mean(hidden=0)", "return %h, %logits", "return %at, %logits", "hidden is i32[tokens]: it has to be f32 with a row for each token"},
		{"embeddings=mean(hidden=0)", "return %h, %logits", "return %embd, %logits", "there are 40 rows of hidden for tokens tokens"},
	} {
		text := strings.Replace(embedder(c.key), c.old, c.new, 1)
		if c.new == "return %at, %logits" {
			text = strings.Replace(text, "(hidden: f32[tokens,8],", "(hidden: i32[tokens],", 1)
		}
		if c.new == "return %embd, %logits" {
			text = strings.Replace(text, "(hidden: f32[tokens,8],", "(hidden: f32[40,8],", 1)
		}
		m, err := Parse("speaker", []byte(text))
		if err == nil {
			err = Verify(m)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.key, err, c.want)
		}
	}
}
