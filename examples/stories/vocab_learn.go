package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// learnVocab makes a vocabulary of the given size from texts by byte pair
// encoding over characters: the most frequent pair of neighbours becomes a
// piece, again and again. Equal counts are decided by the pair's text.
func learnVocab(texts []string, size int) *Vocab {
	words := countWords(texts)
	characters := charactersOf(words)
	var pieces []string
	for len(pieces) < size-firstPiece-len(characters) {
		pair, ok := bestPair(words)
		if !ok {
			break
		}
		if piece := pair[0] + pair[1]; !slices.Contains(pieces, piece) { // ab+c may follow a+bc
			pieces = append(pieces, piece)
		}
		for i := range words {
			words[i].merge(pair)
		}
	}
	return newVocab(append(pieces, characters...))
}

// countedWord is a word of the corpus, cut into the pieces known so far.
type countedWord struct {
	parts []string
	count int
}

func countWords(texts []string) []countedWord {
	counts := map[string]int{}
	for _, text := range texts {
		for _, word := range splitWords(text) {
			counts[word]++
		}
	}
	words := make([]countedWord, 0, len(counts))
	for _, word := range slices.Sorted(maps.Keys(counts)) {
		words = append(words, countedWord{strings.Split(word, ""), counts[word]})
	}
	return words
}

// charactersOf returns the characters of the words, most frequent first.
func charactersOf(words []countedWord) []string {
	counts := map[string]int{}
	for _, w := range words {
		for _, c := range w.parts {
			counts[c] += w.count
		}
	}
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], cmp.Compare(a, b))
	})
}

// bestPair returns the most frequent pair of neighbours that may be merged.
func bestPair(words []countedWord) (best [2]string, ok bool) {
	counts := map[[2]string]int{}
	for _, w := range words {
		for i := range len(w.parts) - 1 {
			counts[[2]string{w.parts[i], w.parts[i+1]}] += w.count
		}
	}
	for pair, n := range counts { // any order gives the same maximum
		if !mergeable(pair[0] + pair[1]) {
			continue
		}
		if !ok || n > counts[best] || n == counts[best] && before(pair, best) {
			best, ok = pair, true
		}
	}
	return best, ok
}

func before(a, b [2]string) bool {
	return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) < 0
}

func (w *countedWord) merge(pair [2]string) {
	for i := 0; i < len(w.parts)-1; i++ {
		if w.parts[i] == pair[0] && w.parts[i+1] == pair[1] {
			w.parts[i] += w.parts[i+1]
			w.parts = slices.Delete(w.parts, i+1, i+2)
		}
	}
}
