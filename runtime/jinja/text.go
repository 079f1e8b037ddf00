package jinja

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// text returns what printing a number, a constant or a text gives.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case int64:
		return strconv.FormatInt(v, 10)
	case bigInt:
		return string(v)
	case float64:
		return floatText(v)
	case string:
		return v
	}
	return ""
}

// floatText is Python's repr of a float: the shortest digits that give it back.
func floatText(x float64) string {
	switch {
	case math.IsInf(x, 1):
		return "inf"
	case math.IsInf(x, -1):
		return "-inf"
	case math.IsNaN(x):
		return "nan"
	}
	s := strconv.FormatFloat(x, 'e', -1, 64)
	exp, _ := strconv.Atoi(s[strings.IndexByte(s, 'e')+1:])
	if exp < -4 || exp >= 16 {
		return s
	}
	s = strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// str returns a value as text, as printing it does.
func (m *machine) str(v any) string {
	if s, ok := unmarked(v).(string); ok {
		return s
	}
	var b strings.Builder
	m.write(&b, v, false)
	m.made(b.Len())
	return b.String()
}

// repr returns a value as it is written in a template, as far as that is possible.
func (m *machine) repr(v any) string {
	var b strings.Builder
	m.write(&b, v, true)
	m.made(b.Len())
	return b.String()
}

// write writes a value. Texts have quotes if quoted.
func (m *machine) write(b *strings.Builder, v any, quoted bool) {
	m.enter()
	defer m.leave()
	m.room(b.Len())
	switch v := unmarked(v).(type) {
	case string:
		if quoted {
			m.step(len(v))
			v = quote(v)
		}
		b.WriteString(v)
	case []any:
		m.writeList(b, '[', v, "]")
	case tuple:
		end := ")"
		if len(v) == 1 {
			end = ",)"
		}
		m.writeList(b, '(', v, end)
	case *Dict:
		m.writeDict(b, v)
	case *view:
		if v.name == "range" {
			b.WriteString(v.text())
			return
		}
		b.WriteString(v.name + "(")
		m.writeList(b, '[', v.list, "])")
	case *macro:
		b.WriteString("<Macro " + quote(v.name) + ">")
	case *namespace:
		b.WriteString("<Namespace ")
		m.writeDict(b, v.attrs)
		b.WriteByte('>')
	case *undefined:
		if quoted {
			b.WriteString("Undefined")
		}
	case nil, bool, int64, bigInt, float64:
		b.WriteString(text(v))
	default:
		b.WriteString("<" + typeName(v) + ">")
	}
}

func (m *machine) writeList(b *strings.Builder, begin byte, list []any, end string) {
	b.WriteByte(begin)
	for i, e := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		m.write(b, e, true)
	}
	b.WriteString(end)
}

func (m *machine) writeDict(b *strings.Builder, d *Dict) {
	b.WriteByte('{')
	for i, k := range d.keys {
		if i > 0 {
			b.WriteString(", ")
		}
		m.write(b, k, true)
		b.WriteString(": ")
		m.write(b, d.vals[i], true)
	}
	b.WriteByte('}')
}

// quote is Python's repr of a text.
func quote(s string) string {
	mark := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, "\"") {
		mark = '"'
	}
	var b strings.Builder
	b.WriteByte(mark)
	for _, r := range s {
		b.WriteString(quotedRune(r, mark))
	}
	b.WriteByte(mark)
	return b.String()
}

func quotedRune(r rune, mark byte) string {
	switch {
	case r == rune(mark) || r == '\\':
		return "\\" + string(r)
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r == ' ' || unicode.IsPrint(r), r&0xfffe == 0xfffe, 0xfdd0 <= r && r <= 0xfdef:
		return string(r) // noncharacters, too: they stand for what a chat hides from its template
	case r < 0x100:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}
