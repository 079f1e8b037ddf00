package ir

import "strings"

// Parsing of functions and nodes.

// maxBodyDepth bounds the nesting of bodies.
const maxBodyDepth = 8

// entry parses an entry point after its keyword.
func (p *parser) entry() {
	at := p.tok
	f := p.function()
	if f == nil {
		return
	}
	if p.m.Func(f.Name) != nil {
		p.errorAt(at, "function @%s is defined twice", f.Name)
	}
	p.m.Funcs = append(p.m.Funcs, f)
}

// function parses a function from its name to the closing brace; nil if its head is wrong.
func (p *parser) function() *Func {
	outer, outerValues := p.f, p.values
	defer func() { p.f, p.values = outer, outerValues }()

	f := p.m.NewBody(p.take(tokAt, "@ and the function's name"))
	p.f, p.values = f, make(map[string]*Value)
	p.params()
	declared := p.resultTypes()
	p.keys(map[string]func(){
		"doc":      func() { f.Doc = p.str("a text in quotes") },
		"observed": func() { f.Observed = p.texts() },
		"epochs":   func() { f.Epochs = p.natural() },
		"head":     func() { p.expect("barrier"); f.HeadBarrier = true },
	})
	p.expect("{")
	if p.bad {
		p.skipBody()
		return nil
	}
	p.endLine()
	for !p.stop() && p.accept("parts") {
		p.parts()
		p.endLine()
	}
	for !p.stop() && !p.at("}") && !p.at("return") {
		p.node()
		p.endLine()
	}
	p.returns(declared)
	p.endLine()
	p.expect("}")
	return f
}

// skipBody skips a function whose head is wrong, up to the line that is only a closing brace, so that
// its lines are not parsed as top-level ones.
func (p *parser) skipBody() {
	if i := strings.Index(p.lex.src[p.tok.start:], "\n}"); i >= 0 {
		p.lex.pos = p.tok.start + i + 2
		p.tok = p.lex.next()
		return
	}
	p.lex.pos = len(p.lex.src)
	p.tok = p.lex.next()
}

func (p *parser) params() {
	p.expect("(")
	if p.accept(")") {
		return
	}
	p.list(func() {
		at := p.tok
		name := p.take(tokValue, "a parameter")
		p.expect(":")
		t := p.spacedType()
		var place *Place
		if p.accept("at") {
			place = p.place()
		}
		if p.bad || !p.free(at, name) {
			return
		}
		v := p.f.AddParam(name, t)
		v.Place = place
		p.values[name] = v
	})
	p.expect(")")
}

// free reports whether the name may be given to a value of the function.
func (p *parser) free(at token, name string) bool {
	if p.values[name] != nil {
		p.errorAt(at, "%%%s is defined twice", name)
		return false
	}
	if name == "" {
		p.errorAt(at, "a value needs a name")
		return false
	}
	return true
}

// result is a result as declared in the head of a function.
type result struct {
	name string
	typ  Type
	at   token
}

// resultTypes parses the results in the head of a function; nil if it has none.
func (p *parser) resultTypes() []result {
	rs := []result{}
	if !p.accept("->") {
		return nil
	}
	if !p.accept("(") {
		at := p.tok
		return append(rs, result{typ: p.typ(), at: at})
	}
	if p.accept(")") {
		return rs
	}
	p.list(func() {
		r := result{at: p.tok}
		rest := p.lex
		if t := rest.next(); t.kind == tokPunct && t.text == ":" {
			r.name = p.word("a result's name")
			p.expect(":")
		}
		r.typ = p.typ()
		rs = append(rs, r)
	})
	p.expect(")")
	return rs
}

// returns parses the return line and compares it with the head.
func (p *parser) returns(declared []result) {
	at := p.tok
	p.expect("return")
	for !p.lineFailed() && p.tok.kind == tokValue {
		v := p.value()
		if v == nil {
			return
		}
		name := ""
		if i := len(p.f.Results); i < len(declared) {
			name = declared[i].name
			if !declared[i].typ.SameData(v.Type) {
				p.errorAt(declared[i].at, "result %d is declared as %v, %v is %v", i, declared[i].typ, v, v.Type)
			}
		}
		p.f.AddResult(name, v)
		if !p.accept(",") {
			break
		}
	}
	if declared != nil && len(declared) != len(p.f.Results) {
		p.errorAt(at, "returns %s, the function declares %d", count(len(p.f.Results), "value"), len(declared))
	}
}

// value parses the name of a value that is already defined.
func (p *parser) value() *Value {
	at := p.tok
	name := p.take(tokValue, "a value")
	if p.bad {
		return nil
	}
	v := p.values[name]
	if v == nil {
		p.errorAt(at, "%%%s is not defined before this line", name)
	}
	return v
}

