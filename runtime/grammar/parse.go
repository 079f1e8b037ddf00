package grammar

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxText is the largest number of bytes of a grammar.
const MaxText = 1 << 20

// Other limits of grammars. A grammar of a person or of a JSON schema is far below them.
const (
	maxInstructions = 1 << 20
	maxNesting      = 500 // parentheses
	maxRepeat       = 10000
)

// SyntaxError is a fault of a grammar.
type SyntaxError struct {
	Line int // counted from 1; 0 if it is in no line
	Text string
}

func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return "grammar: " + e.Text
	}
	return fmt.Sprintf("grammar: line %d: %s", e.Line, e.Text)
}

// node is a part of a rule.
type node interface{}

type (
	sequence []node
	choice   []node
	literal  string
	class    struct {
		not    bool
		ranges []runeRange
	}
	repeat struct {
		of       node
		min, max int // max is -1 without limit
	}
	reference struct {
		name string
		line int
	}
	tokenElement struct {
		text string // "": the token with the id
		id   int32
		not  bool // any other token
		line int
	}
	runeRange struct{ lo, hi rune }
)

// rule is a definition.
type rule struct {
	name string
	line int
	body node
}

// parser reads GBNF by recursive descent.
type parser struct {
	text    string
	at      int
	nesting int
	rules   []rule
	index   map[string]int
}

// stop is the panic of parser.fail. It does not leave parse.
type stop struct{ err *SyntaxError }

// parse returns the rules of a grammar.
func parse(text string) (p *parser, err error) {
	if len(text) > MaxText {
		return nil, &SyntaxError{0, fmt.Sprintf("%d bytes are more than %d", len(text), MaxText)}
	}
	if !utf8.ValidString(text) {
		return nil, &SyntaxError{0, "it is no UTF-8 text"}
	}
	defer func() {
		if x := recover(); x != nil {
			s, ok := x.(stop)
			if !ok {
				panic(x)
			}
			p, err = nil, s.err
		}
	}()
	p = &parser{text: text, index: make(map[string]int)}
	for p.space(acrossLines); p.at < len(p.text); p.space(acrossLines) {
		p.rule()
	}
	return p, nil
}

func (p *parser) fail(format string, args ...any) {
	line := 1 + strings.Count(p.text[:p.at], "\n")
	panic(stop{&SyntaxError{line, fmt.Sprintf(format, args...)}})
}

// lines is whether white space may contain newlines.
type lines bool

const (
	acrossLines lines = true
	withinLine  lines = false
)

// space skips white space and comments.
func (p *parser) space(l lines) {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == ' ' || c == '\t' || bool(l) && (c == '\n' || c == '\r'):
			p.at++
		case c == '#':
			for p.at < len(p.text) && p.text[p.at] != '\n' && p.text[p.at] != '\r' {
				p.at++
			}
		default:
			return
		}
	}
}

// take skips a token if it is next.
func (p *parser) take(token string) bool {
	if !strings.HasPrefix(p.text[p.at:], token) {
		return false
	}
	p.at += len(token)
	return true
}

func (p *parser) rule() {
	line := 1 + strings.Count(p.text[:p.at], "\n")
	name := p.name()
	p.space(withinLine)
	if !p.take("::=") {
		p.fail("after the name %s comes ::=", name)
	}
	if _, ok := p.index[name]; ok {
		p.fail("there are two rules %s", name)
	}
	p.space(acrossLines)
	p.index[name] = len(p.rules)
	p.rules = append(p.rules, rule{name: name, line: line})
	body := p.choice(withinLine)
	if p.at < len(p.text) && p.text[p.at] != '\n' && p.text[p.at] != '\r' {
		p.fail("%s is not expected in rule %s", quoteNext(p.text[p.at:]), name)
	}
	p.rules[len(p.rules)-1].body = body
}

func quoteNext(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return strconv.Quote(s[:n])
}

func isName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

func (p *parser) name() string {
	start := p.at
	for p.at < len(p.text) && isName(p.text[p.at]) {
		p.at++
	}
	if p.at == start {
		p.fail("a name is expected, not %s", quoteNext(p.text[p.at:]))
	}
	return p.text[start:p.at]
}

// choice reads sequences with | between them.
func (p *parser) choice(l lines) node {
	list := choice{p.sequence(l)}
	for p.take("|") {
		p.space(acrossLines)
		list = append(list, p.sequence(l))
	}
	if len(list) == 1 {
		return list[0]
	}
	return list
}

func (p *parser) sequence(l lines) node {
	var list sequence
	for p.at < len(p.text) {
		c := p.text[p.at]
		var n node
		switch {
		case c == '"':
			n = p.literal()
		case c == '[':
			n = p.class()
		case c == '.':
			p.at++
			n = class{not: true}
		case c == '(':
			n = p.group()
		case isName(c):
			line := 1 + strings.Count(p.text[:p.at], "\n")
			n = reference{p.name(), line}
		case c == '<' || c == '!':
			n = p.token()
		default:
			return list
		}
		list = append(list, p.repeated(n, l))
		p.space(l)
	}
	return list
}

