package cmd

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// columns is the width of texts for people.
const columns = 120

// hanging is how much further than its line the rest of a line is indented that is too long.
const hanging = 4

// wrap breaks the lines of a text that are wider than so many columns: at a blank, or within a word that is wider than
// a line, so that nothing is lost. The rest is indented, after prefix, which lines may begin with.
func wrap(text string, width int, prefix string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		body, ended := strings.CutSuffix(line, "\n")
		indent := restIndent(body, width, prefix)
		for utf8.RuneCountInString(body) > width {
			at := breakAt(body, width, len(indent))
			b.WriteString(strings.TrimRight(body[:at], " ") + "\n")
			body = indent + strings.TrimLeft(body[at:], " ")
		}
		b.WriteString(body)
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// breakAt returns the byte at which a line that is too wide is broken: the last blank that fits, after the first bytes
// that may be indentation.
func breakAt(line string, width, least int) int {
	last, column := 0, 0
	for i, r := range line {
		if r == ' ' && i > least && !beforeUnit(line, i) {
			last = i
		}
		if column == width {
			if last == 0 {
				return i
			}
			return last
		}
		column++
	}
	return len(line)
}

// units are the words that stay on the line of their number.
var units = []string{"B", "KiB", "MiB", "GiB", "TiB", "ns", "µs", "us", "ms", "s", "%", "FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"}

// beforeUnit reports whether a blank is between a number and its unit.
func beforeUnit(line string, at int) bool {
	if at == 0 || line[at-1] < '0' || line[at-1] > '9' {
		return false
	}
	word, _, _ := strings.Cut(line[at+1:], " ")
	return slices.Contains(units, strings.TrimRight(word, ",;:)"))
}

// restIndent returns what the rest of a line begins with.
func restIndent(line string, width int, prefix string) string {
	rest, ok := strings.CutPrefix(line, prefix)
	if !ok {
		prefix, rest = "", line
	}
	blanks := len(rest) - len(strings.TrimLeft(rest, " "))
	return prefix + strings.Repeat(" ", min(blanks, width/2)+hanging)
}
