package jinja

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxText is the largest number of bytes of a template. The largest ones of published models have 30,000.
const MaxText = 1 << 20

// maxNesting bounds how deep tags and brackets are nested in each other.
const maxNesting = 200

// Template is a parsed template. It does not change and may be used by several goroutines.
type Template struct {
	src  string
	body []stmt
}

// Parse parses a template. The error is an *Error.
func Parse(text string) (t *Template, err error) {
	defer caught(&err)
	if len(text) > MaxText {
		return nil, fault("", 0, fmt.Sprintf("the template has %d bytes, more than %d", len(text), MaxText))
	}
	if !utf8.ValidString(text) {
		return nil, fault("", 0, "the template is no UTF-8 text")
	}
	src := newlines(text)
	p := &parser{src: src, tokens: lex(src)}
	return &Template{src, p.statements()}, nil
}

// parser reads tokens by recursive descent.
type parser struct {
	src     string
	tokens  []lexeme
	at      int
	nesting int
	loops   int       // for statements around the present one, within the same function of Python
	uses    macroUses // of the macro around the present statement, and of the macros in it
}

func (p *parser) fail(at int, format string, args ...any) {
	panic(stop{fault(p.src, at, fmt.Sprintf(format, args...))})
}

//go:noinline
func (p *parser) token() lexeme { return p.tokens[p.at] }

// take returns the present token and moves on.
func (p *parser) take() lexeme {
	t := p.tokens[p.at]
	if t.kind != kindEnd {
		p.at++
	}
	return t
}

func (p *parser) is(k kind) bool { return p.token().kind == k }

// isOp reports whether the present token is an operator.
//
//go:noinline
func (p *parser) isOp(op string) bool { t := p.token(); return t.kind == kindOperator && t.text == op }

// isName reports whether the present token is one of some names.
func (p *parser) isName(names ...string) bool {
	t := p.token()
	return t.kind == kindName && slices.Contains(names, t.text)
}

// skipOp moves over an operator if it is the present token.
func (p *parser) skipOp(op string) bool {
	if !p.isOp(op) {
		return false
	}
	p.at++
	return true
}

func (p *parser) skipName(name string) bool {
	if !p.isName(name) {
		return false
	}
	p.at++
	return true
}

func (p *parser) wantOp(op string) {
	if !p.skipOp(op) {
		p.fail(p.token().at, "unexpected %v: %q is missing", p.token(), op)
	}
}

func (p *parser) want(k kind, what string) lexeme {
	if !p.is(k) {
		p.fail(p.token().at, "unexpected %v: %s is missing", p.token(), what)
	}
	return p.take()
}

// deeper counts a level of nesting. The caller calls shallower at its end.
func (p *parser) deeper() {
	if p.nesting++; p.nesting > maxNesting {
		p.fail(p.token().at, "more than %d levels are nested in each other", maxNesting)
	}
}

func (p *parser) shallower() { p.nesting-- }

// word returns the name of the tag at which statements ended, or nothing.
func (p *parser) word() string {
	if p.is(kindBlock) && p.tokens[p.at+1].kind == kindName {
		return p.tokens[p.at+1].text
	}
	return ""
}

// statements reads up to the end of the template, or a tag that is one of ends.
func (p *parser) statements(ends ...string) []stmt {
	p.deeper()
	defer p.shallower()
	var list []stmt
	for {
		switch t := p.token(); t.kind {
		case kindEnd:
			if len(ends) > 0 {
				p.fail(t.at, "the template ends here: {%% %s %%} is missing", strings.Join(ends, " %} or {% "))
			}
			return list
		case kindData:
			list = append(list, textStmt(p.take().text))
		case kindPrint:
			p.take()
			list = append(list, printStmt{t.at, []expr{p.tuple(plain)}})
			p.want(kindPrintEnd, "}}")
		default:
			if slices.Contains(ends, p.word()) {
				return list
			}
			list = append(list, p.statement())
		}
	}
}

