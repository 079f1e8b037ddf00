package jsonschema

import (
	"cmp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// filter reports whether a keyword allows a value. Values of types for which the keyword has no meaning are allowed.
type filter func(value) bool

// filters returns the filters of the keywords beside an enum or const.
func (p *part) filters() []filter {
	var all []filter
	if types, ok := p.take("type"); ok {
		all = append(all, func(v value) bool { return isOf(v, types) })
	}
	lo, hi := p.count("minLength", 0), p.count("maxLength", -1)
	all = append(all, ofStrings(func(s string) bool {
		n := utf8.RuneCountInString(s)
		return n >= lo && (hi < 0 || n <= hi)
	}))
	if v, ok := p.take("pattern"); ok {
		if e := p.expression(v); e != nil && p.err == nil {
			all = append(all, p.patternFilter(e))
		}
	}
	for _, k := range []struct {
		key   string
		allow func(sign int) bool // of the value minus the bound
	}{
		{"minimum", func(sign int) bool { return sign >= 0 }},
		{"maximum", func(sign int) bool { return sign <= 0 }},
		{"exclusiveMinimum", func(sign int) bool { return sign > 0 }},
		{"exclusiveMaximum", func(sign int) bool { return sign < 0 }},
	} {
		v, ok := p.take(k.key)
		if !ok {
			continue
		}
		bound, ok := parseDecimal(v)
		if !ok {
			p.fail(p.path, "%s is a number", k.key)
			continue
		}
		all = append(all, func(v value) bool {
			n, ok := parseDecimal(v)
			return !ok || k.allow(n.compare(bound))
		})
	}
	return all
}

// maxCompared bounds the steps of automatons that are compared with the values of enums. It takes about half a second.
const maxCompared = 1 << 24

// patternFilter allows the strings of an expression.
func (p *part) patternFilter(e expression) filter {
	m := newMatcher(e)
	p.left -= len(m.seen)
	return ofStrings(func(s string) bool {
		ok := m.matches(s, &p.left)
		if p.left < 0 {
			p.fail(p.path, "pattern: comparing it with the values of enum takes more than %d steps: use smaller numbers of "+
				"repetitions, or fewer values", maxCompared)
		}
		return ok
	})
}

// ofStrings is a filter of strings.
func ofStrings(allow func(string) bool) filter {
	return func(v value) bool {
		s, ok := v.(string)
		return !ok || allow(s)
	}
}

// decimal is a number: 0.digits times ten to the power of point. Digits begin and end with others than 0.
type decimal struct {
	negative bool
	digits   string // "" is zero
	point    int64
}

// parseDecimal returns the exact value of a number, unless its power of ten is too large for 32 bits; false for any
// other value. Package math/big would add 60 KB to a program.
func parseDecimal(v value) (d decimal, ok bool) {
	n, ok := v.(number)
	text, negative := strings.CutPrefix(string(n), "-")
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		d.point, _ = strconv.ParseInt(text[i+1:], 10, 32) // the nearest one if it is too large
		text = text[:i]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	d.point += int64(len(digits) - len(fraction))
	if d.digits = strings.TrimRight(digits, "0"); d.digits == "" {
		return decimal{}, ok
	}
	d.negative = negative
	return d, ok
}

// compare returns -1, 0 or 1, as d is smaller than other, equal or larger.
func (d decimal) compare(other decimal) int {
	if c := cmp.Compare(d.sign(), other.sign()); c != 0 {
		return c
	}
	return d.sign() * cmp.Or(cmp.Compare(d.point, other.point), strings.Compare(d.digits, other.digits))
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	}
	return 1
}
