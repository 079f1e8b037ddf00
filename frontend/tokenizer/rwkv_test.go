package tokenizer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/runtime/token"
)

func rwkvKeys() keys {
	tokens, types := []string{"<s>", `\n\n`, `\xe6\x97`, `it\'s`, `\\`}, []int32{3, 1, 1, 1, 1}
	for b := range 256 {
		if b != '\\' {
			tokens, types = append(tokens, fmt.Sprintf(`\x%02x`, b)), append(types, 1)
		}
	}
	return keys{keyModel: "rwkv", keyTokens: tokens, keyTypes: types}
}

func plamoKeys() keys {
	tokens, types, scores := []string{"<|plamo:unk|>", "<|plamo:bos|>", "<|plamo:eos|>", "日本"}, []int32{2, 3, 3, 1}, []float32{0, 0, 0, -3}
	for b := range 256 {
		tokens, types, scores = append(tokens, fmt.Sprintf("<0x%02X>", b)), append(types, 6), append(scores, 0)
	}
	return keys{keyModel: "plamo2", keyTokens: tokens, keyTypes: types, keyScores: scores}
}

// TestBytesAreUnescaped reads a vocabulary of RWKV, whose tokens are parts of characters too.
func TestBytesAreUnescaped(t *testing.T) {
	v := load(t, rwkvKeys())
	for text, want := range map[string]string{"\n\n\n": "[1 15]", "日": "[2 169]", `it's\`: "[3 4]", "<s>": "[0]"} {
		if got := fmt.Sprint(v.Encode(nil, text, token.Options{Specials: true})); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if got := v.Decode([]int32{2, 169, 1, 3}); got != "日\n\nit's" {
		t.Errorf("%q", got)
	}
}

func TestPLaMoIsRead(t *testing.T) {
	v := load(t, plamoKeys())
	if got := fmt.Sprint(v.Encode(nil, "日本é", token.Options{Specials: true})); got != "[3 199 173]" {
		t.Errorf("ids %s", got)
	}
	if v.BOS() != 1 || v.EOS() != 2 {
		t.Errorf("BOS %d, EOS %d", v.BOS(), v.EOS())
	}
}

func TestHostileVocabulariesOfBytes(t *testing.T) {
	for want, k := range map[string]keys{
		`has \x without two hexadecimal digits`:   rwkvKeys().with(keys{keyTokens: append([]string{`a\xZ0`}, rwkvKeys()[keyTokens].([]string)[1:]...)}),
		`token 0, "\\x4", has \x without`:         rwkvKeys().with(keys{keyTokens: append([]string{`\x4`}, rwkvKeys()[keyTokens].([]string)[1:]...)}),
		"neither a token for the byte 0xFF":       rwkvKeys().with(keys{keyTokens: append(rwkvKeys()[keyTokens].([]string)[:259], "ab")}),
		"a token for the byte 0x41":               plamoKeys().with(keys{keyTypes: func() []int32 { l := plamoKeys()[keyTypes].([]int32); l[4+0x41] = 1; return l }()}),
		`key "tokenizer.ggml.scores": is missing`: plamoKeys().with(keys{keyScores: nil}),
	} {
		if _, err := Read(open(t, k), 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// load returns the vocabulary that a program would have.
func load(t *testing.T, k keys) *token.Vocab {
	t.Helper()
	table, err := Read(open(t, k), 0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := table.Encode()
	if err != nil {
		t.Fatal(err)
	}
	v, err := token.Load(string(b))
	if err != nil {
		t.Fatal(err)
	}
	return v
}
