package jinja

import (
	"slices"
	"strconv"
	"strings"
)

// form is which expressions are allowed at a place.
type form uint8

const (
	plain       form = iota
	noCondition      // no a if b else c, because another if may follow
)

// expression reads one expression.
func (p *parser) expression() expr {
	p.deeper()
	defer p.shallower()
	e := p.or()
	for p.isName("if") {
		c := condExpr{at: p.take().at, yes: e}
		c.test = p.or()
		if p.skipName("else") {
			c.no = p.expression()
		}
		e = c
	}
	return e
}

// one reads an expression of a form.
func (p *parser) one(f form) expr {
	if f == noCondition {
		p.deeper()
		defer p.shallower()
		return p.or()
	}
	return p.expression()
}

// tuple reads an expression, or several with commas between them, which are a tuple.
func (p *parser) tuple(f form) expr {
	first := p.one(f)
	if !p.isOp(",") {
		return first
	}
	list := tupleExpr{first}
	for p.skipOp(",") {
		if p.endsTuple() {
			break
		}
		list = append(list, p.one(f))
	}
	return list
}

// endsTuple reports whether no element follows a comma.
func (p *parser) endsTuple() bool {
	return p.is(kindPrintEnd) || p.is(kindBlockEnd) || p.isOp(")") || p.isOp("=") || p.isName("in", "recursive", "if")
}

// list reads expressions with commas between them, up to the end of a tag.
func (p *parser) list() (list []expr) {
	for !p.is(kindBlockEnd) {
		if len(list) > 0 {
			p.wantOp(",")
		}
		list = append(list, p.expression())
	}
	return list
}

func (p *parser) or() expr {
	e := p.and()
	for p.skipName("or") {
		e = logicExpr{true, e, p.and()}
	}
	return e
}

func (p *parser) and() expr {
	e := p.not()
	for p.skipName("and") {
		e = logicExpr{false, e, p.not()}
	}
	return e
}

func (p *parser) not() expr {
	if !p.skipName("not") {
		return p.compare()
	}
	p.deeper()
	defer p.shallower()
	return notExpr{p.not()}
}

// comparison reads the operator of a comparison, if there is one.
func (p *parser) comparison() (op string, at int) {
	t := p.token()
	switch {
	case t.kind == kindOperator && slices.Contains([]string{"==", "!=", "<", "<=", ">", ">="}, t.text), p.isName("in"):
		p.take()
		return t.text, t.at
	case p.isName("not") && p.tokens[p.at+1].kind == kindName && p.tokens[p.at+1].text == "in":
		p.at += 2
		return "not in", t.at
	}
	return "", 0
}

func (p *parser) compare() expr {
	first := p.sum()
	var rest []comparand
	for op, at := p.comparison(); op != ""; op, at = p.comparison() {
		rest = append(rest, comparand{at, op, p.sum()})
	}
	if rest == nil {
		return first
	}
	return compareExpr{first, rest}
}

// binary reads operands with operators of one precedence between them.
func (p *parser) binary(operand func() expr, ops ...string) expr {
	e := operand()
	for p.is(kindOperator) && slices.Contains(ops, p.token().text) {
		op := p.take()
		e = binaryExpr{op.at, op.text, e, operand()}
	}
	return e
}

func (p *parser) sum() expr { return p.binary(p.concat, "+", "-") }

func (p *parser) concat() expr {
	first := p.product()
	if !p.isOp("~") {
		return first
	}
	list := concatExpr{first}
	for p.skipOp("~") {
		list = append(list, p.product())
	}
	return list
}

func (p *parser) product() expr { return p.binary(p.power, "*", "/", "//", "%") }

func (p *parser) power() expr { return p.binary(p.filtered, "**") }

// filtered reads an operand with its filters and tests.
func (p *parser) filtered() expr {
	e := p.sign()
	for {
		switch {
		case p.skipOp("|"):
			f := p.filter()
			f.of = e
			e = &f
		case p.isName("is"):
			e = p.test(e)
		case p.isOp("("):
			e = p.call(e)
		default:
			return e
		}
	}
}

// sign reads an operand with the signs before it and the indexes and calls after it.
func (p *parser) sign() expr {
	if !p.isOp("-") && !p.isOp("+") {
		return p.postfix(p.primary())
	}
	p.deeper()
	defer p.shallower()
	op := p.take()
	return signExpr{op.at, op.text, p.sign()}
}

// test reads is NAME, with an argument in parentheses or without.
func (p *parser) test(of expr) expr {
	p.take()
	negated := p.skipName("not")
	name := p.want(kindName, "the name of a test")
	t := &testExpr{at: name.at, name: p.dotted(name.text), of: of}
	switch {
	case p.isOp("("):
		t.args = p.arguments()
	case p.argumentFollows():
		if p.isName("is") {
			p.fail(p.token().at, "a second test of one value: write and between them")
		}
		t.args.pos = []expr{p.postfix(p.primary())}
	}
	if negated {
		return notExpr{t}
	}
	return t
}

// argumentFollows reports whether the argument of a test follows its name.
func (p *parser) argumentFollows() bool {
	switch p.token().kind {
	case kindName:
		return !p.isName("else", "or", "and") && !p.isName("if", "in", "not", "recursive")
	case kindString, kindInt, kindFloat:
		return true
	}
	return p.isOp("[") || p.isOp("{")
}

