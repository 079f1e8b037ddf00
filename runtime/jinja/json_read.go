package jinja

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// FromJSON returns the value of a JSON text, with the keys of objects in the order of the text. Package encoding/json
// is not used because it gives them in no order, and because emitted programs link nothing else that needs it.
func FromJSON(data []byte) (v any, err error) {
	defer caught(&err)
	r := &jsonReader{src: string(data)}
	if !utf8.ValidString(r.src) {
		r.fail("the JSON is no UTF-8 text")
	}
	v = r.value(0)
	r.space()
	if r.at < len(r.src) {
		r.fail("there is more than one JSON value")
	}
	return v, nil
}

// jsonReader reads JSON.
type jsonReader struct {
	src string
	at  int
}

func (r *jsonReader) fail(format string, args ...any) {
	panic(stop{fault(r.src, r.at, fmt.Sprintf(format, args...))})
}

func (r *jsonReader) space() {
	r.at = len(r.src) - len(strings.TrimLeft(r.src[r.at:], " \t\r\n"))
}

// skip moves over a text if it comes next.
func (r *jsonReader) skip(text string) bool {
	if !strings.HasPrefix(r.src[r.at:], text) {
		return false
	}
	r.at += len(text)
	return true
}

// value reads a value with the white space before it.
func (r *jsonReader) value(depth int) any {
	if depth > maxNesting {
		r.fail("more than %d levels are nested in each other", maxNesting)
	}
	r.space()
	switch {
	case r.skip("{"):
		return r.dict(depth)
	case r.skip("["):
		return r.list(depth)
	case r.skip("\""):
		return r.text()
	case r.skip("null"):
		return nil
	case r.skip("true"):
		return true
	case r.skip("false"):
		return false
	}
	return r.number()
}

// more reports whether a list or an object has another element, and moves over the comma before it.
func (r *jsonReader) more(first bool, end string) bool {
	r.space()
	if r.skip(end) {
		return false
	}
	if !first && !r.skip(",") {
		r.fail("a comma or %s is missing", end)
	}
	r.space()
	return true
}

func (r *jsonReader) list(depth int) any {
	list := []any{}
	for r.more(len(list) == 0, "]") {
		list = append(list, r.value(depth+1))
	}
	return list
}

func (r *jsonReader) dict(depth int) any {
	d := &Dict{}
	for first := true; r.more(first, "}"); first = false {
		if !r.skip("\"") {
			r.fail("a key is missing")
		}
		key := r.text()
		r.space()
		if !r.skip(":") {
			r.fail("a colon is missing")
		}
		d.set(key, r.value(depth+1))
	}
	return d
}

func (r *jsonReader) number() any {
	rest := r.src[r.at:]
	n := len(rest) - len(strings.TrimLeft(rest, "+-.0123456789eE"))
	word := rest[:n]
	if !validNumber(strings.TrimPrefix(word, "-")) {
		r.fail("a value is missing")
	}
	r.at += n
	if i, err := strconv.ParseInt(word, 10, 64); err == nil {
		return i
	}
	x, err := strconv.ParseFloat(word, 64)
	if err != nil {
		r.fail("%s is no number", word)
	}
	if !strings.ContainsAny(word, ".eE") {
		return bigInt(word)
	}
	return x
}

// validNumber reports whether JSON allows a number, whose sign was cut, where strconv allows more.
func validNumber(s string) bool {
	isDigit := func(i int) bool { return i < len(s) && s[i] >= '0' && s[i] <= '9' }
	dot := strings.IndexByte(s, '.')
	return isDigit(0) && (s[0] != '0' || !isDigit(1)) && (dot < 0 || isDigit(dot+1))
}

// text reads a string up to its end.
func (r *jsonReader) text() string {
	var b strings.Builder
	for r.at < len(r.src) {
		c := r.src[r.at]
		r.at++
		switch {
		case c == '"':
			return b.String()
		case c == '\\':
			r.escape(&b)
		case c < 0x20:
			r.fail("a string has a control character")
		default:
			b.WriteByte(c)
		}
	}
	r.fail("a string has no end")
	return ""
}

// jsonLetters are the bytes that the escapes of one letter denote.
var jsonLetters = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (r *jsonReader) escape(b *strings.Builder) {
	if r.at == len(r.src) {
		return // the string has no end
	}
	c := r.src[r.at]
	r.at++
	if letter, ok := jsonLetters[c]; ok {
		b.WriteByte(letter)
		return
	}
	if c != 'u' {
		r.fail("a string has an unknown escape")
	}
	code := r.code()
	if after := r.at; utf16.IsSurrogate(code) && r.skip(`\u`) {
		pair := utf16.DecodeRune(code, r.code())
		if pair == utf8.RuneError { // the next escape is a character of its own
			r.at = after
		}
		code = pair
	}
	b.WriteRune(code) // a surrogate alone becomes U+FFFD
}

// code reads four hexadecimal digits.
func (r *jsonReader) code() rune {
	if r.at+4 > len(r.src) {
		r.fail("an escape is incomplete")
	}
	n, err := strconv.ParseUint(r.src[r.at:r.at+4], 16, 16)
	if err != nil {
		r.fail("an escape is incomplete")
	}
	r.at += 4
	return rune(n)
}
