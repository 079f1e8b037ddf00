package jsonschema

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
)

// expression is a part of a regular expression: a set, a series, an either, a repeated or an anchor. A series without
// parts is the empty text.
type expression interface{}

type (
	series   []expression
	either   []expression
	repeated struct {
		of       expression
		min, max int // max is -1 without limit
	}
	anchor struct {
		sign rune // ^ or $
		at   int  // in the pattern, from 0
	}
)

const (
	maxPattern = 20000 // characters of a pattern, and of the texts that it describes, without endless repetitions
	maxGroups  = 100   // within each other
)

// patternReader reads a regular expression of ECMA-262 by recursive descent. Package regexp/syntax reads another
// language: it has \A, \z, \Q, (?i) and [[:alpha:]], but neither \u nor \c nor [^], and its errors have no position.
//
// After the first error nothing is left to read.
type patternReader struct {
	text []rune
	at   int
	err  error
}

// readPattern returns the parts of a regular expression.
func readPattern(text string) (expression, error) {
	r := &patternReader{text: []rune(text)}
	e := r.choice(0)
	if r.at < len(r.text) {
		r.fail(r.at, "the parenthesis closes no group: write %s", `\)`)
	}
	return e, r.err
}

// fail notes an error at a character.
func (r *patternReader) fail(at int, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("character %d: %s", at+1, fmt.Sprintf(format, args...))
	}
	r.at = len(r.text)
}

// peek reports whether a text is next.
func (r *patternReader) peek(text string) bool {
	n := 0
	for _, c := range text {
		if r.at+n >= len(r.text) || r.text[r.at+n] != c {
			return false
		}
		n++
	}
	return true
}

// accept skips a text of ASCII if it is next.
func (r *patternReader) accept(text string) bool {
	ok := r.peek(text)
	if ok {
		r.at += len(text)
	}
	return ok
}

// next skips a character. It is 0 at the end.
func (r *patternReader) next() rune {
	if r.at == len(r.text) {
		return 0
	}
	r.at++
	return r.text[r.at-1]
}

// choice reads alternatives.
func (r *patternReader) choice(depth int) expression {
	list := either{r.series(depth)}
	empty := isEmpty(list[0])
	for r.accept("|") {
		e := r.series(depth)
		if isEmpty(e) && empty {
			continue
		}
		empty = empty || isEmpty(e)
		list = append(list, e)
	}
	if len(list) == 1 {
		return list[0]
	}
	return list
}

func isEmpty(e expression) bool {
	list, ok := e.(series)
	return ok && len(list) == 0
}

func (r *patternReader) series(depth int) expression {
	list := series{}
	for r.at < len(r.text) && !r.peek("|") && !r.peek(")") {
		if e := r.repeated(r.atom(depth)); !isEmpty(e) {
			list = append(list, e)
		}
	}
	return single(list)
}

// single returns the only part of a series instead of the series.
func single(list series) expression {
	if len(list) == 1 {
		return list[0]
	}
	return list
}

func (r *patternReader) atom(depth int) expression {
	at := r.at
	switch c := r.next(); c {
	case '.':
		return lineEnds.others()
	case '^', '$':
		return anchor{c, at}
	case '(':
		return r.group(at, depth+1)
	case '[':
		return r.class(at)
	case '\\':
		c, s := r.escape(at, outsideClass)
		if s == nil {
			s = r.one(c, at)
		}
		return s
	case '*', '+', '?':
		r.fail(at, "there is nothing before %c that it could repeat", c)
		return series{}
	case '{':
		r.fail(at, `{ begins no number of repetitions here: write \{ for the character, or {2}, {2,} or {2,5} after a part`)
		return series{}
	default:
		return r.one(c, at)
	}
}

// one returns the set of one character.
func (r *patternReader) one(c rune, at int) set {
	s := makeSet(span{c, c})
	if len(s) == 0 {
		r.fail(at, "half of a surrogate pair is no character")
	}
	return s
}

