package token

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// bpe encodes a fragment: it cuts the text into words and joins the characters of each by the vocabulary's merges.
func (e *encoder) bpe(text string) {
	text = spellable(text)
	if e.v.flags&flagEscape != 0 {
		text = escape(text)
	}
	if e.v.flags&flagLower != 0 {
		text = lower(text)
	}
	e.chars = appendChars(e.chars[:0], text)
	e.ends, e.spare = apply(e.v.steps, e.chars, e.ends, e.spare)
	e.text = text
	if !e.v.raw() {
		e.text = spell(text)
	}
	start, pos := 0, 0
	for _, end := range e.ends {
		n := e.spelledBytes(e.chars[start:end], text)
		text = text[charBytes(e.chars[start:end]):]
		if e.v.flags&flagDropBlanks == 0 || !e.chars[start].is(blank) {
			e.word(pos, n)
		}
		pos += n
		start = end
	}
}

// lower returns a text in lower case. It keeps surrogates, which strings.ToLower replaces.
func lower(text string) string {
	b := make([]byte, 0, len(text))
	for pos := 0; pos < len(text); {
		c, n := lenientRune(text[pos:])
		b = appendLenient(b, uint32(unicode.ToLower(rune(c))))
		pos += n
	}
	return string(b)
}

// raw reports whether tokens are stored as text with U+2581 for spaces, and not spelled with a character for each
// byte.
func (v *Vocab) raw() bool { return v.flags&flagRaw != 0 }

// charBytes returns the number of bytes of characters.
func charBytes(chars []char) int {
	n := 0
	for _, c := range chars {
		n += int(c.n)
	}
	return n
}

// spelledBytes returns the number of bytes of e.text that the characters at the beginning of text have.
func (e *encoder) spelledBytes(chars []char, text string) int {
	n := charBytes(chars)
	if e.v.raw() {
		return n
	}
	spelled := 0
	for i := range n {
		spelled += utf8.RuneLen(byteRune(text[i]))
	}
	return spelled
}

// word encodes n bytes of e.text at pos.
func (e *encoder) word(pos, n int) {
	if n == 0 {
		return
	}
	if e.wholeWord(e.text[pos : pos+n]) {
		return
	}
	e.symbols = e.symbols[:0]
	for end := pos + n; pos < end; {
		_, size := utf8.DecodeRuneInString(e.text[pos:end])
		e.add(pos, size, e.v.piece(e.text[pos:pos+size]))
		pos += size
	}
	e.symbols[len(e.symbols)-1].next = -1
	e.merge()
	for i := 0; i >= 0; i = e.symbols[i].next {
		e.emitBPE(e.symbols[i])
	}
}

// wholeWord appends the token of a word if the vocabulary prefers tokens to merges. Words of newlines are always
// looked up where the tokens are raw text, as llama.cpp does for Gemma 4.
func (e *encoder) wholeWord(word string) bool {
	if e.v.flags&flagIgnoreMerges == 0 && (e.v.flags&flagNewlines == 0 || strings.Trim(word, "\n") != "") {
		return false
	}
	id := e.textToken(word)
	if id == None {
		return false
	}
	e.out = append(e.out, id)
	return true
}

// emitBPE appends the token of a symbol, or the tokens of its bytes. A byte without a token is lost, as in llama.cpp.
func (e *encoder) emitBPE(s symbol) {
	if s.id != None && e.v.Valid(s.id) && e.v.matchesText(s.id) && e.takes(s.id) {
		e.out = append(e.out, s.id)
		return
	}
	for _, b := range []byte(e.text[s.pos : s.pos+s.n]) {
		if id := e.v.bpeByte(b); id != None {
			e.out = append(e.out, id)
		}
	}
}

// bpeByte returns the token of a byte of a symbol that is no token.
func (v *Vocab) bpeByte(b byte) int32 {
	if v.raw() {
		return int32(u32(v.bytes, 4*int(b)))
	}
	return v.textToken(string([]byte{b}))
}

// matchesText reports whether text may become the token.
func (v *Vocab) matchesText(id int32) bool {
	switch v.TypeOf(id) {
	case Control, Unknown, Byte:
		return false
	}
	return true
}

// The spelling of byte-level BPE writes a byte as a character that can be printed: as itself where it is one in
// Latin-1, and as one from U+0100 otherwise (openai/gpt-2, encoder.py, bytes_to_unicode).

// byteRune returns the character of a byte.
func byteRune(b byte) rune {
	switch {
	case b <= ' ':
		return 0x100 + rune(b)
	case b < 0x7f:
		return rune(b)
	case b <= 0xa0:
		return 0x121 + rune(b-0x7f)
	case b == 0xad:
		return 0x143
	}
	return rune(b)
}

// runeByte returns the byte of a character.
func runeByte(r rune) (b byte, ok bool) {
	switch {
	case r > ' ' && r < 0x7f, r > 0xa0 && r <= 0xff && r != 0xad:
		return byte(r), true
	case r >= 0x100 && r <= 0x120:
		return byte(r - 0x100), true
	case r > 0x120 && r < 0x143:
		return byte(r - 0x121 + 0x7f), true
	case r == 0x143:
		return 0xad, true
	}
	return 0, false
}

// spell returns a text with a character for each byte.
func spell(text string) string {
	b := make([]byte, 0, len(text)+len(text)/2)
	for i := range len(text) {
		b = utf8.AppendRune(b, byteRune(text[i]))
	}
	return string(b)
}

// appendSpelled appends the bytes that the characters of a token represent. Any other character is kept.
func appendSpelled(dst []byte, token string) []byte {
	for _, r := range token {
		if b, ok := runeByte(r); ok {
			dst = append(dst, b)
		} else {
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
}

// piece returns the token or other text of a merge that is exactly this text, or None.
func (v *Vocab) piece(text string) int32 {
	for i := hash(v.seed, text) & v.mask; ; i = (i + 1) & v.mask {
		id := int32(u32(v.slots, 4*int(i))) - 1
		if id == None || v.Text(id) == text {
			return id
		}
	}
}

// merge returns the rank of a merge and what it makes, or None if there is no such merge.
func (v *Vocab) merge(left, right int32) (rank uint32, id int32) {
	if left == None || right == None || v.merges == "" {
		return 0, None
	}
	for i := hashPair(v.mergeSeed, left, right) & v.mergeMask; ; i = (i + 1) & v.mergeMask {
		slot := u32(v.mergeSlots, 4*int(i))
		if slot == 0 {
			return 0, None
		}
		at := 12 * int(slot-1)
		if int32(u32(v.merges, at)) == left && int32(u32(v.merges, at+4)) == right {
			return slot - 1, int32(u32(v.merges, at+8))
		}
	}
}

// hashPair is the hash of a merge.
func hashPair(seed uint32, left, right int32) uint32 {
	h := uint32(left)*0x9e3779b1 ^ (uint32(right)+seed)*0x85ebca6b
	h ^= h >> 15
	h *= 0x2c1b3c6d
	return h ^ h>>13
}
