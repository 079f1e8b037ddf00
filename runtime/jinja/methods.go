package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// changes are the methods that would change a value, by the type that has them. A template that uses one is refused.
var changes = map[string]string{
	"append": "list", "extend": "list", "insert": "list", "remove": "list", "reverse": "list", "sort": "list",
	"update": "dict", "setdefault": "dict", "popitem": "dict", "clear": "dict", "pop": "dict",
}

// method returns a method of a value's type, or nil.
func method(of any, name string) *function {
	var call func(*machine, *args) any
	switch of := of.(type) {
	case string:
		call = textMethod(of, name)
	case *Dict:
		call = dictMethod(of, name)
	case []any:
		call = listMethod(of, name)
	default:
		if list, ok := indexed(of); ok && name != "copy" {
			call = listMethod(list, name)
		}
	}
	if call == nil {
		return nil
	}
	return &function{name, call}
}

func dictMethod(d *Dict, name string) func(*machine, *args) any {
	switch name {
	case "items":
		return func(m *machine, a *args) any { m.bind(a); return &view{name: "dict_items", list: m.pairs(d)} }
	case "keys":
		return func(m *machine, a *args) any { m.bind(a); return &view{name: "dict_keys", list: d.keyList()} }
	case "values":
		return func(m *machine, a *args) any { m.bind(a); return &view{name: "dict_values", list: d.vals} }
	case "get":
		return func(m *machine, a *args) any {
			b := m.bind(a, "key", "default")
			if v, ok := m.find(d, b[0]); ok {
				return v
			}
			return orElse(b[1], nil)
		}
	case "copy":
		return func(m *machine, a *args) any { m.bind(a); return d }
	}
	return nil
}

func listMethod(list []any, name string) func(*machine, *args) any {
	switch name {
	case "count":
		return func(m *machine, a *args) any {
			v, n := m.bind(a, "value")[0], int64(0)
			for _, e := range list {
				if m.equal(e, v) {
					n++
				}
			}
			return n
		}
	case "index":
		return func(m *machine, a *args) any {
			v := m.bind(a, "value")[0]
			for i, e := range list {
				if m.equal(e, v) {
					return int64(i)
				}
			}
			m.fail("index: %s is not in the list", short(v))
			return nil
		}
	case "copy":
		return func(m *machine, a *args) any { m.bind(a); return list }
	}
	return nil
}

// textMethod returns a method of a text. The methods are in three tables by what they take.
func textMethod(s, name string) func(*machine, *args) any {
	if f := plainMethods[name]; f != nil {
		return func(m *machine, a *args) any {
			m.bind(a)
			m.change(a, s)
			v := f(s)
			m.made(len(s))
			return v
		}
	}
	if f := textMethods[name]; f != nil {
		return func(m *machine, a *args) any {
			m.step(len(s) / 16)
			return f(m, s, a)
		}
	}
	if name == "format" {
		return func(m *machine, a *args) any { m.read(s); return m.braces(s, a) }
	}
	return nil
}

// plainMethods are the methods of texts without arguments.
var plainMethods = map[string]func(s string) any{
	"upper":      func(s string) any { return upper(s) },
	"lower":      func(s string) any { return lower(s) },
	"casefold":   func(s string) any { return fold(s) },
	"capitalize": func(s string) any { return capitalize(s) },
	"title":      func(s string) any { return titleWords(s) },
	"swapcase":   func(s string) any { return swapCase(s) },
	"isdigit":    every(isDigit),
	"isdecimal":  every(unicode.IsDigit),
	"isnumeric":  every(isNumeric),
	"isalpha":    every(unicode.IsLetter),
	"isalnum":    every(func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }),
	"isspace":    every(isSpace),
	"isupper":    func(s string) any { return cased(s, true) },
	"islower":    func(s string) any { return cased(s, false) },
	"isascii":    func(s string) any { return strings.IndexFunc(s, func(r rune) bool { return r > unicode.MaxASCII }) < 0 },
}

