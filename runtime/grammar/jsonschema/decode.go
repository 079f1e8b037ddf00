package jsonschema

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// value is a JSON value with the order of its members: nil, bool, number, string, []value or *object.
type value any

// number is the text of a number.
type number string

// object is a JSON object. Of members with equal keys, the last one counts.
type object struct {
	keys   []string
	values map[string]value
}

func (o *object) get(key string) (value, bool) {
	v, ok := o.values[key]
	return v, ok
}

// maxDepth bounds objects and arrays within each other.
const maxDepth = 200

// decode reads one JSON value. Programs contain it, and encoding/json would add half a megabyte to each.
func decode(text string) (value, error) {
	r := &reader{text: text}
	v, err := r.value(0)
	if err != nil {
		return nil, err
	}
	if r.space(); r.at < len(text) {
		return nil, errors.New("there is text after the schema")
	}
	return v, nil
}

// reader reads JSON (RFC 8259).
type reader struct {
	text string
	at   int
}

func (r *reader) line() int { return 1 + strings.Count(r.text[:r.at], "\n") }

// fail returns an error at the present place.
func (r *reader) fail(what string) error {
	line := r.line()
	if r.at == len(r.text) {
		return fmt.Errorf("line %d: the text ends where %s is expected", line, what)
	}
	c, _ := utf8.DecodeRuneInString(r.text[r.at:])
	return fmt.Errorf("line %d: %q where %s is expected", line, c, what)
}

func (r *reader) space() {
	for r.at < len(r.text) && strings.IndexByte(" \t\r\n", r.text[r.at]) >= 0 {
		r.at++
	}
}

// accept skips a word if it is next.
func (r *reader) accept(word string) bool {
	ok := strings.HasPrefix(r.text[r.at:], word)
	if ok {
		r.at += len(word)
	}
	return ok
}

func (r *reader) value(depth int) (value, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("more than %d objects and arrays are within each other", maxDepth)
	}
	r.space()
	switch {
	case r.accept("{"):
		return r.object(depth + 1)
	case r.accept("["):
		return r.array(depth + 1)
	case r.accept(`"`):
		return r.string()
	case r.accept("true"):
		return true, nil
	case r.accept("false"):
		return false, nil
	case r.accept("null"):
		return nil, nil
	}
	return r.number()
}

func (r *reader) array(depth int) (value, error) {
	list := []value{}
	if r.space(); r.accept("]") {
		return list, nil
	}
	for {
		v, err := r.value(depth)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		if r.space(); r.accept("]") {
			return list, nil
		}
		if !r.accept(",") {
			return nil, r.fail("a comma or ]")
		}
	}
}

func (r *reader) object(depth int) (value, error) {
	o := &object{values: make(map[string]value)}
	if r.space(); r.accept("}") {
		return o, nil
	}
	for {
		if err := r.member(o, depth); err != nil {
			return nil, err
		}
		if r.space(); r.accept("}") {
			return o, nil
		}
		if !r.accept(",") {
			return nil, r.fail("a comma or }")
		}
	}
}

func (r *reader) member(o *object, depth int) error {
	if r.space(); !r.accept(`"`) {
		return r.fail("a key in quotes")
	}
	key, err := r.string()
	if err != nil {
		return err
	}
	if r.space(); !r.accept(":") {
		return r.fail("a colon")
	}
	v, err := r.value(depth)
	if _, has := o.values[key]; !has {
		o.keys = append(o.keys, key)
	}
	o.values[key] = v
	return err
}

// number reads [-] digits [. digits] [e [+-] digits].
func (r *reader) number() (value, error) {
	from := r.at
	r.accept("-")
	if !r.accept("0") && !r.digits() {
		return nil, r.fail("a value")
	}
	if r.accept(".") && !r.digits() {
		return nil, r.fail("a digit")
	}
	if r.accept("e") || r.accept("E") {
		if !r.accept("+") {
			r.accept("-")
		}
		if !r.digits() {
			return nil, r.fail("a digit")
		}
	}
	return number(r.text[from:r.at]), nil
}

// digits skips digits, and reports whether there are any.
func (r *reader) digits() bool {
	from := r.at
	for r.at < len(r.text) && r.text[r.at] >= '0' && r.text[r.at] <= '9' {
		r.at++
	}
	return r.at > from
}

// string reads the rest of a string. What is no UTF-8 becomes U+FFFD.
func (r *reader) string() (string, error) {
	var b strings.Builder
	for r.at < len(r.text) {
		c, size := utf8.DecodeRuneInString(r.text[r.at:])
		switch {
		case c == '"':
			r.at++
			return b.String(), nil
		case c < ' ':
			return "", r.fail(`a character or "`)
		case c == '\\':
			if err := r.escape(&b); err != nil {
				return "", err
			}
		default:
			r.at += size
			b.WriteRune(c)
		}
	}
	return "", r.fail(`a character or "`)
}

// escapes are the characters after a backslash, and what they denote.
const (
	escapes = `"\/bfnrt`
	escaped = "\"\\/\b\f\n\r\t"
)

// escape reads a backslash and what follows it.
func (r *reader) escape(b *strings.Builder) error {
	r.at++
	if r.accept("u") {
		return r.unit(b)
	}
	if r.at < len(r.text) {
		if i := strings.IndexByte(escapes, r.text[r.at]); i >= 0 {
			r.at++
			b.WriteByte(escaped[i])
			return nil
		}
	}
	return r.fail("an escape")
}

// unit reads the digits of an escape, and the second half of a pair. A half alone is no character.
func (r *reader) unit(b *strings.Builder) error {
	c, err := r.hex()
	if err != nil {
		return err
	}
	if utf16.IsSurrogate(c) && strings.HasPrefix(r.text[r.at:], `\u`) {
		after := *r
		after.at += 2
		if low, err := after.hex(); err == nil && utf16.DecodeRune(c, low) != utf8.RuneError {
			c, r.at = utf16.DecodeRune(c, low), after.at
		}
	}
	if utf16.IsSurrogate(c) {
		return fmt.Errorf(`line %d: \u%04x is half of a character, without the other half`, r.line(), c)
	}
	b.WriteRune(c)
	return nil
}

// hex reads four hexadecimal digits.
func (r *reader) hex() (rune, error) {
	text := r.text[r.at:min(r.at+4, len(r.text))]
	n, err := strconv.ParseUint(text, 16, 16)
	if err != nil || len(text) < 4 {
		return 0, r.fail("four hexadecimal digits")
	}
	r.at += 4
	return rune(n), nil
}

// encode returns the compact JSON text of a value.
func encode(v value) string {
	switch v := v.(type) {
	case []value:
		parts := make([]string, len(v))
		for i, x := range v {
			parts[i] = encode(x)
		}
		return "[" + strings.Join(parts, ",") + "]"
	case *object:
		parts := make([]string, len(v.keys))
		for i, k := range v.keys {
			parts[i] = quoteJSON(k) + ":" + encode(v.values[k])
		}
		return "{" + strings.Join(parts, ",") + "}"
	case string:
		return quoteJSON(v)
	case number:
		return string(v)
	case nil:
		return "null"
	}
	return fmt.Sprint(v) // true or false
}

// quoteJSON returns a string in quotes, with the shortest escapes.
func quoteJSON(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		i := strings.IndexRune(escaped, c)
		switch {
		case i >= 0 && c != '/':
			b.WriteByte('\\')
			b.WriteByte(escapes[i])
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
