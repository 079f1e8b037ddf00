package jinja

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// direction is the end of a text at which splitting begins.
type direction uint8

const (
	splitLeft direction = iota
	splitRight
)

// split cuts a text at a separator, or at white space.
func (m *machine) split(s string, a *args, from direction) any {
	b := m.bind(a, "sep", "maxsplit")
	most := m.integer(orElse(b[1], int64(-1)), "maxsplit")
	if most < 0 {
		most = len(s)
	}
	var parts []string
	if sep := orElse(b[0], nil); sep == nil {
		parts = splitSpace(s, most, from)
	} else if text := m.textArg(sep); text == "" {
		m.fail("%s: the separator is empty", a.of)
	} else {
		parts = splitAt(s, text, most, from)
	}
	return m.texts(parts)
}

// texts returns texts as a list.
func (m *machine) texts(parts []string) []any {
	m.step(len(parts))
	m.made(elementBytes * len(parts))
	list := make([]any, len(parts))
	for i, s := range parts {
		list[i] = s
	}
	return list
}

// splitAt cuts at most so many times at a separator.
func splitAt(s, sep string, most int, from direction) []string {
	if from == splitLeft {
		return strings.SplitN(s, sep, most+1)
	}
	var parts []string
	for ; most > 0; most-- {
		i := strings.LastIndex(s, sep)
		if i < 0 {
			break
		}
		parts, s = append(parts, s[i+len(sep):]), s[:i]
	}
	parts = append(parts, s)
	slices.Reverse(parts)
	return parts
}

// splitSpace cuts at most so many times at white space. There are no empty parts.
func splitSpace(s string, most int, from direction) []string {
	var parts []string
	if from == splitLeft {
		for s = strings.TrimLeftFunc(s, isSpace); s != ""; most-- {
			i := strings.IndexFunc(s, isSpace)
			if i < 0 || most == 0 {
				return append(parts, s)
			}
			parts, s = append(parts, s[:i]), strings.TrimLeftFunc(s[i:], isSpace)
		}
		return parts
	}
	for s = strings.TrimRightFunc(s, isSpace); s != ""; most-- {
		i := strings.LastIndexFunc(s, isSpace)
		if i < 0 || most == 0 {
			parts = append(parts, s)
			break
		}
		_, n := utf8.DecodeRuneInString(s[i:])
		parts, s = append(parts, s[i+n:]), strings.TrimRightFunc(s[:i], isSpace)
	}
	slices.Reverse(parts)
	return parts
}

func methodSplitLines(m *machine, s string, a *args) any {
	return m.texts(splitLines(s, truth(orElse(m.bind(a, "keepends")[0], false))))
}

// splitLines cuts a text at the ends of lines, which are those of Python's splitlines.
func splitLines(s string, keep bool) []string {
	parts := []string{}
	start := 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		end := i
		i += n
		if !endsLine(r) {
			continue
		}
		if r == '\r' && i < len(s) && s[i] == '\n' {
			i++
		}
		if keep {
			end = i
		}
		parts, start = append(parts, s[start:end]), i
	}
	if start < len(s) {
		parts = append(parts, s[start:])
	}
	return parts
}

func endsLine(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
		return true
	}
	return false
}