// every returns the question whether all characters of a text have a property, and there is one at least.
func every(is func(rune) bool) func(string) any {
	return func(s string) any {
		return s != "" && strings.IndexFunc(s, func(r rune) bool { return !is(r) }) < 0
	}
}

// textMethods are the methods of texts with arguments.
var textMethods = map[string]func(m *machine, s string, a *args) any{
	"strip":      func(m *machine, s string, a *args) any { return m.strip(s, m.bind(a, "chars")[0], trimBoth) },
	"lstrip":     func(m *machine, s string, a *args) any { return m.strip(s, m.bind(a, "chars")[0], trimLeft) },
	"rstrip":     func(m *machine, s string, a *args) any { return m.strip(s, m.bind(a, "chars")[0], trimRight) },
	"split":      func(m *machine, s string, a *args) any { return m.split(s, a, splitLeft) },
	"rsplit":     func(m *machine, s string, a *args) any { return m.split(s, a, splitRight) },
	"splitlines": methodSplitLines,
	"startswith": func(m *machine, s string, a *args) any { return m.affix(s, a, strings.HasPrefix) },
	"endswith":   func(m *machine, s string, a *args) any { return m.affix(s, a, strings.HasSuffix) },
	"removeprefix": func(m *machine, s string, a *args) any {
		return strings.TrimPrefix(s, m.textArg(m.bind(a, "prefix")[0]))
	},
	"removesuffix": func(m *machine, s string, a *args) any {
		return strings.TrimSuffix(s, m.textArg(m.bind(a, "suffix")[0]))
	},
	"replace": methodReplace,
	"join":    methodJoin,
	"find":    func(m *machine, s string, a *args) any { return m.index(s, a, strings.Index) },
	"rfind":   func(m *machine, s string, a *args) any { return m.index(s, a, strings.LastIndex) },
	"index":   func(m *machine, s string, a *args) any { return m.mustIndex(s, a, strings.Index) },
	"rindex":  func(m *machine, s string, a *args) any { return m.mustIndex(s, a, strings.LastIndex) },
	"count": func(m *machine, s string, a *args) any {
		sub, s, _ := m.between(s, a)
		return int64(strings.Count(s, m.textArg(sub)))
	},
	"partition":  func(m *machine, s string, a *args) any { return m.partition(s, a, strings.Index) },
	"rpartition": func(m *machine, s string, a *args) any { return m.partition(s, a, strings.LastIndex) },
	"ljust":      func(m *machine, s string, a *args) any { return m.justify(s, a, padRight) },
	"rjust":      func(m *machine, s string, a *args) any { return m.justify(s, a, padLeft) },
	"center":     func(m *machine, s string, a *args) any { return m.justify(s, a, padBoth) },
	"zfill":      methodZeros,
}

// textArg returns an argument that has to be a text.
func (m *machine) textArg(v any) string {
	s, ok := unmarked(v).(string)
	if !ok {
		m.fail("a text is needed, not a value of type %s", typeName(v))
	}
	return s
}

// side is where a text is trimmed.
type side uint8

const (
	trimLeft side = 1 << iota
	trimRight
	trimBoth = trimLeft | trimRight
)

// strip trims white space, or the characters of a text.
func (m *machine) strip(s string, chars any, at side) string {
	cut := isSpace
	m.step(len(s) / 16)
	if set := orElse(chars, nil); set != nil {
		text := m.textArg(set)
		m.step(len(s) * len(text) / 16)
		cut = func(r rune) bool { return strings.ContainsRune(text, r) }
	}
	if at&trimLeft != 0 {
		s = strings.TrimLeftFunc(s, cut)
	}
	if at&trimRight != 0 {
		s = strings.TrimRightFunc(s, cut)
	}
	return s
}

