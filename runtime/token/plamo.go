package token

import (
	"math"
	"strings"
	"unicode/utf8"
)

// Costs of PLaMo-2's tokenizer are scores in units of 1e-4, with the sign changed (llama-vocab.cpp,
// llm_tokenizer_plamo2).
const (
	plamoUnit    = 1e4
	plamoUnknown = 10_000_000 // of a character without a token
	plamoMost    = 20_000_000 // tokens of this cost and more are not used
)

// byteOrderMark is left out at the beginning of a fragment.
const byteOrderMark = "\ufeff"

// plamo encodes a fragment with PLaMo-2's tokenizer: of all ways to cut the text into tokens and characters, the one
// with the least cost, and of equal ones that with the longest token first. Characters are spelled in bytes.
func (e *encoder) plamo(text string) {
	text = strings.TrimPrefix(spellable(text), byteOrderMark)
	best := make([]plamoChoice, len(text)+1)
	for at := len(text) - 1; at >= 0; at-- {
		if text[at]&0xc0 != 0x80 { // the beginning of a character
			e.plamoAt(best, text, at)
		}
	}
	for at := 0; at < len(text); {
		c := best[at]
		if c.id != None {
			e.out = append(e.out, c.id)
		} else {
			for _, b := range []byte(text[at:c.end]) {
				e.out = append(e.out, e.v.byteToken(b))
			}
		}
		at = c.end
	}
}

// plamoChoice is the best first piece of the rest of a text.
type plamoChoice struct {
	id   int32 // None: a character
	end  int
	cost int64 // of the whole rest
}

// plamoAt chooses the piece at a position. The choices after it are made.
func (e *encoder) plamoAt(best []plamoChoice, text string, at int) {
	end := min(at+leadBytes(text[at]), len(text))
	c := plamoChoice{None, end, best[end].cost + plamoUnknown}
	w := e.v.prefixes.walk(e.v)
	for end := at + 1; end <= len(text) && w.step(text[end-1]); end++ {
		id := w.token()
		if id == None || !e.takes(id) {
			continue
		}
		cost := -math.Round(float64(e.v.score(id)) * plamoUnit)
		if !(cost < plamoMost) || cost < -math.MaxInt32 {
			continue
		}
		if all := best[end].cost + int64(cost); all <= c.cost {
			c = plamoChoice{id, end, all}
		}
	}
	best[at] = c
}

// spellable returns a text in which each byte that begins no character is U+FFFD. As in llama.cpp
// (unicode_cpts_from_utf8), bytes of the form of a character are one, also where UTF-8 allows a shorter form, or no
// such character.
func spellable(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	var b []byte
	for pos := 0; pos < len(text); {
		c, n := lenientRune(text[pos:])
		b = appendLenient(b, c)
		pos += n
	}
	return string(b)
}

// lenientRune decodes the character at the beginning of a text, which is not empty.
func lenientRune(text string) (c uint32, n int) {
	lead := text[0]
	if lead < 0x80 {
		return uint32(lead), 1
	}
	n = leadBytes(lead)
	if n == 1 || lead >= 0xf8 || n > len(text) {
		return utf8.RuneError, 1
	}
	c = uint32(lead) & (0x7f >> n)
	for _, b := range []byte(text[1:n]) {
		if b&0xc0 != 0x80 {
			return utf8.RuneError, 1
		}
		c = c<<6 | uint32(b&0x3f)
	}
	return c, n
}

// appendLenient appends a character in the form of UTF-8, even if it is not valid in UTF-8.
func appendLenient(b []byte, c uint32) []byte {
	switch {
	case c < 0x80:
		return append(b, byte(c))
	case c < 0x800:
		return append(b, 0xc0|byte(c>>6), 0x80|byte(c&0x3f))
	case c < 0x10000:
		return append(b, 0xe0|byte(c>>12), 0x80|byte(c>>6&0x3f), 0x80|byte(c&0x3f))
	}
	return append(b, 0xf0|byte(c>>18), 0x80|byte(c>>12&0x3f), 0x80|byte(c>>6&0x3f), 0x80|byte(c&0x3f))
}
