package jsonschema

import (
	"slices"
	"strconv"
	"strings"
)

// reference returns the rule of a part of the whole schema. A part that refers to itself is a rule that calls itself.
func (p *part) reference(ref value) string {
	path, ok := ref.(string)
	if !ok || path != "#" && !strings.HasPrefix(path, "#/") {
		p.fail(p.path, "$ref %v: only parts of the same schema, #/…, are supported", ref)
		return ""
	}
	if p.head != "" {
		p.heads[p.head] = append(p.heads[p.head], path)
	}
	if rule, ok := p.refs[path]; ok {
		return rule
	}
	v, ok := p.at(path)
	if !ok {
		p.fail(p.path, "$ref %s: there is no such part", path)
		return ""
	}
	rule := p.fresh("ref-" + path[strings.LastIndexByte(path, '/')+1:])
	p.refs[path] = rule
	defer func(head string) { p.head = head }(p.head)
	p.head = path
	return p.define(rule, p.value(v, rule, path))
}

// within returns the expression of an object or an array. References in it are after its bracket.
func (p *part) within(write func() string) string {
	defer func(head string) { p.head = head }(p.head)
	p.head = ""
	return write()
}

// checkHeads reports a $ref that leads to itself without a bracket before it: its values would begin with themselves.
func (w *writer) checkHeads() {
	done := make(map[string]bool)
	for path := range w.heads {
		if cycle := w.cycle(path, nil, done); cycle != nil {
			first := slices.Index(cycle, slices.Min(cycle)) // the same for each order of the map
			cycle = append(cycle[first:], cycle[:first]...)
			w.fail(cycle[0], "$ref leads back to itself: %s: a value would begin with itself: put the reference into an object or an array",
				strings.Join(append(cycle, cycle[0]), " to "))
			return
		}
	}
}

// cycle returns a cycle of references that is reached from a path; nil if there is none.
func (w *writer) cycle(path string, before []string, done map[string]bool) []string {
	if i := slices.Index(before, path); i >= 0 {
		return slices.Clone(before[i:])
	}
	if done[path] {
		return nil
	}
	done[path] = true
	for _, next := range w.heads[path] {
		if c := w.cycle(next, append(before, path), done); c != nil {
			return c
		}
	}
	return nil
}

// at returns the part of the whole schema that a JSON pointer (RFC 6901) names. Generators of schemas write some
// characters of it as %XX, as in every URI; others do not, and have % as a character.
func (w *writer) at(path string) (value, bool) {
	v, ok := w.pointed(path)
	if !ok && strings.Contains(path, "%") {
		v, ok = w.pointed(unescaped(path))
	}
	return v, ok
}

// unescaped returns a text with the bytes that are written as %XX (RFC 3986, section 2.1).
func unescaped(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '%' && i+2 < len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				c = byte(n)
				i += 2
			}
		}
		b.WriteByte(c)
	}
	return b.String()
}

// pointed returns the part that a pointer names as it is.
func (w *writer) pointed(path string) (value, bool) {
	v := w.top
	for _, key := range strings.Split(path, "/")[1:] {
		key = strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
		switch x := v.(type) {
		case *object:
			var ok bool
			if v, ok = x.get(key); !ok {
				return nil, false
			}
		case []value:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(x) {
				return nil, false
			}
			v = x[i]
		default:
			return nil, false
		}
	}
	return v, true
}
