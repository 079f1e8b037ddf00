package token

import (
	"slices"
	"testing"
)

// dnaTable returns a vocabulary of bytes, of a token CCCCCC, and of three tokens of bases, one of which has these letters, too.
func dnaTable(tags Type) *Table {
	t := bpeTable("C C", "CC CC", "CCCC CC")
	t.Tokens = append(t.Tokens, dnaOpen, dnaClose, dnaUnknown, "ATCGAT"+dnaMark, "CCCCCC"+dnaMark, "CGAAAA"+dnaMark)
	t.Types = append(t.Types, tags, tags, tags, Normal, Normal, Normal)
	t.DNA = true
	return t
}

// TestBasesBecomeTokens has the texts of llama.cpp's test of a vocabulary of bases (models/ggml-vocab-carbon.gguf.inp), and
// what these tokens are there.
func TestBasesBecomeTokens(t *testing.T) {
	v := load(t, dnaTable(Normal))
	tests := []struct{ text, want, back string }{
		{"hi", "h i", "hi"},
		{"<dna>ATCGAT</dna>", "<dna> ATCGAT" + dnaMark + " </dna>", "<dna>ATCGAT</dna>"},
		{"<dna>ATCGATCCCCCC</dna>", "<dna> ATCGAT" + dnaMark + " CCCCCC" + dnaMark + " </dna>", "<dna>ATCGATCCCCCC</dna>"},
		{"<dna>atcGAt</dna>", "<dna> ATCGAT" + dnaMark + " </dna>", "<dna>ATCGAT</dna>"},
		{"<dna>ATCGAN</dna>", "<dna> <oov> </dna>", "<dna><oov></dna>"},
		{"<dna>ATCGATCG</dna>", "<dna> ATCGAT" + dnaMark + " CGAAAA" + dnaMark + " </dna>", "<dna>ATCGATCGAAAA</dna>"},
		{"hi <dna>CG</dna>!", "h i Ġ <dna> CGAAAA" + dnaMark + " </dna> !", "hi <dna>CGAAAA</dna>!"},
		{"<dna></dna>", "<dna> </dna>", "<dna></dna>"},
		{"<dna>ATCGAT", "<dna> ATCGAT" + dnaMark, "<dna>ATCGAT"},
		{"<dna>\xffé</dna>CCCCCC</dna>", "<dna> <oov> </dna> CCCCCC < / d n a >", "<dna><oov></dna>CCCCCC</dna>"},
		{"<dna>CG</dna> <dna>CG</dna>", "<dna> CGAAAA" + dnaMark + " </dna> Ġ <dna> CGAAAA" + dnaMark + " </dna>", "<dna>CGAAAA</dna> <dna>CGAAAA</dna>"},
		{"<dna>cg<dna>", "<dna> <oov> <oov>", "<dna><oov><oov>"},
		{"A\ue000", "A î Ģ Ģ", "A\ue000"},
	}
	for _, tt := range tests {
		ids := v.Encode(nil, tt.text, Options{})
		if got := tokensOf(v, tt.text, Options{}); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.text, got, tt.want)
		}
		if back := v.Decode(ids); back != tt.back {
			t.Errorf("%q came back as %q, want %q", tt.text, back, tt.back)
		}
	}
}

// TestBasesNeedTheirTags has vocabularies without one of the tags, and one of which they are control tokens, which
// text in a conversation must not become.
func TestBasesNeedTheirTags(t *testing.T) {
	const text = "<dna>CCCCCC</dna>"
	const spelled = "< d n a > CCCCCC < / d n a >"
	for i := range 3 {
		table := dnaTable(Normal)
		at := slices.Index(table.Tokens, dnaOpen) + i
		table.Tokens[at] = "x" + table.Tokens[at]
		if got := tokensOf(load(t, table), text, Options{}); got != spelled {
			t.Errorf("%d: %s", i, got)
		}
	}
	v := load(t, dnaTable(Control))
	if got := tokensOf(v, text, Options{}); got != "<dna> CCCCCC"+dnaMark+" </dna>" {
		t.Errorf("control tokens: %s", got)
	}
	if got := tokensOf(v, text, Options{ParseSpecials: true, Given: []Span{{0, len(text)}}}); got != spelled {
		t.Errorf("guarded: %s", got)
	}
}
