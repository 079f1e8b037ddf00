package jsonschema

import (
	"fmt"
	"slices"
	"strings"
)

// span is a range of characters.
type span struct{ lo, hi rune }

// set is a set of characters: ranges in order, with others between them, without surrogates.
type set []span

// lastCharacter is the largest one.
const lastCharacter = 0x10ffff

// makeSet returns the characters of ranges, which may overlap.
func makeSet(list ...span) set {
	slices.SortFunc(list, func(a, b span) int { return int(a.lo - b.lo) })
	s := set{}
	for _, r := range list {
		for _, x := range []span{{r.lo, min(r.hi, 0xd7ff)}, {max(r.lo, 0xe000), r.hi}} {
			switch n := len(s); {
			case x.lo > x.hi:
			case n > 0 && x.lo <= s[n-1].hi+1:
				s[n-1].hi = max(s[n-1].hi, x.hi)
			default:
				s = append(s, x)
			}
		}
	}
	return s
}

// others returns the characters that are not in a set.
func (s set) others() set {
	var list []span
	from := rune(0)
	for _, r := range s {
		list = append(list, span{from, r.lo - 1})
		from = r.hi + 1
	}
	return makeSet(append(list, span{from, lastCharacter})...)
}

// and returns the characters that are in both sets.
func (s set) and(t set) set {
	var list []span
	for len(s) > 0 && len(t) > 0 {
		list = append(list, span{max(s[0].lo, t[0].lo), min(s[0].hi, t[0].hi)})
		if s[0].hi < t[0].hi {
			s = s[1:]
		} else {
			t = t[1:]
		}
	}
	return makeSet(list...)
}

// has reports whether a character is in a set.
func (s set) has(c rune) bool {
	_, ok := slices.BinarySearchFunc(s, c, func(r span, c rune) int {
		switch {
		case r.hi < c:
			return -1
		case r.lo > c:
			return 1
		}
		return 0
	})
	return ok
}

// Sets of ECMA-262.
var (
	everything = set(nil).others()
	lineEnds   = makeSet(span{'\n', '\n'}, span{'\r', '\r'}, span{0x2028, 0x2029})
	digit      = makeSet(span{'0', '9'})
	word       = makeSet(span{'0', '9'}, span{'A', 'Z'}, span{'_', '_'}, span{'a', 'z'})
	space      = makeSet(span{'\t', '\r'}, span{' ', ' '}, span{0xa0, 0xa0}, span{0x1680, 0x1680},
		span{0x2000, 0x200a}, span{0x2028, 0x2029}, span{0x202f, 0x202f}, span{0x205f, 0x205f}, span{0x3000, 0x3000}, span{0xfeff, 0xfeff})
)

// named are the sets with an escape.
var named = map[rune]set{
	'd': digit, 'D': digit.others(), 'w': word, 'W': word.others(), 's': space, 'S': space.others(),
}

// Characters by how JSON strings have them here.
var (
	printable    = makeSet(span{' ', '!'}, span{'#', '['}, span{']', '~'}) // written as themselves only
	notPrintable = printable.others()
	raw          = makeSet(span{' ', '!'}, span{'#', '['}, span{']', '~'}, span{0x80, lastCharacter})
)

// isPrintable reports whether a set is a character that is written as itself.
func (s set) isPrintable() bool {
	return len(s) == 1 && s[0].lo == s[0].hi && len(s.and(printable)) == 1
}

// class returns a set in GBNF.
func (s set) class() string {
	var b strings.Builder
	b.WriteByte('[')
	for _, r := range s {
		b.WriteString(memberOf(r.lo))
		if r.hi > r.lo {
			b.WriteString("-" + memberOf(r.hi))
		}
	}
	b.WriteByte(']')
	return b.String()
}

// memberOf returns a character for a set of characters: itself if it has no meaning there.
func memberOf(c rune) string {
	switch {
	case isLetter(c) || c >= '0' && c <= '9' || c == '_':
		return string(c)
	case c <= 0xff:
		return fmt.Sprintf(`\x%02x`, c)
	}
	return classChar(c)
}