// group reads the rest of a group. Names of groups have no effect.
func (r *patternReader) group(at, depth int) expression {
	switch {
	case depth > maxGroups:
		r.fail(at, "more than %d groups are within each other", maxGroups)
	case r.peek("?=") || r.peek("?!"):
		r.fail(at, "look-ahead, (?%c, is not supported", r.text[r.at+1])
	case r.peek("?<=") || r.peek("?<!"):
		r.fail(at, "look-behind, (?<%c, is not supported", r.text[r.at+2])
	case r.accept("?:"):
	case r.accept("?<"):
		for r.at < len(r.text) && !r.peek(">") {
			r.at++
		}
		r.accept(">")
	case r.peek("?"):
		r.fail(at, "groups with a question mark are (?:…) and (?<name>…): others are not supported")
	}
	e := r.choice(depth)
	if !r.accept(")") {
		r.fail(at, "the group is not closed")
	}
	return e
}

// repeated reads the number of repetitions after e. Whether as many or as few as possible are taken first does not
// matter for what matches.
func (r *patternReader) repeated(e expression) expression {
	x, at := repeated{of: e}, r.at
	switch {
	case r.accept("*"):
		x.min, x.max = 0, -1
	case r.accept("+"):
		x.min, x.max = 1, -1
	case r.accept("?"):
		x.min, x.max = 0, 1
	case r.accept("{"):
		x.min, x.max = r.bounds(at)
	default:
		return e
	}
	r.accept("?")
	if a, ok := e.(anchor); ok {
		r.fail(at, "the anchor %c cannot be repeated", a.sign)
	}
	switch {
	case x.max == 0 || isEmpty(e):
		return series{}
	case x.min == 1 && x.max == 1:
		return e
	}
	return x.joined()
}

// joined returns a repetition of a repetition as one if the inner one is *, or both are of *, + and ?. So an expression
// has few parts for each of its characters.
func (e repeated) joined() repeated {
	of, ok := e.of.(repeated)
	switch {
	case ok && of.min == 0 && of.max < 0:
		return of
	case ok && e.isSimple() && of.isSimple():
		return repeated{of.of, e.min * of.min, min(e.max, of.max)}
	}
	return e
}

// isSimple reports whether e is of *, + or ?.
func (e repeated) isSimple() bool { return e.min <= 1 && e.max <= 1 }

// bounds reads m}, m,} or m,n}.
func (r *patternReader) bounds(at int) (lo, hi int) {
	lo, ok := r.number()
	hi = lo
	if r.accept(",") {
		if hi = -1; !r.peek("}") {
			var all bool
			hi, all = r.number()
			ok = ok && all
		}
	}
	switch {
	case !r.accept("}") || !ok:
		r.fail(at, `{ begins no number of repetitions from 0 to %d: write {2}, {2,} or {2,5}, or \{ for the character`,
			maxCount)
	case hi >= 0 && hi < lo:
		r.fail(at, "{%d,%d}: the second number is below the first", lo, hi)
	}
	return lo, hi
}

func (r *patternReader) number() (n int, ok bool) {
	from := r.at
	for r.at < len(r.text) && r.text[r.at] >= '0' && r.text[r.at] <= '9' {
		r.at++
	}
	n, err := strconv.Atoi(string(r.text[from:r.at]))
	return n, err == nil && n <= maxCount
}

