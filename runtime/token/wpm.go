package token

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// wpm encodes a fragment with WordPiece as llama.cpp implements it (llama-vocab.cpp, llm_tokenizer_wpm_session). Each
// word is cut into the longest tokens from its beginning. If they do not make up the word, it is the unknown token. A
// token at the beginning of a word has U+2581 before it.
func (e *encoder) wpm(text string) {
	var word []byte
	for pos := 0; pos < len(text); {
		c, n := lenientRune(text[pos:])
		pos += n
		r, class := e.v.normalize(rune(c))
		switch {
		case class == wordEnd:
			word = e.flushWPM(word)
		case class == wordItself:
			word = e.flushWPM(word)
			word = e.flushWPM(utf8.AppendRune(word, r))
		case class == wordPart:
			word = utf8.AppendRune(word, r)
		}
	}
	e.flushWPM(word)
}

// wordClass is what a character is to WordPiece.
type wordClass uint8

const (
	wordPart   wordClass = iota
	wordEnd              // white space
	wordItself           // punctuation and Chinese characters
	wordNone             // ignored
)

// normalize returns a character without its accents and in lower case, if the vocabulary wants that, and its class.
func (v *Vocab) normalize(r rune) (rune, wordClass) {
	strip := v.flags&flagStripAccents != 0
	if strip {
		r = v.base(r)
	}
	c := classOf(r)
	switch {
	case c&blank != 0:
		return r, wordEnd
	case r == 0, r == utf8.RuneError, c == 0 && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Cs, unicode.Co), strip && c&mark != 0:
		return r, wordNone
	}
	lower := r
	if v.flags&flagLower != 0 {
		lower = unicode.ToLower(r)
	}
	if c&punct != 0 || c&symb != 0 && r < unicode.MaxASCII || isChinese(r) {
		return lower, wordItself
	}
	return lower, wordPart
}

// isChinese reports whether a character is a word of its own. The sixth range begins later than the block that is
// meant, as in the models' own tokenizers (llama-vocab.cpp, is_chinese_char).
func isChinese(r rune) bool {
	return inRanges("\u3400\u4dbf\u4e00\u9fff\uf900\ufaff"+
		"\U00020000\U0002a6df\U0002a700\U0002b73f\U0002b740\U0002b81f\U0002b920\U0002ceaf\U0002f800\U0002fa1f", r)
}

// base returns the first character of the canonical decomposition.
func (v *Vocab) base(r rune) rune {
	const firstSyllable, lastSyllable, firstJamo, perJamo = 0xac00, 0xd7a3, 0x1100, 588
	if r >= firstSyllable && r <= lastSyllable {
		return firstJamo + (r-firstSyllable)/perJamo
	}
	if b, ok := v.bases[r]; ok {
		return b
	}
	return r
}

// accentBases returns the first characters of accented.
func accentBases() map[rune]rune {
	m := make(map[rune]rune, 2100)
	for group := range strings.SplitSeq(accented, " ") {
		base, n := utf8.DecodeRuneInString(group)
		for _, r := range group[n:] {
			m[r] = base
		}
	}
	return m
}

// flushWPM encodes a word and returns an empty one.
func (e *encoder) flushWPM(word []byte) []byte {
	if len(word) == 0 {
		return word
	}
	start := len(e.out)
	text := space + string(word)
	for pos := 0; pos < len(text); {
		id, n := e.longest(text[pos:])
		if id == None {
			e.out = append(e.out[:start], e.v.unk)
			break
		}
		e.out = append(e.out, id)
		pos += n
	}
	return word[:0]
}
