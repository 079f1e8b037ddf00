package token

import (
	"math"
	"slices"
)

// space replaces spaces in tokens: U+2581.
const space = "\u2581"

// spm encodes a fragment. It is at the beginning of the whole text or follows a special token. Both get a space in
// front if the vocabulary wants one.
func (e *encoder) spm(text string) {
	if e.v.flags&flagAddSpace != 0 {
		text = " " + text
	}
	e.text = escape(text)
	e.cut()
	e.merge()
	for i := 0; i >= 0; i = e.symbols[i].next {
		e.emit(e.symbols[i])
	}
}

// cut makes a symbol of each character. As in llama.cpp, its first byte alone determines its length, so that a
// character that is cut off includes bytes after it, even those of an escaped space.
func (e *encoder) cut() {
	e.symbols = slices.Grow(e.symbols[:0], len(e.text))
	for pos := 0; pos < len(e.text); {
		n := min(leadBytes(e.text[pos]), len(e.text)-pos)
		e.add(pos, n, None)
		pos += n
	}
	e.symbols[len(e.symbols)-1].next = -1
}

// add appends a symbol. The last one's next must be set to -1.
func (e *encoder) add(pos, n int, id int32) {
	i := len(e.symbols)
	e.symbols = append(e.symbols, symbol{pos: pos, n: n, prev: i - 1, next: i + 1, id: id})
}

// textToken returns the token of a piece of text, or None. Control and unknown tokens do not count, as no text may
// become one.
func (v *Vocab) textToken(text string) int32 {
	id := v.Lookup(text)
	if id == None {
		return None
	}
	switch v.TypeOf(id) {
	case Control, Unknown, Byte:
		return None
	}
	return id
}

// order returns a key that is smaller for higher scores.
func (v *Vocab) order(id int32) uint32 {
	b := math.Float32bits(v.score(id) + 0) // +0 makes -0 equal to 0
	if b>>31 != 0 {
		return b
	}
	return ^(b | 1<<31)
}

// emit appends the token of a symbol, or the tokens of its bytes.
func (e *encoder) emit(s symbol) {
	text := e.text[s.pos : s.pos+s.n]
	if id := e.textToken(text); id != None {
		e.out = append(e.out, id)
		return
	}
	for i := range len(text) {
		id := e.v.byteToken(text[i])
		if id == None {
			continue
		}
		e.out = append(e.out, id)
		if id == e.v.unk { // one for the character, not one for each byte
			return
		}
	}
}