// class reads the rest of […] or [^…].
func (r *patternReader) class(at int) expression {
	not := r.accept("^")
	var spans []span
	for !r.accept("]") {
		if r.at == len(r.text) {
			r.fail(at, "the set of characters is not closed by ]")
			return series{}
		}
		from := r.at
		lo, s := r.classAtom()
		if !r.peek("-") || r.peek("-]") {
			spans = append(append(spans, s...), spanOf(lo, lo, s)...)
			continue
		}
		r.at++
		hi, other := r.classAtom()
		switch {
		case r.at == len(r.text): // it is not closed
		case s != nil || other != nil: // - is a character beside \w and the like
			spans = append(append(append(spans, s...), other...), span{'-', '-'})
			spans = append(append(spans, spanOf(lo, lo, s)...), spanOf(hi, hi, other)...)
		case hi < lo:
			r.fail(from, "the range of characters ends before it begins")
		default:
			spans = append(spans, span{lo, hi})
		}
	}
	s := makeSet(spans...)
	if not {
		s = s.others()
	}
	if len(s) == 0 {
		r.fail(at, "no character is in the set")
	}
	return s
}

// spanOf returns a range, or nothing if there is a set instead.
func spanOf(lo, hi rune, instead set) []span {
	if instead != nil {
		return nil
	}
	return []span{{lo, hi}}
}

// classAtom reads a character, or an escape for one or for a set.
func (r *patternReader) classAtom() (rune, set) {
	at := r.at
	if c := r.next(); c != '\\' {
		return c, nil
	}
	return r.escape(at, insideClass)
}

// place is where an escape is. \b means two things.
type place bool

const (
	insideClass  place = true
	outsideClass place = false
)

// escape reads what follows a backslash. It returns a set for \d and the like, and a character for others.
func (r *patternReader) escape(at int, where place) (rune, set) {
	if r.at == len(r.text) {
		r.fail(at, `a character is expected after \`)
		return 0, nil
	}
	c := r.next()
	if s, ok := named[c]; ok {
		return 0, s
	}
	if i := strings.IndexRune("fnrtv", c); i >= 0 {
		return rune("\f\n\r\t\v"[i]), nil
	}
	switch {
	case c == 'b' && where == insideClass:
		return '\b', nil
	case c == 'b' || c == 'B':
		r.fail(at, `word boundaries, \%c, are not supported`, c)
	case c == 'p' || c == 'P':
		r.fail(at, `properties of Unicode, \%c, are not supported: write the ranges of characters`, c)
	case c >= '1' && c <= '9' || c == 'k':
		r.fail(at, `references to groups, \%c, are not supported`, c)
	case c == '0' && (r.at == len(r.text) || r.text[r.at] < '0' || r.text[r.at] > '9'):
		return 0, nil
	case c == 'c' && r.at < len(r.text) && isLetter(r.text[r.at]):
		return r.next() & 31, nil
	case c == 'x':
		return r.hex(at, 2), nil
	case c == 'u':
		return r.unicode(at), nil
	case isLetter(c) || c >= '0' && c <= '9' || c > '~' || c < ' ':
		r.fail(at, `there is no escape \%c`, c)
	}
	return c, nil
}

func isLetter(c rune) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// unicode reads 0041 or {41}. The escapes of a surrogate pair are one character.
func (r *patternReader) unicode(at int) rune {
	if r.accept("{") {
		from := r.at
		for r.at < len(r.text) && !r.peek("}") {
			r.at++
		}
		digits := r.at - from
		r.at = from
		c := r.hex(at, max(1, digits))
		if !r.accept("}") {
			r.fail(at, `\u{ is not closed`)
		}
		return c
	}
	c := r.hex(at, 4)
	if utf16.IsSurrogate(c) && r.peek(`\u`) {
		after := *r
		after.at += 2
		if pair := utf16.DecodeRune(c, after.hex(at, 4)); after.err == nil && pair != '\ufffd' {
			r.at = after.at
			return pair
		}
	}
	return c
}

// hex reads a number of hexadecimal digits.
func (r *patternReader) hex(at, digits int) rune {
	text := string(r.text[r.at:min(r.at+digits, len(r.text))])
	n, err := strconv.ParseUint(text, 16, 32)
	if err != nil || len(text) < digits || n > 0x10ffff {
		r.fail(at, `an escape of a character is \x41, \u0041 or \u{41}, at most \u{10ffff}`)
		return 0
	}
	r.at += digits
	return rune(n)
}
