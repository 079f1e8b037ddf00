package jsonschema

import (
	"math/big"
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
		bound := parseNumber(v)
		if bound == nil {
			p.fail(p.path, "%s is a number", k.key)
			continue
		}
		all = append(all, func(v value) bool {
			n := parseNumber(v)
			return n == nil || k.allow(n.Cmp(bound))
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

// parseNumber returns a number, or nil for any other value.
func parseNumber(v value) *big.Float {
	text, ok := v.(number)
	if !ok {
		return nil
	}
	f, _, err := big.ParseFloat(string(text), 10, 200, big.ToNearestEven)
	if err != nil {
		return nil
	}
	return f
}
