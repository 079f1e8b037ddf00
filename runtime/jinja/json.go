package jinja

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// FromJSON returns the value of a JSON text, with the keys of objects in the order of the text.
func FromJSON(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := decode(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is more than one JSON value")
	}
	return v, nil
}

// decode reads the next value.
func decode(d *json.Decoder, depth int) (any, error) {
	t, err := d.Token()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	if depth > maxNesting {
		return nil, fmt.Errorf("more than %d levels are nested in each other", maxNesting)
	}
	switch t := t.(type) {
	case json.Number:
		return decodeNumber(t)
	case json.Delim:
		if t == '[' {
			return decodeList(d, depth)
		}
		return decodeDict(d, depth)
	}
	return t, nil
}

func decodeNumber(n json.Number) (any, error) {
	if i, err := n.Int64(); err == nil {
		return i, nil
	}
	return n.Float64()
}

func decodeList(d *json.Decoder, depth int) (any, error) {
	list := []any{}
	for d.More() {
		v, err := decode(d, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := d.Token()
	return list, err
}

func decodeDict(d *json.Decoder, depth int) (any, error) {
	dict := NewDict()
	for d.More() {
		k, err := decode(d, depth+1)
		if err != nil {
			return nil, err
		}
		v, err := decode(d, depth+1)
		if err != nil {
			return nil, err
		}
		dict.Set(k, v)
	}
	_, err := d.Token()
	return dict, err
}

// jsonWriter writes a value as Python's json.dumps does, without escapes for characters beyond ASCII unless ascii.
type jsonWriter struct {
	m         *machine
	b         strings.Builder
	indent    string // of one level, where there are lines
	item, key string // what separates items, and keys from values
	ascii     bool
	sorted    bool
}

// write writes a value. A line is a newline with the present indentation; "" writes all on one line.
func (w *jsonWriter) write(v any, line string) {
	w.m.enter()
	defer w.m.leave()
	w.m.room(w.b.Len())
	switch v := unmarked(v).(type) {
	case nil:
		w.b.WriteString("null")
	case bool:
		w.b.WriteString(strconv.FormatBool(v))
	case int64:
		w.b.WriteString(text(v))
	case float64:
		w.b.WriteString(jsonFloat(v))
	case string:
		w.quote(v)
	case []any:
		w.list(v, line)
	case tuple:
		w.list(v, line)
	case *Dict:
		w.dict(v, line)
	case *undefined:
		w.m.fail("tojson: %s", v.text)
	default:
		w.m.fail("tojson: a value of type %s has no JSON", typeName(v))
	}
}

func jsonFloat(x float64) string {
	switch {
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 1):
		return "Infinity"
	case math.IsInf(x, -1):
		return "-Infinity"
	}
	return floatText(x)
}

func (w *jsonWriter) list(list []any, line string) {
	if len(list) == 0 {
		w.b.WriteString("[]")
		return
	}
	inner := w.open('[', line)
	for i, v := range list {
		w.separate(i, inner)
		w.write(v, inner)
	}
	w.close(']', line)
}

func (w *jsonWriter) dict(d *Dict, line string) {
	if d.Len() == 0 {
		w.b.WriteString("{}")
		return
	}
	inner := w.open('{', line)
	keys := d.keys
	if w.sorted {
		keys = w.m.sorted(keys, func(v any) any { return v })
	}
	for i, k := range keys {
		w.separate(i, inner)
		w.quote(w.keyText(k))
		w.b.WriteString(w.key)
		v, _ := d.find(k)
		w.write(v, inner)
	}
	w.close('}', line)
}

// keyText returns the text of a key. Keys that are no texts become some.
func (w *jsonWriter) keyText(k any) string {
	switch k := k.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(k)
	case int64, string:
		return text(k)
	case float64:
		return jsonFloat(k)
	}
	w.m.fail("tojson: a key of type %s has no JSON", typeName(k))
	return ""
}

// open begins a list or dictionary and returns the beginning of its lines.
func (w *jsonWriter) open(c byte, line string) string {
	w.b.WriteByte(c)
	if line == "" {
		return ""
	}
	return line + w.indent
}

func (w *jsonWriter) separate(i int, line string) {
	if i > 0 {
		w.b.WriteString(w.item)
	}
	w.b.WriteString(line)
}

func (w *jsonWriter) close(c byte, line string) {
	w.b.WriteString(line)
	w.b.WriteByte(c)
}

// jsonEscapes are the characters with an escape of one letter.
var jsonEscapes = map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\b': `\b`, '\f': `\f`}

func (w *jsonWriter) quote(s string) {
	w.b.WriteByte('"')
	for _, r := range s {
		escape, ok := jsonEscapes[r]
		switch {
		case ok:
			w.b.WriteString(escape)
		case r < 0x20 || w.ascii && r >= 0x7f && r < 0x10000 && r != 0x7f:
			fmt.Fprintf(&w.b, `\u%04x`, r)
		case w.ascii && r >= 0x10000:
			r -= 0x10000
			fmt.Fprintf(&w.b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			w.b.WriteRune(r)
		}
	}
	w.b.WriteByte('"')
}
