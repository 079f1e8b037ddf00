package token

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// bpeTable returns a vocabulary of all bytes as byte-level BPE spells them, and of merges.
func bpeTable(merges ...string) *Table {
	t := &Table{Algorithm: BPE, BOS: None, EOS: None, UNK: None, Split: SplitGPT2}
	for b := range 256 {
		t.Tokens = append(t.Tokens, string(byteRune(byte(b))))
	}
	for _, m := range merges {
		left, right, _ := strings.Cut(m, " ")
		t.Merges = append(t.Merges, m)
		if !slices.Contains(t.Tokens, left+right) && !strings.HasSuffix(right, "Q") {
			t.Tokens = append(t.Tokens, left+right)
		}
	}
	t.Tokens = append(t.Tokens, "<|end|>", "<user>")
	t.Types = slices.Repeat([]Type{Normal}, len(t.Tokens))
	t.Types[len(t.Types)-2], t.Types[len(t.Types)-1] = Control, UserDefined
	return t
}

// tokensOf returns the texts of the tokens of a text, separated by spaces.
func tokensOf(v *Vocab, text string, o Options) string {
	var list []string
	for _, id := range v.Encode(nil, text, o) {
		list = append(list, v.Text(id))
	}
	return strings.Join(list, " ")
}

// TestMergesAreMadeByRank joins by the order of the merges, from the left where it is the same.
func TestMergesAreMadeByRank(t *testing.T) {
	merges := []string{"b c", "a b", "a bc", "d d", "Ġ a", "dd dd", "x Q", "xQ y", "x Q"} // xQ is no token, and is listed twice
	v := load(t, bpeTable(merges...))
	tests := []struct{ text, want string }{
		{"abc", "abc"},
		{"ab abc", "ab Ġ abc"}, // a bc is made before Ġ a
		{"a a", "a Ġa"},
		{"ddddd", "dddd d"},
		{"dd d", "dd Ġ d"}, // not over a word's end
		{"xQ", "x Q"},      // a merge without a token is spelled
		{"é\n", "Ã © Ċ"},
		{"a<|end|>", "a < | e n d | >"},
		{"a<user>a", "a <user> a"},
	}
	for _, tt := range tests {
		if got := tokensOf(v, tt.text, Options{}); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.text, got, tt.want)
		}
		if back := v.Decode(v.Encode(nil, tt.text, Options{})); back != tt.text && !strings.Contains(tt.text, "<user>") {
			t.Errorf("%q came back as %q", tt.text, back)
		}
	}
	if got := tokensOf(v, "a<|end|>", Options{ParseSpecials: true}); got != "a <|end|>" {
		t.Errorf("parsed: %s", got)
	}
}

// TestWordsThatAreTokensNeedNoMerges has the token hello, which no merges make.
func TestWordsThatAreTokensNeedNoMerges(t *testing.T) {
	table := bpeTable()
	table.Tokens, table.Types = append(table.Tokens, "hello"), append(table.Types, Normal)
	if got := tokensOf(load(t, table), "hello", Options{}); got != "h e l l o" {
		t.Errorf("with merges: %s", got)
	}
	table.IgnoreMerges = true
	if got := tokensOf(load(t, table), "hello", Options{}); got != "hello" {
		t.Errorf("without: %s", got)
	}
}

// TestRawTokensSpellBytes has a vocabulary like Gemma 4's.
func TestRawTokensSpellBytes(t *testing.T) {
	table := testTable()
	table.Algorithm, table.Scores, table.AddSpace, table.AddBOS = BPE, nil, false, false
	table.Raw, table.Escape, table.Newlines, table.Split = true, true, true, SplitLines
	table.Merges = []string{"a b", space + " a"}
	table.Tokens, table.Types = append(table.Tokens, "\n\n"), append(table.Types, Normal)
	v := load(t, table)
	for text, want := range map[string]string{
		"ab ab": "ab " + space + " ab", " ac": space + "a c", "\n\nü": "\n\n <0xC3> <0xBC>", "\n": "<0x0A>", "\xff": "<0xEF> <0xBF> <0xBD>",
	} {
		if got := tokensOf(v, text, Options{}); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
		if back := v.Decode(v.Encode(nil, text, Options{})); back != spellable(text) {
			t.Errorf("%q came back as %q", text, back)
		}
	}
}