// block reads statements up to a tag that is one of ends, and the tag's name.
func (p *parser) block(ends ...string) (body []stmt, end string) {
	p.want(kindBlockEnd, "%}")
	body = p.statements(ends...)
	p.take()
	return body, p.take().text
}

// closed reads statements up to a tag, and the tag.
func (p *parser) closed(end string) []stmt {
	body, _ := p.block(end)
	p.want(kindBlockEnd, "%}")
	return body
}

// function is closed where jinja2 makes a function of the statements. They leave no loop around them.
func (p *parser) function(end string) []stmt {
	around := p.loops
	p.loops = 0
	body := p.closed(end)
	p.loops = around
	return body
}

// statement reads one statement.
func (p *parser) statement() stmt {
	p.take()
	word := p.want(kindName, "the name of a statement")
	switch word.text {
	case "if":
		return p.ifStatement()
	case "for":
		return p.forStatement(word.at)
	case "set":
		return p.setStatement(word.at)
	case "macro":
		return p.macro()
	case "call":
		return p.callBlock(word.at)
	case "filter":
		return p.filterBlock()
	case "with":
		return p.with()
	case "generation": // of transformers: it marks what a model is trained on
		return withStmt{body: p.function("endgeneration")}
	case "print":
		s := printStmt{word.at, p.list()}
		p.want(kindBlockEnd, "%}")
		return s
	case "break", "continue":
		return p.jump(word)
	}
	p.refuse(word)
	return nil
}

// refuse fails at a word that begins no statement.
func (p *parser) refuse(word lexeme) {
	switch word.text {
	case "extends", "include", "import", "from":
		p.fail(word.at, "%s: a chat template reads no other files", word.text)
	case "block", "autoescape", "do", "trans":
		p.fail(word.at, "the statement %s is not supported", word.text)
	}
	if strings.HasPrefix(word.text, "end") || word.text == "else" || word.text == "elif" {
		p.fail(word.at, "unexpected %s: the statement that it belongs to is missing", word.text)
	}
	p.fail(word.at, "unknown statement %q", word.text)
}

// jump reads what follows break and continue.
func (p *parser) jump(word lexeme) stmt {
	if p.loops == 0 {
		p.fail(word.at, "%s is in no loop", word.text)
	}
	p.want(kindBlockEnd, "%}")
	if word.text == "break" {
		return breakStmt{}
	}
	return continueStmt{}
}

func (p *parser) ifStatement() stmt {
	var s ifStmt
	for end := "if"; ; {
		var b branch
		switch end {
		case "if", "elif":
			b.test = p.tuple(noCondition)
			b.body, end = p.block("elif", "else", "endif")
			s.branches = append(s.branches, b)
		case "else":
			s.other, end = p.block("endif")
		default:
			p.want(kindBlockEnd, "%}")
			return s
		}
	}
}

func (p *parser) forStatement(at int) stmt {
	s := forStmt{at: at, target: p.targets()}
	p.noLoop(s.target)
	if !p.skipName("in") {
		p.fail(p.token().at, "unexpected %v: \"in\" is missing", p.token())
	}
	s.over = p.tuple(noCondition)
	if p.skipName("if") {
		s.only = p.expression()
	}
	s.recursive = p.skipName("recursive")
	around := p.loops
	p.loops++
	var end string
	s.body, end = p.block("endfor", "else")
	p.loops = around
	if end == "else" {
		if s.recursive { // a function of jinja2, with its else
			p.loops = 0
		}
		s.other, _ = p.block("endfor")
		p.loops = around
	}
	p.want(kindBlockEnd, "%}")
	return s
}

// noLoop refuses the name loop as the target of a loop.
func (p *parser) noLoop(t target) {
	if t.name == "loop" && t.attr == "" {
		p.fail(t.at, "loop cannot be assigned to by a for statement")
	}
	for _, part := range t.parts {
		p.noLoop(part)
	}
}

func (p *parser) setStatement(at int) stmt {
	to := p.targets()
	if p.skipOp("=") {
		s := setStmt{at, to, p.tuple(plain)}
		p.want(kindBlockEnd, "%}")
		return s
	}
	filters := p.filters()
	return setBlockStmt{to, filters, p.closed("endset")}
}