// between returns the text that a method looks for, and where: in all of s, or from a character up to another one.
func (m *machine) between(s string, a *args) (sub any, in string, from int) {
	if n := len(a.pos); n == 2 || n == 3 {
		var bounds [3]any
		copy(bounds[:], a.pos[1:])
		first, last, _ := m.bounds(m.length(s), bounds)
		start, _, _, _ := number(bounds[0])
		if last < first || start > int64(first) { // nothing is there, nor is an empty text
			if _, ok := a.pos[0].(tuple); ok {
				a.pos[0] = tuple{}
			} else if a.pos[0] == "" {
				a.pos[0] = "x"
			}
		}
		a.pos = a.pos[:1]
		s, from = m.sliceText(s, bounds)
	}
	return m.bind(a, "sub")[0], s, from
}

// affix reports whether a text begins or ends with another one, or with one of a tuple.
func (m *machine) affix(s string, a *args, has func(s, affix string) bool) any {
	v, s, _ := m.between(s, a)
	list, ok := v.(tuple)
	if !ok {
		list = tuple{v}
	}
	for _, one := range list {
		m.step(1 + len(s)/64)
		if has(s, m.textArg(m.use(one))) {
			return true
		}
	}
	return false
}

func methodReplace(m *machine, s string, a *args) any {
	b := m.bind(a, "old", "new", "count")
	return m.replace(s, m.textArg(b[0]), m.textArg(b[1]), m.integer(orElse(b[2], int64(-1)), "the count"))
}

func methodJoin(m *machine, s string, a *args) any {
	var b strings.Builder
	for i, e := range m.elements(m.bind(a, "iterable")[0]) {
		if i > 0 {
			b.WriteString(s)
		}
		b.WriteString(m.textArg(e))
		m.room(b.Len())
	}
	m.made(b.Len())
	return b.String()
}

// index returns the character at which a text is found, or -1.
func (m *machine) index(s string, a *args, find func(s, sub string) int) any {
	sub, s, from := m.between(s, a)
	i := find(s, m.textArg(sub))
	if i < 0 {
		return int64(-1)
	}
	return int64(from + utf8.RuneCountInString(s[:i]))
}

func (m *machine) mustIndex(s string, a *args, find func(s, sub string) int) any {
	i := m.index(s, a, find)
	if i == int64(-1) {
		m.fail("%s: the text is not there", a.of)
	}
	return i
}

// partition cuts a text in three: what is before a separator, the separator, what is after it.
func (m *machine) partition(s string, a *args, find func(s, sub string) int) any {
	sep := m.textArg(m.bind(a, "sep")[0])
	if sep == "" {
		m.fail("%s: the separator is empty", a.of)
	}
	i := find(s, sep)
	switch {
	case i >= 0:
		return tuple{s[:i], sep, s[i+len(sep):]}
	case a.of == "partition":
		return tuple{s, "", ""}
	}
	return tuple{"", "", s}
}

// padding is where a text gets blanks.
type padding uint8

const (
	padLeft padding = iota
	padRight
	padBoth
)

func (m *machine) justify(s string, a *args, at padding) any {
	b := m.bind(a, "width", "fillchar")
	fill := m.textArg(orElse(b[1], " "))
	if utf8.RuneCountInString(fill[:min(len(fill), 8)]) != 1 {
		m.fail("%s: the text to fill with has one character", a.of)
	}
	return m.pad(s, m.integer(b[0], "the width"), fill, at)
}

// pad makes a text at least as long as a width.
func (m *machine) pad(s string, width int, fill string, at padding) string {
	n := width - m.length(s)
	if n <= 0 {
		return s
	}
	m.product(len(fill), int64(n))
	left := 0
	switch at {
	case padLeft:
		left = n
	case padBoth:
		left = n/2 + n&width&1 // as Python does
	}
	return strings.Repeat(fill, left) + s + strings.Repeat(fill, n-left)
}

func methodZeros(m *machine, s string, a *args) any {
	width := m.integer(m.bind(a, "width")[0], "the width")
	if s != "" && (s[0] == '-' || s[0] == '+') {
		return s[:1] + m.pad(s[1:], width-1, "0", padLeft)
	}
	return m.pad(s, width, "0", padLeft)
}
