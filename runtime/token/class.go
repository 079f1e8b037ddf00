package token

import (
	"unicode"
	"unicode/utf8"
)

// class is what the expressions of pre-tokenizers ask about a character, as bits.
type class uint8

// The classes. A character has at most one of the first five.
const (
	letter class = 1 << iota // \p{L}
	number                   // \p{N}
	mark                     // \p{M}
	punct                    // \p{P}
	symb                     // \p{S}
	blank                    // White_Space, which is \s
)

// classOf returns the classes of a character in Unicode 15.1, the edition of llama.cpp's tables (unicode-data.cpp).
func classOf(r rune) class {
	switch {
	case unicode.IsLetter(r):
		return letter
	case unicode.IsSpace(r):
		return blank
	case unicode.IsNumber(r):
		return number
	case unicode.IsPunct(r):
		return punct
	case unicode.IsSymbol(r):
		return symb
	case unicode.IsMark(r):
		return mark
	}
	return addedClass(r)
}

// addedClass returns the class of a character that is in Unicode 15.1 but not in 15.0, the edition of the package
// unicode of Go 1.26.
func addedClass(r rune) class {
	switch {
	case r >= 0x2ebf0 && r <= 0x2ee5d: // CJK extension I
		return letter
	case r >= 0x2ffc && r <= 0x2fff, r == 0x31ef: // description characters of ideographs
		return symb
	}
	return 0
}

// char is a character of a text that is to be split, as lenientRune decodes it: a byte that is not part of a character
// is utf8.RuneError, and a surrogate is one character without a class.
type char struct {
	r rune
	c class
	n uint8 // bytes
}

// is reports whether the character is in one of some classes.
func (c char) is(any class) bool { return c.c&any != 0 }

// wide returns the character as llama.cpp's expressions without classes see it: all white space outside ASCII is a
// vertical tab (unicode.cpp, unicode_regex_split).
func (c char) wide() rune {
	if c.r > unicode.MaxASCII && c.is(blank) {
		return '\v'
	}
	return c.r
}

// appendChars appends the characters of a text.
func appendChars(dst []char, text string) []char {
	for pos := 0; pos < len(text); {
		c, n := lenientRune(text[pos:])
		dst = append(dst, char{rune(c), classOf(rune(c)), uint8(n)})
		pos += n
	}
	return dst
}

// isHan reports whether a character is in the blocks of Chinese characters that llama.cpp lists (unicode_cpt_is_han).
func isHan(r rune) bool { return inRanges(hanRanges, r) }

const hanRanges = "\u3400\u4dbf\u4e00\u9fff\uf900\ufaff" +
	"\U00020000\U0002a6df\U0002a700\U0002b73f\U0002b740\U0002b81f\U0002b820\U0002ceaf\U0002ceb0\U0002ebef\U0002f800\U0002fa1f"

// inRanges reports whether a character is in one of the ranges: pairs of the first and the last character, in
// ascending order.
func inRanges(ranges string, r rune) bool {
	for pos := 0; pos < len(ranges); {
		first, n := utf8.DecodeRuneInString(ranges[pos:])
		last, m := utf8.DecodeRuneInString(ranges[pos+n:])
		if r < first {
			return false
		}
		if r <= last {
			return true
		}
		pos += n + m
	}
	return false
}
