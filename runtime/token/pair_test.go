package token

import (
	"slices"
	"strings"
	"testing"
)

// TestPairTemplate: a template takes the place of what the vocabulary wants around and between both texts. Its control
// tokens are tokens, those in query and document are not.
func TestPairTemplate(t *testing.T) {
	const bos, sep, a, b, unknown, user = 0, 2, 3, 4, 5, 6
	three := []int32{unknown, unknown, unknown} // signs are words of their own
	for _, c := range []struct {
		template, query, document string
		want                      []int32
	}{
		{"", "a", "b", []int32{bos, a, sep, b}},
		{"<s>{query}[SEP]{document}", "a", "b", []int32{bos, a, sep, b}},
		{"{document} a[SEP]{query}{query}", "a", "b b", []int32{b, b, a, sep, unknown}}, // aa,
		{"{query}[SEP]{document}", "{document}", "b", slices.Concat(three, []int32{sep, b})},
		{"{query}[SEP]{document}", "a", "b [SEP]", slices.Concat([]int32{a, sep, b}, three)},
		{"{query}[SEP]{document}", "</s>", "<u> b", []int32{unknown, unknown, unknown, unknown, sep, user, b}},
		{"[{query}] {document}", "SEP", "b", slices.Concat(three, []int32{b})},
	} {
		table := pairTable(c.template)
		table.Pair = c.template
		data, err := table.Encode()
		if err != nil {
			t.Fatal(err)
		}
		v, err := Load(string(data))
		if err != nil {
			t.Fatal(err)
		}
		if got := v.EncodePair(nil, c.query, c.document); !slices.Equal(got, c.want) {
			t.Errorf("%q of %q and %q: %v, want %v", c.template, c.query, c.document, got, c.want)
		}
		if got := v.Encode(nil, "a[SEP]", Options{}); !slices.Equal(got, append([]int32{a}, three...)) {
			t.Errorf("text alone: %v", got)
		}
	}
}

// pairTable is a WordPiece vocabulary with a template for ranks.
func pairTable(template string) *Table {
	return &Table{Algorithm: WPM, Tokens: []string{"<s>", "</s>", "[SEP]", "\u2581a", "\u2581b", "?", "<u>"},
		Types: []Type{Control, Control, Control, Normal, Normal, Unknown, UserDefined},
		BOS:   0, EOS: 1, UNK: 5, SEP: 2, AddBOS: true, AddEOS: false, PairSEP: true, Pair: template}
}

func TestWrongPairTemplates(t *testing.T) {
	for _, c := range []struct{ template, want string }{
		{"{query}", "has no {document}"},
		{"{{ query }} {document}", "has no {query}"},
		{"{query}{document}" + strings.Repeat("x", maxPair), "bytes"},
		{strings.Repeat("{query}{document}", 9), "has 18 places"},
	} {
		if _, err := pairTable(c.template).Encode(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: error %v, want %q", c.template, err, c.want)
		}
	}
	data, err := pairTable("{query}{document}").Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, cut := range []int{1, 5, len("{query}{document}")} {
		if _, err := Load(string(data[:len(data)-cut])); err == nil {
			t.Errorf("a table without its last %d bytes is accepted", cut)
		}
	}
	if _, err := Load(string(data) + "{query}"); err != nil { // it is a longer template
		t.Error(err)
	}
}
