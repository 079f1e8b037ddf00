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
	var parts []any
	if sep := orElse(b[0], nil); sep == nil {
		parts = m.splitSpace(s, most, from)
	} else if text := m.textArg(sep); text == "" {
		m.fail("%s: the separator is empty", a.of)
	} else {
		parts = m.splitAt(s, text, most, from)
	}
	if from == splitRight {
		slices.Reverse(parts)
	}
	return parts
}

// part appends a text to a list, and counts what the list takes for it.
func (m *machine) part(list []any, s string) []any {
	m.step(1)
	m.made(3 * elementBytes)
	return append(list, s)
}

// splitAt cuts at most so many times at a separator. The part at which it begins is the first.
func (m *machine) splitAt(s, sep string, most int, from direction) []any {
	parts, find := []any{}, strings.Index
	if from == splitRight {
		find = strings.LastIndex
	}
	for ; most > 0; most-- {
		i := find(s, sep)
		if i < 0 {
			break
		}
		part, rest := s[:i], s[i+len(sep):]
		if from == splitRight {
			part, rest = rest, part
		}
		parts, s = m.part(parts, part), rest
	}
	return m.part(parts, s)
}

// splitSpace is splitAt for white space. There are no empty parts.
func (m *machine) splitSpace(s string, most int, from direction) []any {
	parts := []any{}
	if from == splitLeft {
		for s = strings.TrimLeftFunc(s, isSpace); s != ""; most-- {
			i := strings.IndexFunc(s, isSpace)
			if i < 0 || most == 0 {
				return m.part(parts, s)
			}
			parts, s = m.part(parts, s[:i]), strings.TrimLeftFunc(s[i:], isSpace)
		}
		return parts
	}
	for s = strings.TrimRightFunc(s, isSpace); s != ""; most-- {
		i := strings.LastIndexFunc(s, isSpace)
		if i < 0 || most == 0 {
			return m.part(parts, s)
		}
		_, n := utf8.DecodeRuneInString(s[i:])
		parts, s = m.part(parts, s[i+n:]), strings.TrimRightFunc(s[:i], isSpace)
	}
	return parts
}

func methodSplitLines(m *machine, s string, a *args) any {
	return m.splitLines(s, truth(orElse(m.bind(a, "keepends")[0], false)))
}

// splitLines cuts a text at the ends of lines, which are those of Python's splitlines.
func (m *machine) splitLines(s string, keep bool) []any {
	parts := []any{}
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
		parts, start = m.part(parts, s[start:end]), i
	}
	if start < len(s) {
		parts = m.part(parts, s[start:])
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
