package jinja

import (
	"slices"
	"strings"
)

// markup is a text that the filters safe and escape return. Joined with another text, it escapes that. Its parts and
// what its methods make of it are markup, too. All else takes it for a text.
type markup string

// unmarked returns a value, of markup the text.
//
//go:noinline
func unmarked(v any) any {
	if s, ok := v.(markup); ok {
		return string(s)
	}
	return v
}

func isMarkup(v any) bool {
	_, ok := v.(markup)
	return ok
}

// marked returns a text as markup if what it is made from is markup.
//
//go:noinline
func marked(from, v any) any {
	if s, ok := v.(string); ok && isMarkup(from) {
		return markup(s)
	}
	return v
}

// escapeHTML replaces what HTML gives a meaning to. It counts 4 more bytes for each, and some have 3.
func (m *machine) escapeHTML(s string) string {
	m.read(s)
	n := len(s)
	for _, c := range "&<>'\"" {
		n += 4 * strings.Count(s, string(c))
	}
	m.made(n)
	return special.Replace(s)
}

var special = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "'", "&#39;", "\"", "&#34;")

// escaped returns a text escaped. Of a list, it escapes the elements.
func (m *machine) escaped(v any) any {
	if s, ok := v.(string); ok {
		return m.escapeHTML(s)
	}
	list, ok := v.([]any)
	if !ok {
		return unmarked(v)
	}
	m.step(len(list))
	out := make([]any, len(list))
	for i, e := range list {
		if _, ok := e.([]any); !ok {
			e = m.escaped(e)
		}
		out[i] = e
	}
	return out
}

// escaping are the methods of markup that escape their arguments.
var escaping = []string{"center", "format", "join", "ljust", "replace", "rjust"}

// markedMethod returns a method of markup.
func markedMethod(f *function) *function {
	return &function{f.name, func(m *machine, a *args) any {
		if slices.Contains(escaping, f.name) {
			for i, v := range a.pos {
				a.pos[i] = m.escaped(v)
			}
			for i, n := range a.named {
				a.named[i].value = m.escaped(n.value)
			}
		}
		return marked(markup(""), f.call(m, a))
	}}
}
