package jinja

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// percent formats values by a text with %s, %d and the like. One that is markup escapes them.
func (m *machine) percent(by, v any) any {
	format := m.str(by)
	vals, isTuple := v.(tuple)
	if !isTuple {
		vals = tuple{v}
	}
	dict, _ := v.(*Dict)
	used := 0
	m.read(format)
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			b.WriteByte(format[i])
			continue
		}
		key, spec, verb, n := verbOf(format[i+1:])
		i += n
		if verb == '%' && n == 1 {
			b.WriteByte('%')
			continue
		}
		b.WriteString(m.verb(spec, verb, m.operand(key, dict, vals, &used), by))
		m.room(b.Len())
	}
	if used < len(vals) && dict == nil && (isTuple || used == 0) {
		m.fail("%% has more values than its text has places")
	}
	m.made(b.Len())
	return marked(by, b.String())
}

// operand returns the next value, or that of a key.
func (m *machine) operand(key string, dict *Dict, vals tuple, used *int) any {
	if key != "" {
		if dict == nil {
			m.fail("%%(%s) needs a dict", key)
		}
		v, ok := dict.find(key)
		if !ok {
			m.fail("%%(%s): the dict has no such key", key)
		}
		return v
	}
	if *used == len(vals) {
		m.fail("%% has fewer values than its text has places")
	}
	*used++
	return vals[*used-1]
}

// verbOf cuts what follows a percent sign, such as (key)-5.2f, into its parts and returns its length.
func verbOf(s string) (key, spec string, verb byte, n int) {
	if strings.HasPrefix(s, "(") {
		if end := strings.IndexByte(s, ')'); end > 0 {
			key, n = s[1:end], end+1
		}
	}
	rest := strings.TrimLeft(s[n:], "0123456789.+- #")
	spec = s[n : len(s)-len(rest)]
	if rest == "" {
		return key, spec, 0, len(s)
	}
	return key, spec, rest[0], len(s) - len(rest) + 1
}

// maxWidth bounds the width and the precision of a format.
const maxWidth = 1000

// verb formats one value. The text by which it does so is markup or not.
func (m *machine) verb(spec string, verb byte, v, by any) string {
	for word := range strings.FieldsFuncSeq(spec, func(r rune) bool { return r < '0' || r > '9' }) {
		if n, err := strconv.Atoi(word); err != nil || n > maxWidth {
			m.fail("%%%s: the width is larger than %d", spec, maxWidth)
		}
	}
	const digits = "0123456789"
	whole, fraction, _ := strings.Cut(strings.TrimLeft(spec, "0+- #"), ".")
	if strings.Trim(whole, digits) != "" || strings.Trim(fraction, digits) != "" {
		m.fail("%%%s%s is no format", spec, printableVerb(verb))
	}
	switch verb {
	case 's', 'r':
		s := m.str(v)
		if verb == 'r' {
			s = m.repr(v)
		}
		if isMarkup(by) && !isMarkup(v) {
			s, _ = m.escaped(s).(string)
		}
		return padded(spec, s)
	case 'd', 'i', 'u', 'x', 'X', 'o':
		return m.wholeVerb(spec, verb, v)
	case 'f', 'F', 'e', 'E', 'g', 'G':
		return m.floatVerb(spec, verb, v)
	}
	m.fail("%%%s%s is no format", spec, printableVerb(verb))
	return ""
}

// wholeVerb formats an integer.
func (m *machine) wholeVerb(spec string, verb byte, v any) string {
	n, x, isInt, ok := number(v)
	if ok && !isInt && math.Abs(x) < 1<<62 && verb != 'x' && verb != 'X' && verb != 'o' {
		n = int64(x)
	} else if !ok || !isInt {
		m.fail("%%%c needs an integer, not a value of type %s", verb, typeName(v))
	}
	switch {
	case verb == 'i' || verb == 'u':
		verb = 'd'
	case verb == 'o' && strings.Contains(spec, "#"):
		spec, verb = strings.ReplaceAll(spec, "#", ""), 'O' // 0o17, not 017
	}
	width, digits, _ := strings.Cut(spec, ".")
	if strings.Trim(digits, "0") == "" {
		spec = width // Go prints nothing for 0 with a precision of 0
	} else {
		m.noZeros(spec)
	}
	return fmt.Sprintf("%"+spec+string(verb), n)
}

