package jinja

import (
	"math"
	"strings"
	"unicode"
)

// filter is a filter: a function of a value and the arguments after its name.
type filter func(m *machine, v any, a *args) any

// filterOf returns the filter of a name, or nil.
func filterOf(name string) filter {
	switch name {
	case "abs":
		return filterAbs
	case "attr":
		return filterAttr
	case "capitalize":
		return textFilter(capitalize)
	case "center":
		return filterCenter
	case "count", "length":
		return func(m *machine, v any, a *args) any { m.bind(a); return int64(m.length(v)) }
	case "d", "default":
		return filterDefault
	case "e", "escape", "forceescape":
		return filterEscape
	case "float":
		return filterFloat
	case "format":
		return filterFormat
	case "indent":
		return filterIndent
	case "int":
		return filterInt
	case "lower":
		return textFilter(lower)
	case "replace":
		return filterReplace
	case "round":
		return filterRound
	case "safe":
		return func(m *machine, v any, a *args) any { m.bind(a); return markup(m.str(v)) }
	case "string":
		return textFilter(func(s string) string { return s })
	case "title":
		return textFilter(title)
	case "tojson":
		return filterJSON
	case "trim":
		return filterTrim
	case "truncate":
		return filterTruncate
	case "upper":
		return textFilter(upper)
	case "urlencode":
		return filterURLEncode
	case "wordcount":
		return filterWordCount
	}
	return listFilterOf(name)
}

// textFilter is a filter of texts without arguments.
func textFilter(f func(string) string) filter {
	return func(m *machine, v any, a *args) any {
		m.bind(a)
		s := m.str(v)
		m.change(a, s)
		s = f(s)
		m.made(len(s))
		return s
	}
}

func filterAbs(m *machine, v any, a *args) any {
	m.bind(a)
	n, x, isInt, ok := number(m.term(v))
	switch {
	case !ok:
		m.fail("abs needs a number, not a value of type %s", typeName(v))
	case isInt && n < 0:
		return m.integers("-", 0, n)
	case isInt:
		return n
	}
	return math.Abs(x)
}

// filterAttr returns an attribute of the type of a value, never an element.
func filterAttr(m *machine, v any, a *args) any {
	name := m.str(m.bind(a, "name")[0])
	if attr, ok := m.attribute(m.use(v), name); ok {
		return attr
	}
	return m.missing(v, name)
}

// filterEscape escapes a text, unless it is markup.
func filterEscape(m *machine, v any, a *args) any {
	m.bind(a)
	if s, ok := v.(markup); ok {
		return s
	}
	return markup(m.escapeHTML(m.str(v)))
}

func filterCenter(m *machine, v any, a *args) any {
	width := m.integer(orElse(m.bind(a, "width")[0], int64(80)), "the width")
	return m.pad(m.str(v), width, " ", padBoth)
}

func filterDefault(m *machine, v any, a *args) any {
	b := m.bind(a, "default_value", "boolean")
	_, un := v.(*undefined)
	if un || truth(orElse(b[1], false)) && !truth(v) {
		return orElse(b[0], "")
	}
	return v
}

func filterFormat(m *machine, v any, a *args) any {
	s := marked(v, m.str(v))
	if len(a.named) == 0 {
		return m.percent(s, tuple(a.pos))
	}
	d := &Dict{}
	m.step(len(a.named))
	for _, n := range a.named {
		m.setKey(d, n.name, n.value)
	}
	return m.percent(s, d)
}

// filterIndent puts blanks before all lines but the first.
func filterIndent(m *machine, v any, a *args) any {
	b := m.bind(a, "width", "first", "blank")
	first, blank := truth(orElse(b[1], false)), truth(orElse(b[2], false))
	in, ok := orElse(b[0], int64(4)).(string)
	if !ok {
		in, _ = m.repeat(" ", int64(m.integer(orElse(b[0], int64(4)), "the width"))).(string)
	}
	text := m.textArg(v) + "\n"
	m.step(len(text))
	lines := m.splitLines(text, false)
	m.product(len(in)+1, int64(len(lines)))
	var out strings.Builder
	for i, e := range lines {
		line, _ := e.(string)
		if i > 0 {
			out.WriteByte('\n')
		}
		if i > 0 && (blank || line != "") || i == 0 && first {
			out.WriteString(in)
		}
		out.WriteString(line)
	}
	m.made(out.Len())
	return out.String()
}

