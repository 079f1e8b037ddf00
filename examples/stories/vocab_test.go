package main

import (
	"slices"
	"testing"
)

func testVocab(t *testing.T) *Vocab {
	t.Helper()
	return learnVocab(testStories(1, 300), 400)
}

func TestEncodeRoundTrip(t *testing.T) {
	v := testVocab(t)
	texts := append(testStories(9, 50), "a", " ", "a  b", " leading and trailing ",
		"Zürich, 2026: €5 — 語 \n\t\x00", "\xff\xfe broken UTF-8", "▁", `""`)
	for _, text := range texts {
		ids := v.Encode(text)
		if ids[0] != beginID {
			t.Errorf("%q: the begin token is missing", text)
		}
		want := text
		if text == "▁" {
			want = " " // the format cannot distinguish them
		}
		if got := v.DecodeText(ids); got != want {
			t.Errorf("%q came back as %q", text, got)
		}
	}
	if got := v.Encode(""); !slices.Equal(got, []int32{beginID}) {
		t.Errorf("the empty text is %v", got)
	}
}

// TestEncodeIsSPM compares Encode, which goes word by word, with the algorithm
// on the whole text.
func TestEncodeIsSPM(t *testing.T) {
	v := testVocab(t)
	for _, text := range append(testStories(11, 20), "unknownwords andso on.\"x") {
		want := append([]int32{beginID}, spm(v, text)...)
		if got := v.Encode(text); !slices.Equal(got, want) {
			t.Errorf("%q: %v, not %v", text, got, want)
		}
	}
}

// spm merges the best pair of neighbours of the whole text until none is left.
func spm(v *Vocab, text string) []int32 {
	var parts []string
	for _, r := range " " + text {
		if r == ' ' {
			r = '▁'
		}
		parts = append(parts, string(r))
	}
	for {
		best := -1
		var bestID int
		for i := 1; i < len(parts); i++ {
			id := slices.Index(v.Pieces[firstPiece:], parts[i-1]+parts[i])
			if id >= 0 && (best < 0 || id < bestID) { // scores fall with ids
				best, bestID = i, id
			}
		}
		if best < 0 {
			break
		}
		parts[best-1] += parts[best]
		parts = slices.Delete(parts, best, best+1)
	}
	var ids []int32
	for _, p := range parts {
		ids = append(ids, int32(firstPiece+slices.Index(v.Pieces[firstPiece:], p)))
	}
	return ids
}

func TestLearnVocab(t *testing.T) {
	v := testVocab(t)
	if len(v.Pieces) != 400 {
		t.Errorf("%d pieces, not 400", len(v.Pieces))
	}
	seen := map[string]bool{}
	for i, piece := range v.Pieces {
		if seen[piece] {
			t.Errorf("%q is there twice", piece)
		}
		seen[piece] = true
		if i > firstPiece && v.Scores[i] >= v.Scores[i-1] {
			t.Errorf("the score of %q does not fall", piece)
		}
	}
	if again := testVocab(t); !slices.Equal(again.Pieces, v.Pieces) {
		t.Error("the same texts gave another vocabulary")
	}
}
