package jinja

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// simpleEscapes are the escapes of one character in Python's strings.
var simpleEscapes = map[byte]string{
	'n': "\n", 't': "\t", 'r': "\r", 'b': "\b", 'f': "\f", 'v': "\v", 'a': "\a", '\\': "\\", '\'': "'", '"': "\"", '\n': "",
}

// unescape returns the value of a string literal, or what is wrong with it. A backslash before another character stays,
// as in Python.
func unescape(s string) (value, fault string) {
	if !strings.Contains(s, "\\") {
		return s, ""
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if text, ok := simpleEscapes[s[i]]; ok {
			b.WriteString(text)
			continue
		}
		r, n := coded(s[i:])
		switch {
		case n > 0:
			b.WriteRune(r)
			i += n - 1
		case s[i] == 'N':
			return "", "names of characters such as \\N{BULLET} are not supported"
		case strings.IndexByte("xuU", s[i]) >= 0:
			return "", "the escape \\" + s[i:i+1] + " is no number of a character"
		default:
			b.WriteByte('\\')
			b.WriteByte(s[i])
		}
	}
	return b.String(), ""
}

// coded is codedUnit for characters: two halves of one are joined.
func coded(s string) (r rune, n int) {
	r, n = codedUnit(s)
	if utf16.IsSurrogate(r) && strings.HasPrefix(s[n:], `\u`) {
		low, k := codedUnit(s[n+1:])
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair, n + 1 + k
		}
	}
	return r, n
}

// codedUnit reads the number of a character, as in x41, u00e9, U0001f600 or 101, and returns its length.
func codedUnit(s string) (r rune, n int) {
	base, first, width := 16, 1, map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[0]]
	if width == 0 {
		base, first, width = 8, 0, octalDigits(s)
	}
	if width == 0 || len(s) < first+width {
		return 0, 0
	}
	code, err := strconv.ParseUint(s[first:first+width], base, 32)
	if err != nil || code > utf8.MaxRune {
		return 0, 0
	}
	return rune(code), first + width
}

// octalDigits returns how many of the first three bytes are octal digits.
func octalDigits(s string) int {
	n := 0
	for n < min(3, len(s)) && s[n] >= '0' && s[n] <= '7' {
		n++
	}
	return n
}
