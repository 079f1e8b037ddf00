package token

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// randomTable has tokens of a few characters, and what is needed to spell every text.
func randomTable(rng *rand.Rand, a Algorithm) *Table {
	t := &Table{Algorithm: a, BOS: None, EOS: None, UNK: None}
	seen := make(map[string]bool)
	add := func(text string, typ Type, score float32) {
		if text == "" || seen[text] {
			return
		}
		seen[text] = true
		t.Tokens, t.Types = append(t.Tokens, text), append(t.Types, typ)
		if a.scored() {
			t.Scores = append(t.Scores, score)
		}
	}
	for b := range 256 {
		if a == RWKV {
			add(string([]byte{byte(b)}), Normal, 0)
		} else {
			add(fmt.Sprintf("<0x%02X>", b), Byte, 0)
		}
	}
	for range 60 {
		word := hardText(rng, 4)
		if a == RWKV && len(word) > 1 && rng.IntN(3) == 0 {
			word = word[1:] // a part of a character
		}
		add(word, Normal, -float32(rng.IntN(5)))
	}
	add("far", Normal, -2500) // costs more than any token may
	return t
}

// hardText has up to n characters, few different ones.
func hardText(rng *rand.Rand, n int) string {
	var b strings.Builder
	for range 1 + rng.IntN(n) {
		b.WriteString([]string{"a", "b", " ", "é", "日", "\u2581", "\U0001f600", byteOrderMark, "far"}[rng.IntN(9)])
	}
	return b.String()
}

func loaded(t *testing.T, table *Table) *Vocab {
	t.Helper()
	b, err := table.Encode()
	if err != nil {
		t.Fatal(err)
	}
	v, err := Load(string(b))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// cheapest returns the ids of the rest of a text by trying all tokens at each position, and their cost.
func cheapest(table *Table, text string, known map[string]cheap) cheap {
	if c, ok := known[text]; ok || text == "" {
		return c
	}
	first := []rune(text)[0]
	rest := cheapest(table, text[len(string(first)):], known)
	best := cheap{cost: rest.cost + 10_000_000}
	for _, b := range []byte(string(first)) {
		best.ids = append(best.ids, int32(slices.Index(table.Tokens, fmt.Sprintf("<0x%02X>", b))))
	}
	best.ids = append(best.ids, rest.ids...)
	length := 0
	for id, s := range table.Tokens {
		cost := int64(math.Round(-float64(table.Scores[id]) * 1e4))
		if table.Types[id] == Byte || !strings.HasPrefix(text, s) || cost >= 20_000_000 {
			continue
		}
		rest := cheapest(table, text[len(s):], known)
		if c := rest.cost + cost; c < best.cost || c == best.cost && len(s) > length {
			best, length = cheap{append([]int32{int32(id)}, rest.ids...), c}, len(s)
		}
	}
	known[text] = best
	return best
}

type cheap struct {
	ids  []int32
	cost int64
}

func TestPLaMoIsTheCheapest(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		table := randomTable(rng, PLaMo)
		v := loaded(t, table)
		for range 50 {
			text := hardText(rng, 14)
			got := v.Encode(nil, text, Options{})
			want := cheapest(table, strings.TrimPrefix(text, byteOrderMark), make(map[string]cheap)).ids
			if !slices.Equal(got, want) {
				t.Fatalf("%q: %v, want %v", text, got, want)
			}
			if back := v.Decode(got); back != strings.TrimPrefix(text, byteOrderMark) {
				t.Errorf("%q comes back as %q", text, back)
			}
		}
	}
}

// TestRWKVIsTheLongest compares with a search among all tokens; texts are any bytes.
func TestRWKVIsTheLongest(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 2))
		table := randomTable(rng, RWKV)
		v := loaded(t, table)
		for range 50 {
			text := hardText(rng, 14)
			text = text[rng.IntN(len(text)):]
			var want []int32
			for rest := text; rest != ""; {
				longest := 0
				for id, s := range table.Tokens {
					if strings.HasPrefix(rest, s) && len(s) > len(table.Tokens[longest]) || !strings.HasPrefix(rest, table.Tokens[longest]) {
						longest = id
					}
				}
				want, rest = append(want, int32(longest)), rest[len(table.Tokens[longest]):]
			}
			got := v.Encode(nil, text, Options{Specials: true})
			if !slices.Equal(got, want) {
				t.Fatalf("%q: %v, want %v", text, got, want)
			}
			if back := v.Decode(got); back != text {
				t.Errorf("%q comes back as %q", text, back)
			}
		}
	}
}

// TestSpellable has bytes that are no UTF-8, and what llama.cpp (unicode_cpts_from_utf8) makes of them.
func TestSpellable(t *testing.T) {
	for text, want := range map[string]string{
		"é日":               "é日",
		"a\x80b":           "a\ufffdb",
		"\xff\xf8\x88":     "\ufffd\ufffd\ufffd",
		"\xe2\x82":         "\ufffd\ufffd",
		"\xe2\x82a":        "\ufffd\ufffda",
		"\xc1\xa1":         "a",            // in two bytes
		"\xe0\x80\xaf":     "/",            // in three
		"\xed\xa0\x80":     "\xed\xa0\x80", // half of a pair
		"\xf4\x90\x80\x80": "\xf4\x90\x80\x80",
	} {
		if got := spellable(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
