package jsonschema

import (
	"fmt"
	"slices"
	"strings"
)

// pattern returns the expression of a string that a regular expression matches, with a number of characters from lo to
// hi; hi below 0 is no limit.
func (p *part) pattern(v value, lo, hi int) string {
	text, _ := v.(string)
	key := fmt.Sprint(lo, " ", hi, " ", text)
	if rule, ok := p.patterns[key]; ok {
		return rule
	}
	e := p.expression(v)
	if e == nil || p.err != nil {
		return ""
	}
	e = settled(e, maxReadings)
	if n := ambiguous(e); n > 0 {
		p.fail(p.path, "pattern: the character sets of a loop and of %d repetitions after it overlap, so that a text has more "+
			"than %d readings: let both have the same characters, or use a smaller number", n, maxReadings)
		return ""
	}
	rule := p.define(fmt.Sprintf("pattern-%d", len(p.patterns)+1), "")
	p.patterns[key] = rule
	p.define(rule, p.bounded(e, measure(e), lo, hi))
	if p.size > maxSize {
		p.fail(p.path, "pattern: with it the grammar has more than %d bytes: leave out minLength and maxLength, or use fewer patterns",
			maxSize)
	}
	return rule
}

// expression reads a pattern. It returns what all of a text is that the pattern matches, or nil after an error.
func (p *part) expression(v value) expression {
	text, ok := v.(string)
	if !ok {
		p.fail(p.path, "pattern is a text")
		return nil
	}
	if len(text) > maxPattern {
		p.fail(p.path, "pattern: %d bytes are more than %d", len(text), maxPattern)
		return nil
	}
	e, err := readPattern(text)
	if err == nil {
		e, err = whole(e, openEnd, openEnd)
	}
	if err != nil {
		p.fail(p.path, "pattern: %v", err)
		return nil
	}
	if measure(e).size > maxPattern {
		p.fail(p.path, "pattern: it describes more than %d characters one by one: use smaller numbers of repetitions",
			maxPattern)
		return nil
	}
	return e
}

// bounded returns the expression of a JSON string that follows e within bounds of its length.
func (p *part) bounded(e expression, m extent, lo, hi int) string {
	if hi >= 0 && lo > hi {
		p.fail(p.path, "the smallest number, %d, is above the largest, %d", lo, hi)
		return ""
	}
	if x, ok := e.(repeated); ok { // [a-z]{1,100} has the bounds in itself
		least, most := max(x.min, lo), smallest(x.max, hi)
		if s, ok := x.of.(set); ok && (most < 0 || least <= most) {
			e = repeated{s, least, most}
			m = measure(e)
		}
	}
	if m.least >= lo && (hi < 0 || m.most >= 0 && m.most <= hi) {
		return `"\"" ` + p.write(e) + ` "\""`
	}
	if m.most >= 0 && m.most < lo || hi >= 0 && m.least > hi {
		p.fail(p.path, "pattern: no text that it matches has a length within minLength and maxLength")
		return ""
	}
	return `"\"" ` + p.product(e, lo, hi)
}

// smallest returns the smaller of two limits; one below 0 is none.
func smallest(a, b int) int {
	if a < 0 || b >= 0 && b < a {
		return b
	}
	return a
}

// edge is what comes before or after a part of a pattern.
type edge uint8

const (
	withinPattern edge = iota // other parts: an anchor matches nothing, or depends on them
	openEnd                   // an end of the pattern: any characters, if no anchor comes
	fixedEnd                  // an anchor
)

// whole returns an expression without anchors for all of a text, where e matches a part of it: any characters come
// before and after it, except at ^ and $.
func whole(e expression, before, after edge) (expression, error) {
	a := firstAnchor(e)
	if a == nil {
		return enclosed(e, before, after), nil
	}
	if _, ok := e.(repeated); ok {
		return nil, fmt.Errorf("character %d: the anchor %c within a repetition is not supported", a.at+1, a.sign)
	}
	if list, ok := e.(either); ok {
		all := make(either, len(list))
		for i, part := range list {
			var err error
			if all[i], err = whole(part, before, after); err != nil {
				return nil, err
			}
		}
		return all, nil
	}
	list, ok := e.(series)
	if !ok {
		list = series{e}
	}
	for len(list) > 0 && before != withinPattern && isAnchor(list[0], '^') {
		list, before = list[1:], fixedEnd
	}
	for len(list) > 0 && after != withinPattern && isAnchor(list[len(list)-1], '$') {
		list, after = list[:len(list)-1], fixedEnd
	}
	if len(list) == 1 && !isAnchor(list[0], 0) {
		return whole(list[0], before, after)
	}
	return wholeSeries(list, before, after)
}

