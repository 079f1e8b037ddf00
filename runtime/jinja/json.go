package jinja

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

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
	case int64, bigInt:
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
		w.m.fail("tojson: %s", v.text())
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
		keys = w.m.sorted(keys, false, func(v any) any { return v })
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
	case int64, bigInt, string:
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
	w.m.made(len(line) + len(w.indent))
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
	w.m.read(s)
	w.b.WriteByte('"')
	for _, r := range s {
		if r >= ' ' && r != '"' && r != '\\' && (r < 0x7f || !w.ascii) {
			w.b.WriteRune(r)
			continue
		}
		w.m.step(1)
		escape, ok := jsonEscapes[r]
		switch {
		case ok:
			w.b.WriteString(escape)
		case r < 0x10000:
			fmt.Fprintf(&w.b, `\u%04x`, r)
		default:
			r -= 0x10000
			fmt.Fprintf(&w.b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		}
	}
	w.b.WriteByte('"')
}