// postfix reads the attributes, indexes and calls of an operand.
func (p *parser) postfix(e expr) expr {
	for {
		switch {
		case p.isOp("."):
			e = p.attribute(e)
		case p.isOp("["):
			e = p.item(e)
		case p.isOp("("):
			e = p.call(e)
		default:
			return e
		}
	}
}

func (p *parser) attribute(of expr) expr {
	p.take()
	t := p.take()
	switch t.kind {
	case kindName:
		return &attrExpr{t.at, of, t.text}
	case kindInt:
		return &itemExpr{t.at, of, p.integer(t)}
	}
	p.fail(t.at, "unexpected %v: a name or a number has to follow the dot", t)
	return nil
}

// item reads an index, a slice, or several of them.
func (p *parser) item(of expr) expr {
	at := p.take().at
	var list tupleExpr
	for !p.isOp("]") {
		if len(list) > 0 {
			p.wantOp(",")
		}
		list = append(list, p.index())
	}
	p.take()
	if len(list) == 0 {
		p.fail(at, "an index is missing")
	}
	if len(list) == 1 {
		return &itemExpr{at, of, list[0]}
	}
	return &itemExpr{at, of, list}
}

// index reads an expression or a slice.
func (p *parser) index() expr {
	var s sliceExpr
	if !p.isOp(":") {
		s.start = p.expression()
		if !p.isOp(":") {
			return s.start
		}
	}
	p.take()
	if !p.isOp(":") && !p.isOp("]") && !p.isOp(",") {
		s.stop = p.expression()
	}
	if p.skipOp(":") && !p.isOp("]") && !p.isOp(",") {
		s.step = p.expression()
	}
	return s
}

func (p *parser) call(fn expr) expr {
	at := p.token().at
	return &callExpr{at, fn, p.arguments()}
}

// arguments reads the arguments of a call, with the parentheses.
func (p *parser) arguments() (a argList) {
	p.wantOp("(")
	for n := 0; !p.isOp(")"); n++ {
		if n > 0 {
			p.wantOp(",")
			if p.isOp(")") {
				break
			}
		}
		p.argument(&a)
	}
	p.take()
	return a
}

// argument reads one argument.
func (p *parser) argument(a *argList) {
	t := p.token()
	switch {
	case p.skipOp("*"):
		a.spread = p.expression()
	case p.skipOp("**"):
		a.dicts = p.expression()
	case t.kind == kindName && p.tokens[p.at+1].kind == kindOperator && p.tokens[p.at+1].text == "=":
		p.at += 2
		a.named = append(a.named, namedExpr{t.text, p.expression()})
	case len(a.named) > 0 || a.spread != nil || a.dicts != nil:
		p.fail(t.at, "an argument without a name follows one with a name")
	default:
		a.pos = append(a.pos, p.expression())
	}
}

// constants are the names that are values.
var constants = map[string]any{"true": true, "True": true, "false": false, "False": false, "none": nil, "None": nil}

// primary reads a name, a literal, or an expression in brackets.
func (p *parser) primary() expr {
	t := p.take()
	switch t.kind {
	case kindName:
		return p.name(t)
	case kindString:
		list := []string{t.text}
		for p.is(kindString) {
			list = append(list, p.take().text)
		}
		return constant{strings.Join(list, "")}
	case kindInt:
		return p.integer(t)
	case kindFloat:
		x, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			p.fail(t.at, "the number %s is too large", t.text)
		}
		return constant{x}
	}
	switch t.text {
	case "(":
		return p.parentheses()
	case "[":
		return p.listLiteral()
	case "{":
		return p.dictLiteral(t.at)
	}
	p.fail(t.at, "unexpected %v, where a value is needed", t)
	return nil
}

func (p *parser) name(t lexeme) expr {
	if v, ok := constants[t.text]; ok {
		return constant{v}
	}
	if slices.Contains(reserved, t.text) {
		p.fail(t.at, "unexpected %q, where a value is needed", t.text)
	}
	switch t.text {
	case "varargs":
		p.uses.varargs = true
	case "kwargs":
		p.uses.kwargs = true
	case "caller":
		p.uses.caller = true
	}
	return &nameExpr{t.at, t.text}
}

func (p *parser) integer(t lexeme) expr {
	zeros := strings.TrimLeft(t.text, "0")
	if zeros != t.text && zeros != "" && zeros[0] >= '0' && zeros[0] <= '9' {
		p.fail(t.at, "the number %s begins with 0", short(t.text))
	}
	n, err := strconv.ParseInt(t.text, 0, 64)
	if err != nil {
		p.fail(t.at, "the number %s is too large", t.text)
	}
	return constant{n}
}

func (p *parser) parentheses() expr {
	if p.skipOp(")") {
		return tupleExpr{}
	}
	e := p.tuple(plain)
	p.wantOp(")")
	return e
}

func (p *parser) listLiteral() expr {
	list := listExpr{}
	for !p.isOp("]") {
		if len(list) > 0 {
			p.wantOp(",")
			if p.isOp("]") {
				break
			}
		}
		list = append(list, p.expression())
	}
	p.take()
	return list
}

func (p *parser) dictLiteral(at int) expr {
	d := &dictExpr{at: at}
	for !p.isOp("}") {
		if len(d.keys) > 0 {
			p.wantOp(",")
			if p.isOp("}") {
				break
			}
		}
		d.keys = append(d.keys, p.expression())
		p.wantOp(":")
		d.vals = append(d.vals, p.expression())
	}
	p.take()
	return d
}