// line is a parsed node before it is created.
type line struct {
	at    token
	names []token
	op    Op
	attr  any
	args  []*Value
	types []Type // nil if they are to be inferred
}

// node parses a node and the body that may follow it.
func (p *parser) node() {
	l := line{at: p.tok}
	if p.tok.kind == tokValue {
		p.list(func() {
			l.names = append(l.names, p.tok)
			p.take(tokValue, "a value")
		})
		p.expect("=")
	}
	p.operation(&l)
	n := p.f.nodeSlab.next()
	*n = Node{Op: l.op, Func: p.f, Args: l.args, Attr: l.attr, Split: -1}
	places, state := p.tail(n)
	for !p.bad && p.at(";") {
		n.Cause(p.cause())
	}
	if p.tok.kind != tokNewline && p.tok.kind != tokEOF {
		p.errorf("unexpected %s", p.tok)
	}
	if p.bad {
		return
	}
	if n.Op.Info().Traits&HasBody != 0 {
		n.Body = p.body()
	}
	p.define(&l, n, places)
	if r := n.Result(); !p.bad && state.Kind != ShardNone && r != nil {
		r.SetSharding(state)
	}
}

// operation parses op, attributes, operands and types.
func (p *parser) operation(l *line) {
	at := p.tok
	name := p.ident("an operation")
	op, ok := OpByName(name)
	if !ok {
		p.errorAt(at, "unknown operation %s", name)
		return
	}
	l.op, l.attr = op, NewAttr(op)
	p.parsePositional(op, l.attr)
	if p.tok.kind == tokValue || p.at("_") {
		p.list(func() {
			if p.accept("_") {
				l.args = append(l.args, nil)
				return
			}
			l.args = append(l.args, p.value())
		})
		for len(l.args) > 0 && l.args[len(l.args)-1] == nil && mayEndBefore(op, len(l.args)-1) {
			l.args = l.args[:len(l.args)-1]
		}
	}
	p.parseAttrs(op, l.attr)
	if p.accept(":") {
		l.types = []Type{}
		p.list(func() { l.types = append(l.types, p.resultType(op)) })
	}
}

// mayEndBefore reports whether the operands of an op may end before operand i: it is optional.
func mayEndBefore(op Op, i int) bool {
	args := op.Info().Args
	return i < len(args) && args[i].Optional
}

// resultType parses the type of a node's result with its space.
func (p *parser) resultType(op Op) Type {
	if op.Info().Traits&Leaf != 0 {
		return p.spacedType()
	}
	t := p.typ()
	if p.accept("in") {
		t.Space = p.word("a space")
	}
	return t
}

// tail parses the decisions of passes about a node.
func (p *parser) tail(n *Node) (places []*Place, state Sharding) {
	read := map[string]func(){
		"backend":    func() { n.Backend = p.word("a backend") },
		"split":      func() { n.Split = p.natural() },
		"epoch":      func() { n.Epoch = p.natural() },
		"part":       func() { n.Part = p.partition() },
		"shard":      func() { state = p.sharding() },
		"pos":        func() { n.Pos = p.str("a text in quotes") },
		"queue":      func() { n.Submitted().Queue = p.word("a queue") },
		"slots":      func() { n.Submitted().Slots = p.natural() },
		"event":      func() { n.Submitted().Event = p.natural() },
		"within":     func() { n.Submitted().Within = p.partition() },
		"concurrent": func() { n.Submitted().Concurrent = p.boolean() },
		"wait":       func() { p.waits(n.Submitted(), Wait{}) },
		"waitprev":   func() { p.waits(n.Submitted(), Wait{Prev: true}) },
	}
	for !p.lineFailed() {
		switch {
		case p.tok.kind == tokAt:
			n.Backend = p.take(tokAt, "a backend")
		case p.accept("at"):
			p.list(func() { places = append(places, p.place()) })
		case p.tok.kind == tokWord:
			at := p.tok
			name := p.ident("a key")
			if read[name] == nil {
				p.errorAt(at, "unknown key %s: the known ones are backend, split, epoch, part, queue, slots, within, concurrent, wait, waitprev, event, shard, pos and at", name)
				return nil, state
			}
			p.expect("=")
			read[name]()
		default:
			return places, state
		}
	}
	return places, state
}

// waits parses a list of events and appends w for each of them.
func (p *parser) waits(s *Submission, w Wait) {
	for _, e := range p.sizes() {
		w.Event = int(e)
		s.Waits = append(s.Waits, w)
	}
}

