package tests

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// grammar holds productions in the notation of Go's specification:
//
//	name = alternatives .
//
// with a | b, [ optional ], { repeated }, ( group ), "literal", and tokens in capital letters.
type grammar struct {
	start string // the first production
	rules map[string]matcher
	input []inputToken
	memo  map[memoKey][]int
}

// matcher returns the positions at which a match that begins at a position may end. A set of
// positions instead of one makes the order of alternatives irrelevant.
type matcher func(g *grammar, at int) []int

type memoKey struct {
	rule string
	at   int
}

// inputToken is a token of the text form. For example %x is {"VALUE", "%x"}.
type inputToken struct{ kind, text string }

var (
	ebnfToken = regexp.MustCompile(`"[^"]*"|[A-Za-z]+|[=.|\[\]{}()]`)
	ggirToken = regexp.MustCompile(`[ \t\r]+|//[^\n]*|\n|"(?:[^"\\\n]|\\.)*"|[%@](?:"(?:[^"\\\n]|\\.)*"|[\w.-]+)|\d+(?:\.\d+)?e[+-]\d+|[\w.]+|->|[()\[\]{},:=+*/;-]|.`)
	rawLine   = regexp.MustCompile(`^[ \t]*(target|option)\b([^\n]*)`)
)

// accepts returns "" for a sentence of the grammar, and otherwise the text of the token at which
// the longest match ends.
func (g *grammar) accepts(text string) string {
	g.input, g.memo = tokensOf(text), make(map[memoKey][]int)
	ends := g.match(g.start, 0)
	if slices.Contains(ends, len(g.input)) {
		return ""
	}
	far := 0
	for key := range g.memo {
		far = max(far, key.at)
	}
	if far == len(g.input) {
		return "the end"
	}
	return g.input[far].text
}

// match applies a production.
func (g *grammar) match(rule string, at int) []int {
	key := memoKey{rule, at}
	if ends, ok := g.memo[key]; ok {
		return ends
	}
	ends := g.rules[rule](g, at)
	g.memo[key] = ends
	return ends
}

// tokensOf cuts a text of modules into tokens; empty lines and those of comments vanish.
func tokensOf(text string) (tokens []inputToken) {
	for line := range strings.SplitSeq(text, "\n") {
		tokens = append(tokens, lineTokens(line)...)
		if n := len(tokens); n > 0 && tokens[n-1].kind != "EOL" {
			tokens = append(tokens, inputToken{"EOL", "\n"})
		}
	}
	return tokens
}

func lineTokens(line string) (tokens []inputToken) {
	if m := rawLine.FindStringSubmatch(line); m != nil {
		return []inputToken{{"WORD", m[1]}, {"REST", m[2]}}
	}
	for _, s := range ggirToken.FindAllString(line, -1) {
		kind := "PUNCT"
		switch c := s[0]; {
		case c == ' ' || c == '\t' || c == '\r' || strings.HasPrefix(s, "//"):
			continue
		case c == '"':
			kind = "TEXT"
		case c == '%' && len(s) > 1:
			kind = "VALUE"
		case c == '@' && len(s) > 1:
			kind = "AT"
		case '0' <= c && c <= '9':
			kind = "NUMBER"
		case c == '_' || c == '.' || 'a' <= c|0x20 && c|0x20 <= 'z':
			kind = "WORD"
		}
		tokens = append(tokens, inputToken{kind, s})
	}
	return tokens
}

// parseGrammar reads productions; every name that one uses has to be defined.
func parseGrammar(text string) (*grammar, error) {
	p := &ebnfParser{tokens: ebnfToken.FindAllString(text, -1), g: &grammar{rules: make(map[string]matcher)}, used: make(map[string]bool)}
	for len(p.tokens) > 0 && p.err == nil {
		name := p.next()
		if p.g.start == "" {
			p.g.start = name
		}
		p.expect("=")
		if p.g.rules[name] != nil {
			p.fail("%s is defined twice", name)
		}
		p.g.rules[name] = p.alternatives()
		p.expect(".")
	}
	for name := range p.used {
		if p.g.rules[name] == nil {
			p.fail("%s is not defined", name)
		}
	}
	for name := range p.g.rules {
		if !p.used[name] && name != p.g.start {
			p.fail("%s is not used", name)
		}
	}
	return p.g, p.err
}

type ebnfParser struct {
	tokens []string
	g      *grammar
	used   map[string]bool
	err    error
}

func (p *ebnfParser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

func (p *ebnfParser) peek() string {
	if len(p.tokens) == 0 || p.err != nil {
		return ""
	}
	return p.tokens[0]
}

func (p *ebnfParser) next() string {
	s := p.peek()
	if s == "" {
		p.fail("the grammar ends within a production")
		return ""
	}
	p.tokens = p.tokens[1:]
	return s
}

func (p *ebnfParser) expect(text string) {
	if got := p.next(); got != text {
		p.fail("%q where %q is expected", got, text)
	}
}

func (p *ebnfParser) alternatives() matcher {
	all := []matcher{p.sequence()}
	for p.peek() == "|" {
		p.next()
		all = append(all, p.sequence())
	}
	return func(g *grammar, at int) (ends []int) {
		for _, m := range all {
			ends = union(ends, m(g, at))
		}
		return ends
	}
}

func (p *ebnfParser) sequence() matcher {
	var parts []matcher
	for !slices.Contains([]string{"", "|", ".", ")", "]", "}"}, p.peek()) {
		parts = append(parts, p.part())
	}
	return func(g *grammar, at int) []int {
		ends := []int{at}
		for _, m := range parts {
			ends = follow(g, m, ends)
		}
		return ends
	}
}

func (p *ebnfParser) part() matcher {
	switch s := p.next(); {
	case s == "(":
		m := p.alternatives()
		p.expect(")")
		return m
	case s == "[":
		m := p.alternatives()
		p.expect("]")
		return func(g *grammar, at int) []int { return union([]int{at}, m(g, at)) }
	case s == "{":
		m := p.alternatives()
		p.expect("}")
		return repeated(m)
	case strings.HasPrefix(s, `"`):
		text := strings.Trim(s, `"`)
		return oneToken(func(t inputToken) bool { return t.text == text })
	case s == strings.ToUpper(s):
		return oneToken(func(t inputToken) bool { return t.kind == s })
	default:
		p.used[s] = true
		return func(g *grammar, at int) []int { return g.match(s, at) }
	}
}

func oneToken(is func(inputToken) bool) matcher {
	return func(g *grammar, at int) []int {
		if at < len(g.input) && is(g.input[at]) {
			return []int{at + 1}
		}
		return nil
	}
}

func repeated(m matcher) matcher {
	return func(g *grammar, at int) []int {
		all := []int{at}
		for last := all; len(last) > 0; {
			var fresh []int
			for _, end := range follow(g, m, last) {
				if !slices.Contains(all, end) {
					fresh = append(fresh, end)
				}
			}
			all, last = union(all, fresh), fresh
		}
		return all
	}
}

// follow applies m at each of some positions.
func follow(g *grammar, m matcher, at []int) (ends []int) {
	for _, i := range at {
		ends = union(ends, m(g, i))
	}
	return ends
}

func union(a, b []int) []int {
	for _, x := range b {
		if !slices.Contains(a, x) {
			a = append(a, x)
		}
	}
	return a
}