// floatVerb formats a number with a fraction.
func (m *machine) floatVerb(spec string, verb byte, v any) string {
	_, x, _, ok := number(v)
	if !ok {
		m.fail("%%%c needs a number, not a value of type %s", verb, typeName(v))
	}
	m.step(floatSteps)
	width, _, precise := strings.Cut(spec, ".")
	switch {
	case math.IsInf(x, 0) || math.IsNaN(x):
		m.noZeros(spec)
		return padded(width, signed(spec, verb, floatText(x)))
	case !precise:
		spec += ".6" // Go takes as many digits as %g needs
	}
	return fmt.Sprintf("%"+spec+string(verb), x)
}

// noZeros fails if a specification pads with zeros what Go's formats pad with blanks.
func (m *machine) noZeros(spec string) {
	if strings.HasPrefix(strings.TrimLeft(spec, "+- #"), "0") {
		m.fail("%%%s: zeros before such a number are not supported", spec)
	}
}

// signed returns the text of infinity or NaN with the sign that a specification asks for, in the case of the verb.
func signed(spec string, verb byte, s string) string {
	sign := strings.IndexByte(spec, '+')
	if sign < 0 {
		sign = strings.IndexByte(spec, ' ')
	}
	if sign >= 0 && s[0] != '-' {
		s = spec[sign:sign+1] + s
	}
	if verb < 'a' {
		return strings.ToUpper(s)
	}
	return s
}

// padded makes a text as long as a specification says, such as -5.2. Signs and zeros are for numbers alone.
func padded(spec, s string) string {
	flags := strings.TrimLeft(spec, "0+- #")
	if strings.Contains(spec[:len(spec)-len(flags)], "-") {
		flags = "-" + flags
	}
	return fmt.Sprintf("%"+flags+"s", s)
}

func printableVerb(verb byte) string {
	if verb == 0 {
		return ""
	}
	return string(rune(verb))
}

// braces formats values by a text with {}, {0} and {name}, as the method format does.
func (m *machine) braces(format string, a *args) string {
	var b strings.Builder
	next := 0 // less than 0: places have numbers
	for i := 0; i < len(format); i++ {
		c := format[i]
		double := i+1 < len(format) && format[i+1] == c
		switch {
		case c != '{' && c != '}':
			b.WriteByte(c)
		case double:
			b.WriteByte(c)
			i++
		case c == '}':
			m.fail("format: a single }")
		default:
			end := strings.IndexByte(format[i:], '}')
			if end < 0 {
				m.fail("format: a single {")
			}
			b.WriteString(m.field(format[i+1:i+end], a, &next))
			i += end
		}
		m.room(b.Len())
	}
	m.made(b.Len())
	return b.String()
}

// field returns the text of one place of a format.
func (m *machine) field(name string, a *args, next *int) string {
	name, spec, _ := strings.Cut(name, ":")
	name, conversion, _ := strings.Cut(name, "!")
	if spec != "" || conversion != "" && conversion != "s" && conversion != "r" {
		m.fail("format: the specification in {%s:%s} is not supported", name, spec)
	}
	m.step(1)
	v := m.fieldValue(name, a, next)
	if conversion == "r" {
		return m.repr(v)
	}
	return m.str(v)
}

func (m *machine) fieldValue(name string, a *args, next *int) any {
	automatic := name == ""
	if automatic && *next >= 0 {
		name = strconv.Itoa(*next)
		*next++
	}
	if i, err := strconv.Atoi(name); err == nil && name[0] != '+' {
		if !automatic && *next == 0 {
			*next = -1
		}
		if automatic != (*next >= 0) {
			m.fail("format: {} and {%d} are not used in one text", i)
		}
		if i < 0 || i >= len(a.pos) {
			m.fail("format: there is no argument %d", i)
		}
		return a.pos[i]
	}
	i := m.findNamed(a, name)
	if i < 0 {
		m.fail("format: there is no argument %s", name)
	}
	return a.named[i].value
}
