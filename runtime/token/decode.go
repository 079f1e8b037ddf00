package token

import (
	"strings"
	"unicode/utf8"
)

// AppendPiece appends the text of a token: text with real spaces, a byte, or nothing for control and unknown tokens.
// The bytes of one character may be spread over several tokens.
func (v *Vocab) AppendPiece(dst []byte, id int32) []byte {
	if !v.Valid(id) {
		return dst
	}
	text := v.Text(id)
	if v.flags&flagDNA != 0 && id > v.dna.unknown { // tokens of bases follow that, or keep their mark, as in llama.cpp
		text = strings.TrimSuffix(text, dnaMark)
	}
	switch v.TypeOf(id) {
	case Control, Unknown, Unused:
		return dst
	case UserDefined:
		return append(dst, text...)
	case Byte:
		if b, ok := ParseByte(text); ok {
			return append(dst, b)
		}
	}
	if v.algorithm == RWKV || v.algorithm == PLaMo {
		return append(dst, text...)
	}
	if v.algorithm == BPE && !v.raw() {
		return appendSpelled(dst, text)
	}
	return appendUnescaped(dst, text)
}

// appendUnescaped appends text with spaces in place of U+2581.
func appendUnescaped(dst []byte, text string) []byte {
	for i := 0; i < len(text); i++ {
		if text[i] == space[0] && i+len(space) <= len(text) && text[i:i+len(space)] == space {
			dst = append(dst, ' ')
			i += len(space) - 1
			continue
		}
		dst = append(dst, text[i])
	}
	return dst
}

// Decode returns the text of a whole sequence of tokens made by Encode, without the space that Encode has added at
// its beginning. (A Decoder keeps such spaces, as generation continues a text.)
func (v *Vocab) Decode(ids []int32) string {
	if len(ids) > 0 && ids[0] == v.bos {
		ids = ids[1:]
	}
	var b []byte
	for _, id := range ids {
		b = v.AppendPiece(b, id)
	}
	if (v.flags&flagAddSpace != 0 || v.algorithm == WPM) && len(b) > 0 && b[0] == ' ' {
		b = b[1:]
	}
	return string(b)
}

// Decoder turns generated tokens into text one by one. A piece never ends inside a UTF-8 sequence: the bytes of an
// incomplete one are held back until it is complete.
type Decoder struct {
	v    *Vocab
	held []byte // at most utf8.UTFMax-1 between calls
}

// NewDecoder returns a Decoder for a new generation.
func NewDecoder(v *Vocab) *Decoder { return &Decoder{v: v, held: make([]byte, 0, 256)} }

// Append appends to dst the text that is complete after this token. It allocates only to grow dst. Bytes that cannot
// be part of a UTF-8 sequence are passed on unchanged.
func (d *Decoder) Append(dst []byte, id int32) []byte {
	d.held = d.v.AppendPiece(d.held, id)
	n := len(d.held) - incomplete(d.held)
	dst = append(dst, d.held[:n]...)
	d.held = append(d.held[:0], d.held[n:]...)
	return dst
}

// Flush appends the bytes still held back, an incomplete character, and prepares the Decoder for another generation.
func (d *Decoder) Flush(dst []byte) []byte {
	dst = append(dst, d.held...)
	d.held = d.held[:0]
	return dst
}

// incomplete returns the number of bytes at the end of b that begin a UTF-8 sequence without completing it.
func incomplete(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		tail := b[len(b)-n:]
		if !utf8.RuneStart(tail[0]) {
			continue
		}
		if utf8.FullRune(tail) {
			return 0
		}
		return n
	}
	return 0
}