func filterReplace(m *machine, v any, a *args) any {
	b := m.bind(a, "old", "new", "count")
	if !given(b[1]) {
		m.fail("replace needs two texts")
	}
	n := -1
	if count := orElse(b[2], nil); count != nil {
		n = m.integer(count, "the count")
	}
	return m.replace(m.str(v), m.str(b[0]), m.str(b[1]), n)
}

// replace replaces the first n occurrences of a text; all if n is negative.
func (m *machine) replace(s, old, new string, n int) string {
	m.step(len(s) / 16)
	times := strings.Count(s, old)
	if n >= 0 {
		times = min(times, n)
	}
	m.made(len(s))
	m.product(len(new), int64(times))
	return strings.Replace(s, old, new, times)
}

func filterJSON(m *machine, v any, a *args) any {
	b := m.bind(a, "ensure_ascii", "indent", "separators", "sort_keys")
	w := jsonWriter{m: m, item: ", ", key: ": ", ascii: truth(orElse(b[0], false)), sorted: truth(orElse(b[3], false))}
	line := ""
	if indent := orElse(b[1], nil); indent != nil {
		text, ok := indent.(string)
		if !ok {
			text, _ = m.repeat(" ", int64(m.integer(indent, "the indentation"))).(string)
		}
		w.indent, w.item, line = text, ",", "\n"
	}
	if sep := orElse(b[2], nil); sep != nil {
		list := m.elements(sep)
		if len(list) != 2 {
			m.fail("tojson: there are two separators")
		}
		w.item, w.key = m.str(list[0]), m.str(list[1])
	}
	w.write(v, line)
	m.made(w.b.Len())
	return w.b.String()
}

func filterTrim(m *machine, v any, a *args) any {
	return m.strip(m.str(v), m.bind(a, "chars")[0], trimBoth)
}

// filterTruncate cuts a text that is too long, between words if possible.
func filterTruncate(m *machine, v any, a *args) any {
	b := m.bind(a, "length", "killwords", "end", "leeway")
	text := m.str(orElse(b[2], "..."))
	m.read(text)
	length, end := m.integer(orElse(b[0], int64(255)), "the length"), []rune(text)
	leeway := m.integer(orElse(b[3], int64(5)), "the leeway")
	if length < len(end) || leeway < 0 {
		m.fail("truncate: the length is less than that of the end")
	}
	if m.length(v) <= length+leeway {
		return v
	}
	text = m.textArg(v)
	m.read(text)
	s := []rune(text)
	cut := string(s[:length-len(end)])
	if !truth(orElse(b[1], false)) {
		if i := strings.LastIndexByte(cut, ' '); i >= 0 {
			cut = cut[:i]
		}
	}
	m.made(len(cut) + len(end))
	return cut + string(end)
}

// filterURLEncode encodes a text. The pairs of a dict or list, of which Python makes a query, are not supported.
func filterURLEncode(m *machine, v any, a *args) any {
	switch v.(type) {
	case []any, tuple, *Dict, *view:
		if m.length(v) > 0 {
			m.fail("urlencode takes a text: pairs are not supported")
		}
		v = ""
	}
	return textFilter(urlEncode)(m, v, a)
}

// urlEncode writes bytes that have a meaning in addresses as numbers.
func urlEncode(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c < 0x80 && (unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c)) || strings.IndexByte("_.-~/", c) >= 0) {
			b.WriteByte(c)
			continue
		}
		const hex = "0123456789ABCDEF"
		b.Write([]byte{'%', hex[c>>4], hex[c&15]})
	}
	return b.String()
}

func filterWordCount(m *machine, v any, a *args) any {
	m.bind(a)
	n, inside, s := int64(0), false, m.str(v)
	m.read(s)
	for _, r := range s {
		word := isWord(r) || isNumeric(r)
		if word && !inside {
			n++
		}
		inside = word
	}
	return n
}