// token reads <[12]>, the token with that id, or <text>, the token with that text, both brackets included; after ! it is
// any other token.
func (p *parser) token() node {
	t := tokenElement{line: 1 + strings.Count(p.text[:p.at], "\n"), not: p.take("!")}
	start := p.at
	if !p.take("<") {
		p.fail("after ! comes a token, such as <[12]> or <think>")
	}
	if p.take("[") {
		t.id = p.number32()
		if !p.take("]>") {
			p.fail("the id of a token is not closed by ]>")
		}
		return t
	}
	n := strings.IndexByte(p.text[p.at:], '>')
	if n < 0 || strings.ContainsRune(p.text[p.at:p.at+n], '\n') {
		p.fail("a token is not closed by >")
	}
	p.at += n + 1
	t.text = p.text[start:p.at]
	return t
}

// number32 reads the id of a token.
func (p *parser) number32() int32 {
	start := p.at
	for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
		p.at++
	}
	n, err := strconv.ParseInt(p.text[start:p.at], 10, 32)
	if err != nil {
		p.fail("the id of a token is a number from 0 on")
	}
	return int32(n)
}

func (p *parser) group() node {
	p.at++
	if p.nesting++; p.nesting > maxNesting {
		p.fail("more than %d parentheses within each other", maxNesting)
	}
	p.space(acrossLines)
	n := p.choice(acrossLines)
	if !p.take(")") {
		p.fail("a parenthesis is not closed")
	}
	p.nesting--
	return n
}

// repeated reads the operators after an item.
func (p *parser) repeated(n node, l lines) node {
	for {
		p.space(l)
		switch {
		case p.take("*"):
			n = repeat{n, 0, -1}
		case p.take("+"):
			n = repeat{n, 1, -1}
		case p.take("?"):
			n = repeat{n, 0, 1}
		case p.take("{"):
			n = p.bounds(n)
		default:
			return n
		}
	}
}

// bounds reads m}, m,} or m,n}.
func (p *parser) bounds(n node) node {
	p.space(withinLine)
	r := repeat{of: n, min: p.number()}
	r.max = r.min
	p.space(withinLine)
	if p.take(",") {
		p.space(withinLine)
		r.max = -1
		if p.at < len(p.text) && p.text[p.at] != '}' {
			r.max = p.number()
		}
	}
	p.space(withinLine)
	switch {
	case !p.take("}"):
		p.fail("the number of repetitions is not closed: write {2}, {2,} or {2,5}")
	case r.max >= 0 && r.max < r.min:
		p.fail("{%d,%d}: the second number is below the first", r.min, r.max)
	}
	return r
}

func (p *parser) number() int {
	start := p.at
	for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
		p.at++
	}
	n, err := strconv.Atoi(p.text[start:p.at])
	if err != nil || n > maxRepeat {
		p.fail("a number of repetitions is between 0 and %d", maxRepeat)
	}
	return n
}

func (p *parser) literal() node {
	p.at++
	var b strings.Builder
	for !p.take(`"`) {
		if p.at == len(p.text) || p.text[p.at] == '\n' {
			p.fail("a text is not closed by a quotation mark")
		}
		b.WriteRune(p.char())
	}
	return literal(b.String())
}

// class reads [a-z0-9_] or [^…].
func (p *parser) class() node {
	p.at++
	c := class{not: p.take("^")}
	for !p.take("]") {
		if p.at == len(p.text) || p.text[p.at] == '\n' {
			p.fail("a set of characters is not closed by ]")
		}
		r := runeRange{lo: p.char()}
		r.hi = r.lo
		if strings.HasPrefix(p.text[p.at:], "-") && !strings.HasPrefix(p.text[p.at:], "-]") {
			p.at++
			if r.hi = p.charOfClass(); r.hi < r.lo {
				p.fail("a range of characters ends before it begins: %c-%c", r.lo, r.hi)
			}
		}
		c.ranges = append(c.ranges, r)
	}
	return c
}

func (p *parser) charOfClass() rune {
	if p.at == len(p.text) {
		p.fail("a set of characters is not closed by ]")
	}
	return p.char()
}

// char reads a character or an escape.
func (p *parser) char() rune {
	r, n := utf8.DecodeRuneInString(p.text[p.at:])
	p.at += n
	if r != '\\' {
		return r
	}
	if p.at == len(p.text) {
		p.fail(`a character is expected after \`)
	}
	c := p.text[p.at]
	p.at++
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case '\\', '"', '[', ']', '-', '^':
		return rune(c)
	case 'x':
		return p.hex(2)
	case 'u':
		return p.hex(4)
	case 'U':
		return p.hex(8)
	}
	p.fail(`unknown escape \%c: there are \n \r \t \\ \" \[ \] \x41 \u0041 \U00000041`, c)
	return 0
}

// hex returns the character of an escape in GBNF that has so many hexadecimal digits.
func (p *parser) hex(digits int) rune {
	if p.at+digits <= len(p.text) {
		n, err := strconv.ParseUint(p.text[p.at:p.at+digits], 16, 32)
		if err == nil && utf8.ValidRune(rune(n)) {
			p.at += digits
			return rune(n)
		}
		if err == nil {
			p.fail("there is no character %s: half of a surrogate pair is none, and 10FFFF is the last", p.text[p.at:p.at+digits])
			return 0
		}
	}
	p.fail("%d hexadecimal digits of a character are expected", digits)
	return 0
}