// filters reads the filters of a block: | one | two.
func (p *parser) filters() (list []filterExpr) {
	for p.skipOp("|") {
		list = append(list, p.filter())
	}
	return list
}

// filter reads the name of a filter and its arguments.
func (p *parser) filter() filterExpr {
	name := p.want(kindName, "the name of a filter")
	f := filterExpr{at: name.at, name: p.dotted(name.text)}
	if p.isOp("(") {
		f.args = p.arguments()
	}
	return f
}

// dotted reads the rest of a name with dots.
func (p *parser) dotted(name string) string {
	for p.skipOp(".") && len(name) < maxName {
		name += "." + p.want(kindName, "a name").text
	}
	return name
}

func (p *parser) filterBlock() stmt {
	filters := append([]filterExpr{p.filter()}, p.filters()...)
	return filterStmt{filters, p.closed("endfilter")}
}

func (p *parser) with() stmt {
	var s withStmt
	for !p.is(kindBlockEnd) {
		if len(s.targets) > 0 {
			p.wantOp(",")
		}
		s.targets = append(s.targets, p.target())
		p.wantOp("=")
		s.values = append(s.values, p.expression())
	}
	s.body = p.closed("endwith")
	return s
}

func (p *parser) macro() stmt {
	m := &macroStmt{name: p.want(kindName, "the name of a macro").text}
	m.params = p.params()
	p.macroBody(m, "endmacro")
	return m
}

// macroBody reads the statements of a macro and notes what they use.
func (p *parser) macroBody(m *macroStmt, end string) {
	around := p.uses
	p.uses = macroUses{}
	m.body = p.function(end)
	m.macroUses = p.uses
	p.uses = macroUses{around.varargs || m.varargs, around.kwargs || m.kwargs, around.caller || m.caller}
}

// params reads the parameters of a macro.
func (p *parser) params() (list []param) {
	p.wantOp("(")
	names := map[string]bool{}
	for !p.isOp(")") {
		if len(list) > 0 {
			p.wantOp(",")
		}
		name := p.want(kindName, "the name of a parameter")
		if names[name.text] {
			p.fail(name.at, "there are two parameters %s", name.text)
		}
		names[name.text] = true
		one := param{name: name.text}
		if p.skipOp("=") {
			one.fallback = p.expression()
		} else if n := len(list); n > 0 && list[n-1].fallback != nil {
			p.fail(name.at, "the parameter %s without a default follows one with a default", name.text)
		}
		list = append(list, one)
	}
	p.wantOp(")")
	return list
}

func (p *parser) callBlock(at int) stmt {
	m := &macroStmt{name: "caller"}
	if p.isOp("(") {
		m.params = p.params()
	}
	start := p.token().at
	call, ok := p.expression().(*callExpr)
	if !ok {
		p.fail(start, "a call block needs a call, such as name()")
	}
	p.macroBody(m, "endcall")
	return callStmt{at, m, call}
}

// targets reads one target, or several with commas between them.
func (p *parser) targets() target {
	at := p.token().at
	list := []target{p.target()}
	several := false
	for p.skipOp(",") {
		several = true
		if p.isOp("=") || p.isName("in") || p.isOp(")") {
			break
		}
		list = append(list, p.target())
	}
	if !several {
		return list[0]
	}
	return target{at: at, parts: list}
}

// target reads a name, a name with an attribute, or targets in parentheses.
func (p *parser) target() target {
	if p.isOp("(") {
		p.take()
		p.deeper()
		defer p.shallower()
		t := p.targets()
		p.wantOp(")")
		return t
	}
	name := p.want(kindName, "a name")
	if slices.Contains(reserved, name.text) {
		p.fail(name.at, "%s cannot be assigned to", name.text)
	}
	t := target{at: name.at, name: name.text}
	if p.skipOp(".") {
		t.attr = p.want(kindName, "a name").text
	}
	return t
}

// reserved are the names that are constants or operators.
var reserved = []string{"true", "false", "none", "True", "False", "None", "not", "and", "or", "in", "is", "if", "else"}
