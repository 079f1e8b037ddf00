package token

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// wpmTable is a WordPiece vocabulary.
func wpmTable() *Table {
	t := &Table{Algorithm: WPM, BOS: 1, EOS: None, UNK: 0, SEP: 2, AddBOS: true, AddSEP: true, Lower: true, StripAccents: true,
		Tokens: []string{"[UNK]", "[CLS]", "[SEP]"}, Types: []Type{Unknown, Control, Control}}
	for _, s := range strings.Fields("▁a ▁ab ▁abc d cd ▁, ▁$ ▁中 ▁e ▁É ▁x e ▁~ ▁ᄒ") {
		t.Tokens, t.Types = append(t.Tokens, s), append(t.Types, Normal)
	}
	return t
}

func TestWordPiecesAreTheLongest(t *testing.T) {
	table := wpmTable()
	v := load(t, table)
	tests := map[string]string{
		"":                   "",
		"abcd":               "▁abc d",
		"abcdX abd":          "[UNK] ▁ab d",
		"AB,abc":             "▁ab ▁, ▁abc",
		"a$a":                "▁a ▁$ ▁a",
		"a~a":                "▁a ▁~ ▁a",
		"É":                  "▁e",
		"e\u0301e":           "▁e e",
		"한":                  "▁ᄒ",
		"中中a":                "▁中 ▁中 ▁a",
		"a\x00\u200b\ue000b": "▁ab", // controls are ignored
		"a\xffb":             "▁ab",
		"[CLS]":              "[UNK] [UNK] [UNK]",
		"q":                  "[UNK]",
	}
	for text, want := range tests {
		if got := tokensOf(v, text, Options{}); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if got := tokensOf(v, "a[SEP]a", Options{Specials: true, ParseSpecials: true}); got != "[CLS] ▁a [SEP] ▁a [SEP]" {
		t.Errorf("specials: %s", got)
	}
	if got := v.Decode(v.Encode(nil, "abcd AB", Options{})); got != "abcd ab" {
		t.Errorf("decoded: %q", got)
	}
	table.Lower, table.StripAccents = false, false
	if got := tokensOf(load(t, table), "É e A", Options{}); got != "▁É ▁e [UNK]" {
		t.Errorf("with case and accents: %s", got)
	}
}

// TestAccentsAreThoseOfPython compares with the canonical decompositions of Python's unicodedata.
func TestAccentsAreThoseOfPython(t *testing.T) {
	const script = `import json, unicodedata as u
print(json.dumps({chr(c): u.normalize("NFD", chr(c))[0] for c in range(0x110000) if not 0xd800 <= c < 0xe000 and u.normalize("NFD", chr(c))[0] != chr(c)}))`
	out, err := exec.Command("python3", "-c", script).Output()
	if err != nil {
		t.Skipf("skip: no python3: %v", err)
	}
	var want map[string]string
	if err := json.Unmarshal(out, &want); err != nil || len(want) < 13_000 {
		t.Fatalf("%d characters, %v", len(want), err)
	}
	v := load(t, wpmTable())
	for r := rune(0); r <= utf8.MaxRune; r++ {
		first, ok := want[string(r)]
		if !ok || !utf8.ValidRune(r) {
			first = string(r)
		}
		if got := string(v.base(r)); got != first {
			t.Errorf("%q begins with %q, not %q", r, got, first)
		}
	}
}

// TestStrippedSpaceBelongsToItsToken has tokens that take the white space around them.
func TestStrippedSpaceBelongsToItsToken(t *testing.T) {
	table := bpeTable()
	n := int32(len(table.Tokens))
	table.StripLeft, table.StripRight = []int32{n - 2}, []int32{n - 1}
	v := load(t, table)
	for text, want := range map[string]string{
		"a \n<|end|> b":      "a <|end|> Ġ b",
		"a <user> \tb":       "a Ġ <user> b",
		" <|end|><user> ":    "<|end|> <user>",
		"<user>  <|end|>":    "<user> <|end|>",
		"<user>\u00a0a":      "<user> Â ł a",
		"<|end|> <user> <|e": "<|end|> Ġ <user> < | e",
	} {
		if got := tokensOf(v, text, Options{ParseSpecials: true}); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// TestEncodePair: what is around and between a query and a document, as vocabularies want it.
func TestEncodePair(t *testing.T) {
	const bos, eos, sep, a, b = 0, 1, 2, 3, 4
	for _, c := range []struct {
		name string
		set  func(t *Table)
		want []int32
	}{
		{"nothing", func(t *Table) {}, []int32{a, b, b}},
		{"BERT", func(t *Table) { t.AddBOS, t.AddSEP, t.PairSEP, t.EOS = true, true, true, None }, []int32{bos, a, sep, b, b}},
		{"BERT with ends", func(t *Table) { t.AddBOS, t.AddSEP, t.PairEOS, t.EOS = true, true, true, None }, []int32{bos, a, sep, b, b, sep}},
		{"XLM-RoBERTa", func(t *Table) { t.AddBOS, t.AddEOS, t.PairSEP, t.SEP = true, true, true, eos }, []int32{bos, a, eos, eos, b, b, eos}},
		{"only EOS", func(t *Table) { t.AddEOS = true }, []int32{a, eos, b, b, eos}},
	} {
		table := &Table{Algorithm: WPM, Tokens: []string{"<s>", "</s>", "[SEP]", "\u2581a", "\u2581b", "?"}, Types: []Type{Control, Control, Control, Normal, Normal, Unknown},
			BOS: bos, EOS: eos, UNK: 5, SEP: sep}
		c.set(table)
		data, err := table.Encode()
		if err != nil {
			t.Fatal(err)
		}
		v, err := Load(string(data))
		if err != nil {
			t.Fatal(err)
		}
		if got := v.EncodePair(nil, "a", "b b"); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	for name, set := range map[string]func(t *Table){
		"no separator": func(t *Table) { t.PairSEP = true }, "no end": func(t *Table) { t.PairEOS = true },
	} {
		table := &Table{Algorithm: WPM, Tokens: []string{"a", "?"}, Types: []Type{Normal, Unknown}, BOS: None, EOS: None, UNK: 1, SEP: None}
		set(table)
		if _, err := table.Encode(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
