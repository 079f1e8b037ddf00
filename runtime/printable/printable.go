// Package printable makes text of unknown origin safe to print. Names in a model may contain characters that move a
// terminal's cursor, reverse the direction of writing, or end a line of source.
package printable

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// ellipsis marks where a text was cut.
const ellipsis = "…"

// Line returns s as one line. Every rune that does not print is replaced by its Go escape, such as \n or \x1b. Text
// that prints is returned unchanged.
func Line(s string) string { return escaped(s, "") }

// Text is like [Line], but leaves newlines and tabs unchanged.
func Text(s string) string { return escaped(s, "\n\t") }

// Name returns s if it prints, and otherwise s quoted as in Go. It also quotes an empty s, and one that begins with a
// quote, so that no two names look the same.
func Name(s string) string {
	if s == "" || s[0] == '"' || Line(s) != s {
		return strconv.Quote(s)
	}
	return s
}

// Quote quotes s as in Go. If the result is longer than most bytes, it returns the beginning, with a mark after the
// closing quote. most is at least 8.
func Quote(s string, most int) string {
	if len(s) <= most-2 {
		if q := strconv.Quote(s); len(q) <= most {
			return q
		}
	}
	head := s[:min(len(s), most)] // escaping makes nothing shorter
	room := most - len(`""`+ellipsis)
	b := []byte{'"'}
	for len(head) > 0 {
		_, size := utf8.DecodeRuneInString(head)
		q := escape(head[:size])
		if len(b)-1+len(q) > room {
			break
		}
		b, head = append(b, q...), head[size:]
	}
	return string(b) + `"` + ellipsis
}

// Cut shortens s to about most bytes by removing its middle. Messages state what is wrong at the beginning and what
// to do at the end.
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	tail := len(s) - most/2
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return Head(s, most/2) + " " + ellipsis + " " + s[tail:]
}

// Head returns the longest beginning of s that has whole runes and at most most bytes.
func Head(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// JSON returns a document whose strings have JSON escapes in place of runes that do not print. Its values are the
// same: outside of strings, the only such runes are newlines and tabs, which are kept.
func JSON(doc []byte) []byte {
	var out []byte
	done := 0 // bytes of doc that out contains
	for at := 0; at < len(doc); {
		r, size := utf8.DecodeRune(doc[at:])
		if r != '\n' && r != '\t' && !prints(r, size) {
			out = appendEscape(append(out, doc[done:at]...), r)
			done = at + size
		}
		at += size
	}
	if done == 0 {
		return doc
	}
	return append(out, doc[done:]...)
}

func escaped(s, kept string) string {
	var b strings.Builder
	done := 0 // bytes of s that b contains
	for at := 0; at < len(s); {
		r, size := utf8.DecodeRuneInString(s[at:])
		if !prints(r, size) && !strings.ContainsRune(kept, r) {
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

// prints reports whether a rune of size bytes prints as itself. A byte that is not UTF-8 does not.
func prints(r rune, size int) bool {
	return strconv.IsPrint(r) && (r != utf8.RuneError || size > 1)
}

// escape returns one rune, or a byte that is no part of one, as strconv.Quote writes it.
func escape(r string) string {
	q := strconv.Quote(r)
	return q[1 : len(q)-1]
}

// appendEscape appends a rune as JSON's escapes of its UTF-16 code units.
func appendEscape(b []byte, r rune) []byte {
	if r > 0xffff {
		return appendUnit(appendUnit(b, (r-0x10000)>>10+0xd800), (r-0x10000)&0x3ff+0xdc00)
	}
	return appendUnit(b, r)
}

// appendUnit appends the escape of a UTF-16 code unit.
func appendUnit(b []byte, unit rune) []byte {
	const hex = "0123456789abcdef"
	return append(b, '\\', 'u', hex[unit>>12], hex[unit>>8&15], hex[unit>>4&15], hex[unit&15])
}
