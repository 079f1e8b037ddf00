package e2etest

import (
	"strings"
	"testing"
)

// TestCompareNotices: the comparison itself has to be able to fail.
func TestCompareNotices(t *testing.T) {
	ref := Reference{Tokens: []int32{1}, Greedy: []int32{5, 6}, Logits: []float64{1, 2}}
	const good = `{"id":5,"text":"a","logits":[1,2.0005]}
{"id":6,"text":"b","logits":[0,0]}
{"summary":{"prompt_tokens":1,"generated":2}}
`
	for _, c := range []struct{ name, from, to, want string }{
		{"equal", "", "", ""},
		{"another id", `"id":6`, `"id":7`, "ids"},
		{"far logits", "2.0005", "2.002", "logit 1"},
		{"not a number", "2.0005", "null", ""},
		{"another prompt", `"prompt_tokens":1`, `"prompt_tokens":2`, "a prompt of 2"},
	} {
		lines, err := ParseTokens([]byte(strings.Replace(good, c.from, c.to, 1)))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if err = ref.Compare(lines); c.name == "not a number" {
			if err == nil {
				t.Errorf("%s: not noticed", c.name)
			}
		} else if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := ParseTokens([]byte(`{"id":5}`)); err == nil {
		t.Error("a missing summary is not noticed")
	}
}
