// Package printable makes text of unknown origin harmless to print: names in a model may hold
// what moves a terminal's cursor, reverses the direction of writing, or ends a line of source.
package printable

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Line returns s as one line: every rune that does not print is written as Go's escape of it,
// such as \n or \x1b. Text that prints is returned as it is.
func Line(s string) string { return escaped(s, "") }

// Text returns s like [Line], with its newlines and tabs as they are.
func Text(s string) string { return escaped(s, "\n\t") }

func escaped(s, kept string) string {
	var b strings.Builder
	done := 0 // bytes of s that b holds
	for at := 0; at < len(s); {
		r, size := utf8.DecodeRuneInString(s[at:])
		invalid := r == utf8.RuneError && size == 1
		if invalid || !strconv.IsPrint(r) && !strings.ContainsRune(kept, r) {
			b.WriteString(s[done:at])
			b.WriteString(escape(s[at : at+size]))
			done = at + size
		}
		at += size
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// escape returns one rune, or a byte that is no part of one, as strconv.Quote writes it.
func escape(r string) string {
	q := strconv.Quote(r)
	return q[1 : len(q)-1]
}

// JSON returns a document in which the runes of strings that do not print are written as
// JSON's escapes. It holds the same values: outside strings there are no such runes but
// newlines and tabs, which stay.
func JSON(doc []byte) []byte {
	var out []byte
	for at := 0; at < len(doc); {
		r, size := utf8.DecodeRune(doc[at:])
		switch {
		case r == '\n', r == '\t', strconv.IsPrint(r):
			out = append(out, doc[at:at+size]...)
		case r > 0xffff:
			high, low := (r-0x10000)>>10+0xd800, (r-0x10000)&0x3ff+0xdc00
			out = appendUnit(appendUnit(out, high), low)
		default:
			out = appendUnit(out, r)
		}
		at += size
	}
	return out
}

// appendUnit appends the escape of a UTF-16 code unit.
func appendUnit(b []byte, unit rune) []byte {
	const hex = "0123456789abcdef"
	return append(b, '\\', 'u', hex[unit>>12], hex[unit>>8&15], hex[unit>>4&15], hex[unit&15])
}