func (p *parser) partition() Partition {
	var part Partition
	switch {
	case p.accept("one"):
		part.Mode = PartOne
	case p.accept("replicated"):
		part.Mode = PartReplicated
	default:
		part.Mode = PartSplit
		p.expect("split")
		p.expect("(")
		part.Axis = p.natural()
		p.expect(",")
		part.N = p.dim()
		p.expect(",")
		part.Granule = p.integer()
		if p.accept(",") {
			p.expect("dynamic")
			part.Dynamic = true
		}
		p.expect(")")
	}
	return part
}

// cause parses a cause with the semicolon before it.
func (p *parser) cause() Cause {
	var c Cause
	p.expect(";")
	c.Rule = p.hyphened()
	if !p.bad && p.at("/") {
		p.next()
		c.Pass, c.Rule = c.Rule, p.hyphened()
	}
	for !p.lineFailed() && !p.at(";") && !p.at("was") && !p.at("now") && p.tok.kind != tokNewline {
		c.Operands = append(c.Operands, p.causeOperand())
	}
	if p.accept("was") {
		c.Before = p.str("a text in quotes")
	}
	if p.accept("now") {
		c.After = p.str("a text in quotes")
	}
	return c
}

func (p *parser) causeOperand() string {
	switch p.tok.kind {
	case tokValue:
		return "%" + p.take(tokValue, "a value")
	case tokAt:
		return "@" + p.take(tokAt, "a name")
	}
	return p.hyphened()
}

// hyphened parses a text in quotes, or words joined by - without blanks, such as norm-scale.
func (p *parser) hyphened() string {
	if p.tok.kind == tokString {
		return p.str("a name")
	}
	text := p.ident("a name")
	for !p.lineFailed() && p.at("-") && p.tok.start == p.last {
		p.next()
		if p.tok.start != p.last || p.tok.kind != tokWord {
			p.errorf("a name cannot end in -")
			break
		}
		text += "-" + p.ident("a name")
	}
	return text
}

// body parses the body that must follow on its own line.
func (p *parser) body() *Func {
	p.endLine()
	if !p.accept("body") {
		p.errorf("%s where the body of the node before is expected", p.tok)
		return nil
	}
	if p.bodies >= maxBodyDepth {
		p.errorf("bodies are nested more than %d deep", maxBodyDepth)
		return nil
	}
	p.bodies++
	defer func() { p.bodies-- }()
	return p.function()
}

// define creates the node's results and appends it to the function.
func (p *parser) define(l *line, n *Node, places []*Place) {
	if p.bad {
		return
	}
	f := p.f
	n.ID = f.nextNode
	if n.Body != nil {
		n.Body.Owner = n
	}
	types := p.types(l, n)
	if p.bad || !p.checkNames(l, len(types), places) {
		return
	}
	f.nextNode++
	for i, t := range types {
		v := f.NewValue(l.names[i].text, t)
		v.Def, v.Index = n, i
		if places != nil {
			v.Place = places[i]
		}
		n.Results = append(n.Results, v)
		p.values[v.Name()] = v
	}
	f.Append(n)
}

// types returns the declared types of the results or, without any, the inferred ones.
func (p *parser) types(l *line, n *Node) []Type {
	if l.types == nil {
		types, err := Infer(n)
		if err != nil {
			p.errorAt(l.at, "%v", err)
		}
		return types
	}
	if !p.full && len(l.types) == 1 {
		p.declareLeaf(l, l.types[0])
	}
	return l.types
}

// declareLeaf declares a weight or state at its first node.
func (p *parser) declareLeaf(l *line, t Type) {
	switch a := l.attr.(type) {
	case *WeightAttr:
		if !p.weights[a.Name] {
			p.declareWeight(l.at, &Weight{Name: a.Name, Type: t})
		}
	case *StateAttr:
		if !p.states[a.Name] {
			p.declareState(l.at, &State{Name: a.Name, Type: t})
		}
	}
}

// checkNames checks the names of a node's results and the number of its places.
func (p *parser) checkNames(l *line, results int, places []*Place) bool {
	if len(l.names) != results {
		p.errorAt(l.at, "%v has %s, not %d", l.op, count(results, "result"), len(l.names))
		return false
	}
	if places != nil && len(places) != results {
		p.errorAt(l.at, "%d places for %s", len(places), count(results, "result"))
		return false
	}
	seen := make(map[string]bool)
	for _, t := range l.names {
		if !p.free(t, t.text) {
			return false
		}
		if seen[t.text] {
			p.errorAt(t, "%%%s is defined twice", t.text)
			return false
		}
		seen[t.text] = true
	}
	return true
}
