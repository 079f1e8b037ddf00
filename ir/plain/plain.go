// Package plain writes text from files so that a terminal prints it as it is: without control
// characters, directions of writing and broken UTF-8, and not longer than a reader wants.
package plain

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// ellipsis is what a text that was cut ends with.
const ellipsis = "…"

// Name returns a name for a line of output. One that is printable stays as it is; others,
// and those that begin with a quote, are quoted as in Go.
func Name(s string) string {
	if s == "" || s[0] == '"' || !printable(s) {
		return strconv.Quote(s)
	}
	return s
}

// Quote quotes s as in Go. Of a result longer than most bytes it returns the beginning, with
// a mark after the closing quote; most is at least 8.
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
		_, n := utf8.DecodeRuneInString(head)
		q := strconv.Quote(head[:n])
		if q = q[1 : len(q)-1]; len(b)-1+len(q) > room {
			break
		}
		b, head = append(b, q...), head[n:]
	}
	return string(b) + `"` + ellipsis
}

// Text returns text of several lines in which everything is escaped that a terminal would
// not print, but for the ends of lines and tabs.
func Text(s string) string {
	if printable(strings.NewReplacer("\n", "", "\t", "").Replace(s)) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == '\n' || r == '\t' || visible(r, n) {
			b.WriteString(s[:n])
		} else {
			q := strconv.Quote(s[:n])
			b.WriteString(q[1 : len(q)-1])
		}
		s = s[n:]
	}
	return b.String()
}

// Cut returns s in at most about most bytes: of a longer one the beginning and the end, as
// messages say at the beginning what is wrong and at the end what to do.
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	head, tail := most/2, len(s)-most/2
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return s[:head] + " " + ellipsis + " " + s[tail:]
}

// JSON returns a JSON text in which whatever a terminal would not print is written as \u.
func JSON(b []byte) []byte {
	var out []byte
	from := 0
	for at := 0; at < len(b); {
		if ' ' <= b[at] && b[at] <= '~' {
			at++
			continue
		}
		r, n := utf8.DecodeRune(b[at:])
		if r == '\n' || visible(r, n) {
			at += n
			continue
		}
		out = append(out, b[from:at]...)
		out = appendUnit(out, r)
		at += n
		from = at
	}
	if from == 0 {
		return b
	}
	return append(out, b[from:]...)
}

// appendUnit appends a rune as UTF-16 in JSON's escapes.
func appendUnit(b []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	unit := func(u rune) { b = append(b, '\\', 'u', hex[u>>12&15], hex[u>>8&15], hex[u>>4&15], hex[u&15]) }
	if r > 0xffff {
		r -= 0x10000
		unit(0xd800 + r>>10)
		unit(0xdc00 + r&0x3ff)
		return b
	}
	unit(r)
	return b
}

// printable reports whether all of s is.
func printable(s string) bool {
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if !visible(r, n) {
			return false
		}
		s = s[n:]
	}
	return true
}

// visible reports whether a rune that takes n bytes is printed as it is. A byte that is not
// UTF-8 is not.
func visible(r rune, n int) bool {
	return strconv.IsPrint(r) && (r != utf8.RuneError || n > 1)
}
