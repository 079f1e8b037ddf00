package token

import (
	"strings"
	"unicode/utf8"
)

// ugm encodes a fragment with a unigram model of SentencePiece as llama.cpp implements it (llama-vocab.cpp,
// llm_tokenizer_ugm_session): of all ways to cut the normalized text into tokens, the one with the highest sum of
// scores.
func (e *encoder) ugm(text string) {
	text = e.v.normalizeUGM(text)
	if text == "" {
		return
	}
	best := make([]choice, len(text)+1)
	for i := range best {
		best[i] = choice{id: e.v.unk, score: -maxFloat}
	}
	best[0].score = 0
	for at := 0; at < len(text); {
		size := min(leadBytes(text[at]), len(text)-at)
		if !e.tokensAt(best, text, at, size) {
			best[at+size].improve(e.v.unk, at, best[at].score+float64(e.v.unknownScore))
		}
		at += size
	}
	e.backtrack(best)
}

// maxFloat is the largest float64.
const maxFloat = 0x1p1023 * (1 + (1 - 0x1p-52))

// choice is the best known token that ends at a position.
type choice struct {
	id    int32
	from  int // where it begins
	score float64
}

// improve replaces the choice if a token has a higher score.
func (c *choice) improve(id int32, from int, score float64) {
	if score > c.score {
		*c = choice{id, from, score}
	}
}

// tokensAt tries all tokens that begin at a position. It reports whether one of them is the whole character there.
func (e *encoder) tokensAt(best []choice, text string, at, size int) (whole bool) {
	w := e.v.prefixes.walk(e.v)
	for end := at + 1; end <= len(text) && w.step(text[end-1]); end++ {
		id := w.token()
		if id == None || !e.takes(id) {
			continue
		}
		whole = whole || end-at == size
		score := 0.0 // of user-defined tokens, which makes them likely
		if e.v.TypeOf(id) != UserDefined {
			score = float64(e.v.score(id))
		}
		best[end].improve(id, at, best[at].score+score)
	}
	return whole
}

// backtrack appends the best tokens. Neighbouring unknown tokens are one.
func (e *encoder) backtrack(best []choice) {
	start := len(e.out)
	unknown := false
	for at := len(best) - 1; at > 0; at = best[at].from {
		isUnknown := best[at].id == e.v.unk
		if !(unknown && isUnknown) {
			e.out = append(e.out, best[at].id)
		}
		unknown = isUnknown
	}
	for i, j := start, len(e.out)-1; i < j; i, j = i+1, j-1 {
		e.out[i], e.out[j] = e.out[j], e.out[i]
	}
}

// leadBytes returns the length of a character by its first byte.
func leadBytes(b byte) int {
	switch {
	case b < 0xc0:
		return 1
	case b < 0xe0:
		return 2
	case b < 0xf0:
		return 3
	}
	return 4
}

// normalizeUGM replaces what the vocabulary's map of characters replaces, and spaces with U+2581.
func (v *Vocab) normalizeUGM(text string) string {
	var b strings.Builder
	b.Grow(len(text) + len(text)/2)
	merge := v.flags&flagMergeSpaces != 0
	prepend := v.flags&flagAddSpace != 0
	inWord := false
	for pos := 0; pos < len(text); {
		part, n := v.replacement(text[pos:])
		pos += n
		for i := range len(part) {
			if part[i] != ' ' {
				if !inWord && (prepend || merge) {
					b.WriteString(space)
					prepend = false
				}
				inWord = true
				b.WriteByte(part[i])
				continue
			}
			inWord = false
			if !merge {
				b.WriteString(space)
			}
		}
	}
	return b.String()
}

// replacement returns what replaces the first n bytes of a text.
func (v *Vocab) replacement(text string) (part string, n int) {
	if n := v.userDefined(text); n > 0 {
		return text[:n], n
	}
	if part, n := v.charsmap.longest(text); n > 0 {
		return part, n
	}
	r, n := utf8.DecodeRuneInString(text)
	if r == utf8.RuneError && n == 1 {
		return "\ufffd", 1
	}
	return text[:n], n
}

// userDefined returns how much of a text some user-defined token begins with. As in llama.cpp, it need not be the whole
// token.
func (v *Vocab) userDefined(text string) int {
	w := v.special.user.walk(v)
	for i := range len(text) {
		if !w.step(text[i]) {
			return i
		}
	}
	return len(text)
}

// charsmap is SentencePiece's map of characters to their replacements (sentencepiece, normalizer.cc): the length of a
// trie in bytes, the trie, and the replacements, each of which ends with a zero. The trie is a double array
// (Darts-clone, darts.h): units of 32 bits, of which 0 to 7 are the label, 8 tells that a text ends, 9 and 10 to 30 are
// the offset to the children, and 31 marks the value of a text that ends: the position of its replacement.
type charsmap string

// units returns the number of units of the trie.
func (c charsmap) units() uint32 {
	if len(c) < 4 {
		return 0
	}
	return min(u32(string(c), 0), uint32(len(c)-4)) / 4
}

// unit returns the i-th unit. There is none out of bounds, which 0 is not mistaken for: its label is no byte of a text.
func (c charsmap) unit(i uint32) uint32 {
	if i >= c.units() {
		return 0
	}
	return u32(string(c), 4+4*int(i))
}

// offset returns the distance of a unit to its children.
func offset(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }

// longest returns the replacement of the longest text in the map that this text begins with, and that text's length.
func (c charsmap) longest(text string) (part string, n int) {
	at := offset(c.unit(0))
	for i := 0; i < len(text) && text[i] != 0; i++ {
		at ^= uint32(text[i])
		unit := c.unit(at)
		if unit&(1<<31|0xff) != uint32(text[i]) {
			break
		}
		at ^= offset(unit)
		if unit>>8&1 != 0 {
			if s, ok := c.replacement(c.unit(at) &^ (1 << 31)); ok {
				part, n = s, i+1
			}
		}
	}
	return part, n
}

// replacement returns the text at a position.
func (c charsmap) replacement(at uint32) (string, bool) {
	texts := string(c[min(4+4*int(c.units()), len(c)):])
	if at >= uint32(len(texts)) {
		return "", false
	}
	end := strings.IndexByte(texts[at:], 0)
	if end < 0 {
		return "", false
	}
	return texts[at : int(at)+end], true
}