// TestWhiteSpaceMayHaveNoTokens has a vocabulary of words between white space.
func TestWhiteSpaceMayHaveNoTokens(t *testing.T) {
	table := testTable()
	table.Algorithm, table.Scores, table.AddSpace, table.AddBOS = BPE, nil, false, false
	table.Raw, table.DropBlanks, table.Lower, table.Split = true, true, true, SplitBlanks
	table.Merges = []string{"a b"}
	v := load(t, table)
	if got := tokensOf(v, " AB\u3000 c\n", Options{}); got != "ab c" {
		t.Errorf("%s", got)
	}
	// A surrogate stays one: its bytes, not those of U+FFFD, are spelled.
	if got := tokensOf(v, "A\xed\xa0\x80b", Options{}); got != "a <0xED> <0xA0> <0x80> b" {
		t.Errorf("a surrogate: %s", got)
	}
}

// TestByteSpellingIsReversible spells all bytes with different characters that are no white space.
func TestByteSpellingIsReversible(t *testing.T) {
	seen := make(map[rune]bool)
	for b := range 256 {
		r := byteRune(byte(b))
		back, ok := runeByte(r)
		if !ok || int(back) != b || seen[r] || classOf(r)&blank != 0 {
			t.Errorf("0x%02x is %q, then 0x%02x", b, r, back)
		}
		seen[r] = true
	}
	for _, r := range []rune{0, ' ', 0x7f, 0x80, 0xad, 0x144, '中'} {
		if b, ok := runeByte(r); ok {
			t.Errorf("%q is byte 0x%02x", r, b)
		}
	}
}

// TestLongWordsAreMergedQuickly has a megabyte without a boundary, of which every merge makes more to merge.
func TestLongWordsAreMergedQuickly(t *testing.T) {
	n := 1 << 20
	if testing.Short() {
		n /= 8
	}
	v := load(t, bpeTable("a a", "aa aa", "aaaa aaaa", "aaaaaaaa aaaaaaaa", "Ì ģ", "Ġ Ġ", "ĠĠ ĠĠ"))
	for _, unit := range []string{"a", " ", "\u0301", "b"} {
		text := strings.Repeat(unit, n/len(unit))
		if back := v.Decode(v.Encode(nil, text, Options{})); back != text {
			t.Errorf("%q came back differently", unit)
		}
	}
}

// FuzzBPE checks that every text comes back, with U+FFFD for what is no UTF-8, in every way to split it, and that a
// Decoder gives it in whole characters.
func FuzzBPE(f *testing.F) {
	for _, s := range []string{"", "it's 12 dogs", "  \n\n x", "\xff\xe2\x96", "é😀\u200d中文", strings.Repeat("a", 300), "<|end|>", "Ġ▁ā", "12345 ABCdef"} {
		for split := range numSplits {
			f.Add(s, uint8(split))
		}
	}
	var vocabs []*Vocab
	for split := range numSplits {
		table := bpeTable("a a", "aa aa", "Ġ a", "Ã ©", "ð Ł", "1 2", "Ċ Ċ", "b Q", "bQ c")
		table.Split, table.IgnoreMerges = split, split%2 == 0
		vocabs = append(vocabs, load(f, table))
	}
	f.Fuzz(func(t *testing.T, text string, split uint8) {
		v := vocabs[int(split)%len(vocabs)]
		ids := v.Encode(nil, text, Options{})
		text = spellable(text)
		if back := v.Decode(ids); back != text {
			t.Errorf("split %d: %q became %v, then %q", split, text, ids, back)
		}
		d, valid := NewDecoder(v), utf8.ValidString(text)
		var whole []byte
		for _, id := range ids {
			n := len(whole)
			whole = d.Append(whole, id)
			if piece := whole[n:]; valid && !utf8.Valid(piece) {
				t.Errorf("%q: the piece %q is no text", text, piece)
			}
		}
		if whole = d.Flush(whole); string(whole) != text {
			t.Errorf("%q streamed as %q", text, whole)
		}
	})
}
