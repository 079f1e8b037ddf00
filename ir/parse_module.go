package ir

import (
	"strings"
)

// Parsing of everything outside functions.

// statements are the functions that parse the top-level lines, by keyword.
var statements map[string]func(*parser)

func init() {
	statements = map[string]func(*parser){
		"ggir":     (*parser).version,
		"module":   func(p *parser) { p.m.Name = p.str("the module's name in quotes") },
		"after":    func(p *parser) { p.m.Last = p.word("the name of a pass") },
		"props":    (*parser).props,
		"source":   (*parser).source,
		"symbol":   (*parser).symbol,
		"language": (*parser).language,
		"encoder":  (*parser).encoder,
		"meta": func(p *parser) {
			key := p.str("a key in quotes")
			p.m.Meta = append(p.m.Meta, Meta{key, p.str("a value in quotes")})
		},
		"target": (*parser).rawHeader,
		"option": (*parser).rawHeader,
		"header": func(p *parser) {
			key := p.str("a key in quotes")
			p.m.Headers = append(p.m.Headers, Header{key, p.str("a text in quotes")})
		},
		"weight": (*parser).weightDecl,
		"state":  (*parser).stateDecl,
		"func":   (*parser).entry,
		"plan":   (*parser).plan,
		"partial": func(p *parser) {
			p.errorf("this dump shows only a part of the module and cannot be read back: dump it without --func and --show")
			p.lex.pos = len(p.lex.src)
		},
	}
}

// rawHeaders are the headers whose text follows the keyword without quotes.
var rawHeaders = []string{"target", "option"}

func (p *parser) module() {
	for !p.stop() {
		keyword := p.tok
		read := statements[keyword.text]
		switch {
		case p.bad:
		case keyword.kind != tokWord || read == nil:
			p.errorf("unexpected %s: a line here begins with one of module, after, props, source, symbol, language, encoder, meta, target, option, header, weight, state, func, plan", keyword)
		case keyword.text == "target" || keyword.text == "option":
			read(p) // needs the position after the keyword
		default:
			p.next()
			read(p)
		}
		p.endLine()
	}
}

func (p *parser) version() {
	at := p.tok
	if v := p.integer(); v != FormatVersion {
		p.errorAt(at, "the text form has version %d, this program reads %d: dump the model again", v, FormatVersion)
	}
	p.full = true
	p.m.Props = 0
}

func (p *parser) props() {
	at := p.tok
	var names []string
	if p.tok.kind == tokWord {
		p.list(func() { names = append(names, p.ident("the name of a property")) })
	}
	props, ok := ParseProps(strings.Join(names, ","))
	if !ok {
		p.errorAt(at, "unknown property in %q: the known ones are %s", strings.Join(names, ","), strings.Join(propNames, ", "))
	}
	p.m.Props = props
}

func (p *parser) source() {
	at := p.tok
	s := &Source{Name: p.word("the name of a source")}
	s.Path = p.str("a path in quotes")
	s.Size = p.size()
	if p.tok.kind == tokWord || p.tok.kind == tokString {
		s.SHA256 = p.word("a hash")
	}
	if find(p.m.Sources, func(o *Source) bool { return o.Name == s.Name }) != nil {
		p.errorAt(at, "source %s is declared twice", s.Name)
	}
	p.m.Sources = append(p.m.Sources, s)
}

func (p *parser) symbol() {
	at := p.tok
	name := p.ident("the name of a symbol")
	lo, hi := p.size(), p.size()
	switch {
	case p.bad:
	case !isSymbolName(name):
		p.errorAt(at, "a symbol cannot be named %s", name)
	case p.m.Symbol(name) != nil:
		p.errorAt(at, "symbol %s is declared twice", name)
	case lo > hi:
		p.errorAt(at, "symbol %s: the least value %d is above the largest %d", name, lo, hi)
	default:
		p.m.AddSymbol(name, lo, hi)
	}
}

// rawHeader returns the rest of the line unchanged.
func (p *parser) rawHeader() {
	key, from := p.tok.text, p.tok.end
	p.lex.pos = from
	p.lex.skipLine()
	p.m.Headers = append(p.m.Headers, Header{key, strings.TrimSpace(p.lex.src[from:p.lex.pos])})
	p.next()
}

func (p *parser) weightDecl() {
	at := p.tok
	w := &Weight{Name: p.str("the weight's name in quotes")}
	p.expect(":")
	w.Type = p.spacedType()
	if p.accept("=") {
		w.Expr = p.expr()
	}
	w.Divide = p.division()
	if p.accept("at") {
		w.Place = p.place()
	}
	if !p.bad {
		p.declareWeight(at, w)
	}
}

func (p *parser) declareWeight(at token, w *Weight) {
	if p.weights[w.Name] {
		p.errorAt(at, "weight %q is declared twice", w.Name)
		return
	}
	p.weights[w.Name] = true
	p.m.Weights = append(p.m.Weights, w)
}

func (p *parser) stateDecl() {
	at := p.tok
	s := &State{Name: p.str("the state's name in quotes")}
	p.expect(":")
	s.Type = p.spacedType()
	s.Divide = p.division()
	if p.accept("at") {
		s.Place = p.place()
	}
	if !p.bad {
		p.declareState(at, s)
	}
}

func (p *parser) declareState(at token, s *State) {
	if p.states[s.Name] {
		p.errorAt(at, "state %q is declared twice", s.Name)
		return
	}
	p.states[s.Name] = true
	p.m.States = append(p.m.States, s)
}