// wholeSeries is whole for parts, of which only those at the ends may have anchors within them.
func wholeSeries(list series, before, after edge) (expression, error) {
	all := series{}
	for i, part := range list {
		left, right := withinPattern, withinPattern
		if i == 0 {
			left = before
		}
		if i == len(list)-1 {
			right = after
		}
		if a, ok := part.(anchor); ok {
			return nil, fmt.Errorf("character %d: the anchor %c is supported at the ends of a pattern only", a.at+1, a.sign)
		}
		e, err := whole(part, left, right)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	if len(list) == 0 {
		return enclosed(all, before, after), nil
	}
	return all, nil
}

// enclosed puts any characters before and after e at open ends.
func enclosed(e expression, before, after edge) expression {
	anything := repeated{everything, 0, -1}
	list := series{e}
	if isEmpty(e) {
		list = series{}
	}
	if before == openEnd {
		list = append(series{anything}, list...)
	}
	if after == openEnd && (before != openEnd || !isEmpty(e)) {
		list = append(list, anything)
	}
	return single(list)
}

// isAnchor reports whether e is an anchor with a sign; 0 is either.
func isAnchor(e expression, sign rune) bool {
	a, ok := e.(anchor)
	return ok && (sign == 0 || a.sign == sign)
}

// firstAnchor returns an anchor within e; nil if there is none.
func firstAnchor(e expression) *anchor {
	var parts []expression
	switch e := e.(type) {
	case anchor:
		return &e
	case series:
		parts = e
	case either:
		parts = e
	case repeated:
		return firstAnchor(e.of)
	}
	for _, part := range parts {
		if a := firstAnchor(part); a != nil {
			return a
		}
	}
	return nil
}

// extent is how many characters an expression has, each repetition written out, and how many its texts have; most below
// 0 is no limit. Numbers are cut at tooMuch.
type extent struct{ size, least, most int }

const tooMuch = 100000

func measure(e expression) extent {
	switch e := e.(type) {
	case series:
		m := extent{1, 0, 0}
		for _, part := range e {
			m = m.then(measure(part))
		}
		return m
	case either:
		m := measure(e[0])
		for _, part := range e[1:] {
			n := measure(part)
			n.size, n.least = min(m.size+n.size, tooMuch), min(m.least, n.least)
			if n.most >= 0 && (m.most < 0 || m.most > n.most) {
				n.most = m.most
			}
			m = n
		}
		return m
	case repeated:
		m := measure(e.of)
		times := max(e.max, e.min, 1)
		m.size, m.least = min(m.size*times, tooMuch), min(m.least*e.min, tooMuch)
		if m.most > 0 && e.max < 0 {
			m.most = -1
		} else if m.most > 0 {
			m.most = min(m.most*e.max, tooMuch)
		}
		return m
	}
	return extent{1, 1, 1}
}

// then returns the extent of two expressions in order.
func (m extent) then(n extent) extent {
	most := -1
	if m.most >= 0 && n.most >= 0 {
		most = min(m.most+n.most, tooMuch)
	}
	return extent{min(m.size+n.size, tooMuch), min(m.least+n.least, tooMuch), most}
}

// write returns e in GBNF. Parts of a series are no alternatives, unless they are in parentheses.
func (p *part) write(e expression) string {
	switch e := e.(type) {
	case set:
		if e.isPrintable() {
			return quote(string(e[0].lo))
		}
		return p.set(e)
	case series:
		return p.writeSeries(e)
	case either:
		all := make([]string, len(e))
		for i, part := range e {
			all[i] = p.write(part)
		}
		return "(" + strings.Join(all, " | ") + ")"
	case repeated:
		text := p.write(e.of)
		switch e.of.(type) {
		case series, repeated:
			text = "(" + text + ")"
		}
		switch {
		case e.max < 0 && e.min == 0:
			return text + "*"
		case e.max < 0 && e.min == 1:
			return text + "+"
		case e.max == e.min:
			return fmt.Sprintf("%s{%d}", text, e.min)
		case e.max == 1:
			return text + "?"
		}
		return text + p.times(e.min, e.max)
	}
	panic(fmt.Sprintf("jsonschema: internal error: an expression of type %T", e))
}

// writeSeries returns parts in GBNF. Printable characters that follow each other are one text.
func (p *part) writeSeries(list series) string {
	var parts []string
	var text strings.Builder
	for i, part := range list {
		if s, ok := part.(set); ok && s.isPrintable() {
			text.WriteRune(s[0].lo)
			if i+1 < len(list) {
				continue
			}
		}
		if text.Len() > 0 {
			parts = append(parts, quote(text.String()))
			text.Reset()
		}
		if s, ok := part.(set); !ok || !s.isPrintable() {
			parts = append(parts, p.write(part))
		}
	}
	if parts == nil {
		return `""`
	}
	return strings.Join(parts, " ")
}

// set returns the expression of a character of a set, which is computed once for each place of a pattern.
func (p *part) set(s set) string {
	text, ok := p.places[&s[0]]
	if !ok {
		text = p.newSet(s)
		p.places[&s[0]] = text
	}
	return text
}

// newSet writes a set: as in strings without a pattern if all characters are allowed.
func (p *part) newSet(s set) string {
	switch {
	case slices.Equal(s, everything):
		return p.basic("char")
	case len(s.and(notPrintable)) == 0:
		return s.class()
	}
	key := s.class()
	rule, ok := p.sets[key]
	if !ok {
		rule = p.define(fmt.Sprintf("set-%d", len(p.sets)+1), s.spelled())
		p.sets[key] = rule
	}
	return rule
}