// spelled returns the expression of a character of a set within a JSON string. Printable characters of ASCII are
// themselves; quotation marks, backslashes and control characters are escapes; all others may be either.
func (s set) spelled() string {
	var parts []string
	if own := s.and(raw); len(own) > 0 {
		parts = append(parts, own.class())
	}
	if rest := s.and(notPrintable); len(rest) > 0 {
		var after []string
		var short []span
		for i, c := range escaped {
			if c != '/' && rest.has(c) {
				short = append(short, span{rune(escapes[i]), rune(escapes[i])})
			}
		}
		if short != nil {
			after = append(after, makeSet(short...).class())
		}
		parts = append(parts, `"\\" (`+strings.Join(append(after, `"u" (`+units(rest)+")"), " | ")+")")
	}
	return strings.Join(parts, " | ")
}

// units returns the expression of the characters of a set as four hexadecimal digits, or as those of a surrogate pair
// with the second \u between them.
func units(s set) string {
	var parts []string
	if bmp := s.and(set{{0, 0xffff}}); len(bmp) > 0 {
		parts = append(parts, numbers(bmp, unitDigits))
	}
	var pairs []span // by the 20 bits that a pair has
	for _, r := range s.and(set{{0x10000, lastCharacter}}) {
		pairs = append(pairs, span{r.lo - 0x10000, r.hi - 0x10000})
	}
	if pairs != nil {
		parts = append(parts, numbers(pairs, pairDigits))
	}
	return strings.Join(parts, " | ")
}

// hexDigit is a hexadecimal digit of a number: its bits, what is added to them, and what comes before it.
type hexDigit struct {
	bits   int
	base   int
	before string
}

var (
	unitDigits = []hexDigit{{bits: 4}, {bits: 4}, {bits: 4}, {bits: 4}}
	pairDigits = []hexDigit{{2, 8, "[dD] "}, {bits: 4}, {bits: 4}, {2, 12, `"\\u" [dD] `}, {bits: 4}, {bits: 4}}
)

// numbers returns the expression of the numbers of ranges, which are in order, as digits. Numbers whose first digit
// has the same digits after it are one alternative, so that no two begin with the same digit.
func numbers(list []span, digits []hexDigit) string {
	if len(digits) == 0 {
		return ""
	}
	rest := 0 // bits after the first digit
	for _, d := range digits[1:] {
		rest += d.bits
	}
	if whole := (span{0, 1<<(rest+digits[0].bits) - 1}); len(list) == 1 && list[0] == whole {
		return allNumbers(digits)
	}
	var order []string                // the texts after first digits
	first := make(map[string][]int32) // the digits before each
	for d := range int32(1) << digits[0].bits {
		lo, hi := d<<rest, (d+1)<<rest-1
		var part []span
		for len(list) > 0 && list[0].hi < lo {
			list = list[1:]
		}
		for _, r := range list {
			if r.lo > hi {
				break
			}
			part = append(part, span{max(r.lo, lo) - lo, min(r.hi, hi) - lo})
		}
		if part == nil {
			continue
		}
		text := numbers(part, digits[1:])
		if first[text] == nil {
			order = append(order, text)
		}
		first[text] = append(first[text], d+int32(digits[0].base))
	}
	var parts []string
	for _, text := range order {
		begin := digits[0].before + hexClass(first[text])
		if strings.Contains(text, " | ") {
			text = "(" + text + ")"
		}
		parts = append(parts, strings.TrimSpace(begin+" "+text))
	}
	return strings.Join(parts, " | ")
}

// allNumbers returns the expression of any digits.
func allNumbers(digits []hexDigit) string {
	var parts []string
	for _, d := range digits {
		var all []int32
		for i := range int32(1) << d.bits {
			all = append(all, i+int32(d.base))
		}
		parts = append(parts, d.before+hexClass(all))
	}
	return strings.Join(parts, " ")
}

// hexClass returns the set of some hexadecimal digits, in either case.
func hexClass(digits []int32) string {
	var b strings.Builder
	for _, d := range digits {
		b.WriteByte("0123456789abcdef"[d])
		if d > 9 {
			b.WriteByte("ABCDEF"[d-10])
		}
	}
	return "[" + b.String() + "]"
}
