package jinja

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// simpleEscapes are the escapes of one character in Python's strings.
var simpleEscapes = map[byte]string{
	'n': "\n", 't': "\t", 'r': "\r", 'b': "\b", 'f': "\f", 'v': "\v", 'a': "\a", '\\': "\\", '\'': "'", '"': "\"", '\n': "",
}

// unescape returns the value of a string literal. A backslash before another character stays, as in Python.
func unescape(s string) string {
	if !strings.Contains(s, "\\") {
		return s
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
		if n == 0 {
			b.WriteByte('\\')
			b.WriteByte(s[i])
			continue
		}
		b.WriteRune(r)
		i += n - 1
	}
	return b.String()
}

// coded reads the number of a character, as in x41, u00e9, U0001f600 or 101, and returns its length.
func coded(s string) (r rune, n int) {
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
