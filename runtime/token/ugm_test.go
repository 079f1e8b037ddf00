package token

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

// buildCharsmap returns a map of characters in SentencePiece's form.
func buildCharsmap(m map[string]string) string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	texts, at := "\x00", map[string]uint32{}
	for _, k := range keys {
		at[k] = uint32(len(texts))
		texts += m[k] + "\x00"
	}
	b := &dartsBuilder{used: []bool{true}, units: []uint32{0}, bases: map[uint32]bool{}}
	b.node(0, keys, 0, at)
	var out []byte
	out = binary.LittleEndian.AppendUint32(out, uint32(4*len(b.units)))
	for _, u := range b.units {
		out = binary.LittleEndian.AppendUint32(out, u)
	}
	return string(out) + texts
}

// dartsBuilder places the nodes of a trie in a double array.
type dartsBuilder struct {
	used  []bool
	units []uint32
	bases map[uint32]bool // a base has the children of one node, as units tell only their label
}

// node sets the offset of a node and places its children: the bytes after the first depth ones of the sorted keys.
func (b *dartsBuilder) node(index uint32, keys []string, depth int, values map[string]uint32) {
	var labels []byte
	for _, k := range keys {
		label := byte(0) // a text that ends
		if len(k) > depth {
			label = k[depth]
		}
		if len(labels) == 0 || labels[len(labels)-1] != label {
			labels = append(labels, label)
		}
	}
	base := b.place(labels)
	b.units[index] |= (index ^ base) << 10
	if labels[0] == 0 {
		b.units[index] |= 1 << 8
		b.units[base] = values[keys[0]] | 1<<31
		keys, labels = keys[1:], labels[1:]
	}
	for _, label := range labels {
		n := 0
		for n < len(keys) && keys[n][depth] == label {
			n++
		}
		child := base ^ uint32(label)
		b.units[child] = uint32(label)
		b.node(child, keys[:n], depth+1, values)
		keys = keys[n:]
	}
}

// place finds a base at which all labels are free, and takes them.
func (b *dartsBuilder) place(labels []byte) uint32 {
	for base := uint32(1); ; base++ {
		for uint32(len(b.used)) < base|255+1 {
			b.used, b.units = append(b.used, false), append(b.units, 0)
		}
		if b.bases[base] || slices.ContainsFunc(labels, func(l byte) bool { return b.used[base^uint32(l)] }) {
			continue
		}
		b.bases[base] = true
		for _, l := range labels {
			b.used[base^uint32(l)] = true
		}
		return base
	}
}

// ugmTable is a unigram vocabulary.
func ugmTable() *Table {
	t := &Table{
		Algorithm: UGM, BOS: None, EOS: 1, UNK: 2, EOG: []int32{1}, AddEOS: true, AddSpace: true, MergeSpaces: true,
		Tokens: []string{"<pad>", "</s>", "<unk>"}, Types: []Type{Control, Control, Unknown}, Scores: []float32{0, 0, 0},
		Charsmap: buildCharsmap(map[string]string{"ﬁ": "fi", "\t": " ", "A": "a", "e\u0301": "é", "\u200b": "", "ab": "c"}),
	}
	for _, p := range []struct {
		text  string
		score float32
		typ   Type
	}{
		{space, -2, Normal}, {"a", -4, Normal}, {"b", -4, Normal}, {"f", -4, Normal}, {"i", -4, Normal}, {"fi", -5, Normal},
		{space + "a", -3, Normal}, {"bi", -9, Normal}, {"é", -6, Normal}, {"<x>", -100, UserDefined}, {"aa", -1, Unused}, {"c", -4, Normal},
	} {
		t.Tokens, t.Scores, t.Types = append(t.Tokens, p.text), append(t.Scores, p.score), append(t.Types, p.typ)
	}
	return t
}

// TestUnigramsHaveTheHighestSum has small sums that can be checked by hand.
func TestUnigramsHaveTheHighestSum(t *testing.T) {
	table := ugmTable()
	v := load(t, table)
	tests := map[string]string{
		"":           "",
		"a":          space + "a",
		"bi":         space + "|b|i",             // -8, where bi has -9
		"fi":         space + "|fi",              // -5, where f and i have -8
		"ﬁ":          space + "|fi",              // the map of characters
		"  A  a ":    space + "a|" + space + "a", // spaces merged
		"a\ta":       space + "a|" + space + "a",
		"aaa":        space + "a|aa", // an unused token counts
		"e\u0301":    space + "|é",
		"x":          space + "|<unk>",
		"xyz\u200bz": space + "|<unk>",                 // unknown characters in a row are one
		"b<x>b":      space + "|b|<x>|" + space + "|b", // taken out before, so that a space begins the next fragment
		"abi":        space + "|c|i",                   // the longest match of the map
		"\xff":       space + "|<unk>",
	}
	for text, want := range tests {
		var got []string
		for _, id := range v.Encode(nil, text, Options{}) {
			got = append(got, v.Text(id))
		}
		if s := strings.Join(got, "|"); s != want {
			t.Errorf("%q: %s, want %s", text, s, want)
		}
	}
	if got := v.Encode(nil, "a", Options{Specials: true}); got[len(got)-1] != 1 {
		t.Errorf("no end: %v", got)
	}
	if got := v.Decode(v.Encode(nil, "a bi", Options{})); got != "a bi" {
		t.Errorf("%q", got)
	}
}

// TestDamagedCharsmapsAreHarmless cuts and flips a map everywhere.
func TestDamagedCharsmapsAreHarmless(t *testing.T) {
	table := ugmTable()
	good := table.Charsmap
	for i := range len(good) {
		for _, damaged := range []string{good[:i], good[:i] + string([]byte{good[i] ^ 0xff}) + good[i+1:]} {
			table.Charsmap = damaged
			load(t, table).Encode(nil, "Aabﬁe\u0301\u200b\t\xff", Options{})
		}
	}
}

// FuzzPieces checks that WordPiece and unigrams give tokens that there are, none of which is for control, and that the
// tokens of the decoded text are the same, unless some were unknown.
func FuzzPieces(f *testing.F) {
	for _, s := range []string{"", "abcd É", "ﬁ A\tb", "e\u0301\u200b", "<x>a", "\xff한", strings.Repeat("a", 300), "abab"} {
		f.Add(s)
	}
	vocabs := []*Vocab{load(f, wpmTable()), load(f, ugmTable())}
	f.Fuzz(func(t *testing.T, text string) {
		for _, v := range vocabs {
			ids := v.Encode(nil, text, Options{})
			for _, id := range ids {
				if !v.Valid(id) || v.TypeOf(id) == Control {
					t.Fatalf("%q became %v", text, ids)
				}
			}
			back := v.Decode(ids)
			if again := v.Encode(nil, back, Options{}); !slices.Contains(ids, v.unk) && v.Decode(again) != back && v.algorithm == WPM {
				t.Errorf("%q became %q, then %q", text, back, v.Decode(again))
			}
		}
	})
}