// spacedType parses a type and, after @, its space.
func (p *parser) spacedType() Type {
	t := p.typ()
	if !p.bad && p.tok.kind == tokAt {
		t.Space = p.take(tokAt, "a space")
	}
	return t
}

const maxExprDepth = 64

func (p *parser) expr() *Expr {
	var e *Expr
	p.nested(maxExprDepth, func() { e = p.exprForm() })
	return e
}

func (p *parser) exprForm() *Expr {
	at := p.tok
	name := p.word("an expression such as m[\"name\"]")
	isWord := at.kind == tokWord
	switch {
	case p.accept("["):
		e := Tensor(name, p.str("a tensor's name in quotes"))
		p.expect("]")
		return e
	case isWord && p.at("("):
		return p.exprCall(at)
	case isWord && name == "literal":
		return &Expr{Op: ExprLiteral, Data: p.hexBytes()}
	case isWord && name == "file":
		return &Expr{Op: ExprFile, File: p.str("a file's name in quotes")}
	}
	p.errorAt(at, "%s is no expression: use m[\"name\"], concat, quantize, expand, rows, columns, pack, literal or file", at)
	return nil
}

func (p *parser) exprCall(at token) *Expr {
	p.expect("(")
	e := &Expr{}
	switch at.text {
	case "concat":
		e.Op = ExprConcat
		p.list(func() { e.Args = append(e.Args, p.expr()) })
	case "quantize", "expand", "pack":
		e.Op = map[string]ExprOp{"quantize": ExprQuantize, "expand": ExprExpand, "pack": ExprPack}[at.text]
		e.Args = []*Expr{p.expr()}
		p.expect(",")
		e.To = p.word("the name of a dtype or layout")
	case "rows", "columns":
		e.Op = map[string]ExprOp{"rows": ExprRows, "columns": ExprColumns}[at.text]
		e.Args = []*Expr{p.expr()}
		p.expect(",")
		e.First = p.size()
		p.expect(",")
		e.Count = p.size()
	default:
		p.errorAt(at, "unknown function %s in an expression: use concat, quantize, expand, rows, columns or pack", at.text)
	}
	p.expect(")")
	return e
}

// plan parses the section of the finished plan.
func (p *parser) plan() {
	if p.m.Plan != nil {
		p.errorf("there is a plan already")
	}
	p.m.Plan = &Plan{}
	p.keys(map[string]func(){
		"pipeline": func() { p.m.Plan.Pipeline = p.natural() },
		"threads":  func() { p.m.Plan.Threads = p.natural() },
		"cut":      p.cut,
	})
	p.block(map[string]func(){"arena": p.arena, "func": p.funcPlan})
}

func (p *parser) cut() {
	if at := p.tok; p.ident("clock") != "clock" {
		p.errorAt(at, "unexpected %s: the clock alone cuts searches", at)
	}
	p.m.Plan.Cut = true
}

// block parses lines in braces, each of which begins with one of the keywords.
func (p *parser) block(lines map[string]func()) {
	p.expect("{")
	p.endLine()
	for !p.stop() && !p.at("}") {
		read := lines[p.tok.text]
		if p.tok.kind != tokWord || read == nil {
			p.errorf("unexpected %s", p.tok)
		} else {
			p.next()
			read()
		}
		p.endLine()
	}
	p.expect("}")
}

func (p *parser) arena() {
	a := Arena{Space: p.word("a space")}
	at := p.tok
	class, ok := ParseClass(p.ident("a class of arenas"))
	if !ok {
		p.errorAt(at, "unknown class %s: the known ones are %s", at, strings.Join(classNames[:], ", "))
	}
	a.Class = class
	p.keys(map[string]func(){
		"align":  func() { a.Align = p.size() },
		"chunks": func() { a.Chunks = p.sizes() },
		"bound":  func() { a.Bound = p.size() },
		"func":   func() { a.BoundFunc = p.str("a name in quotes") },
		"setters": func() {
			a.Setters = p.texts()
		},
	})
	p.m.Plan.Arenas = append(p.m.Plan.Arenas, a)
}

// keys parses name=value pairs to the end of the line or a punctuation mark.
func (p *parser) keys(read map[string]func()) {
	for !p.lineFailed() && p.tok.kind == tokWord {
		at := p.tok
		name := p.ident("a key")
		p.expect("=")
		if read[name] == nil {
			p.errorAt(at, "unknown key %s", name)
			return
		}
		read[name]()
	}
}

func (p *parser) sizes() []int64 {
	var ns []int64
	p.expect("[")
	if p.accept("]") {
		return ns
	}
	p.list(func() { ns = append(ns, p.size()) })
	p.expect("]")
	return ns
}

func (p *parser) texts() []string {
	var ts []string
	p.expect("[")
	if p.accept("]") {
		return ts
	}
	p.list(func() { ts = append(ts, p.str("a name in quotes")) })
	p.expect("]")
	return ts
}

func (p *parser) funcPlan() {
	fp := FuncPlan{Func: p.str("a function's name in quotes")}
	p.keys(map[string]func(){
		"barriers": func() { fp.Barriers = p.size() },
		"nodes":    func() { fp.Nodes = p.size() },
		"parts":    func() { fp.MaxParts = p.size() },
	})
	p.block(map[string]func(){"split": func() {
		s := Split{Backend: p.take(tokAt, "@ and a backend")}
		p.keys(map[string]func(){"inputs": func() { s.Inputs = p.texts() }})
		if p.at(";") {
			s.Cause = p.cause()
		}
		fp.Splits = append(fp.Splits, s)
	}})
	p.m.Plan.Funcs = append(p.m.Plan.Funcs, fp)
}
