package ptx

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// module is PTX text that was read.
type module struct {
	version version
	target  string
	entries []*entry
}

// version is that of the language.
type version struct{ major, minor int }

func (v version) String() string { return fmt.Sprintf("%d.%d", v.major, v.minor) }

func (v version) less(w version) bool {
	return v.major < w.major || v.major == w.major && v.minor < w.minor
}

// entry is a kernel.
type entry struct {
	name       string
	params     map[string]variable
	paramNames []string
	threads    []int             // of .reqntid, empty without
	registers  map[string]string // types by name
	shared     map[string]variable
	statements []statement
	labels     map[string]int // index of the statement that follows
	lines      map[string]int // of labels
	end        int            // line of the closing brace
}

// variable is a parameter or an array in shared memory.
type variable struct {
	typ          string
	align, bytes int
}

// statement is an instruction.
type statement struct {
	line     int
	guard    string // a predicate register, or empty
	negated  bool
	op       string // with modifiers and types
	operands []operand
}

// operand is a register or another name, an integer, an f32, an address in brackets, or a list in braces.
type operand struct {
	form   operandForm
	name   string
	value  uint64 // bits of an integer or an f32, offset of an address
	signed bool   // the integer is negative
	list   []operand
}

type operandForm uint8

const (
	nameOperand operandForm = iota
	intOperand
	floatOperand
	addressOperand
	listOperand
)

// parser reads tokens. The first fault ends it, with a panic that parse recovers.
type parser struct {
	tokens []token
	words  map[string]bool // mnemonics, which name nothing else
	found  []error         // faults after which the text is still readable
}

type syntaxError struct{ error }

// parse reads the text of a module.
func parse(text string) (m *module, err error) {
	tokens, err := scan(text)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens, words: mnemonics()}
	defer func() {
		if fault, ok := recover().(syntaxError); ok {
			m, err = nil, errors.Join(append(p.found, fault.error)...)
		}
	}()
	m = p.module()
	return m, errors.Join(p.found...)
}

func (p *parser) peek() token { return p.tokens[0] }

func (p *parser) next() token {
	t := p.tokens[0]
	if t.text != "" {
		p.tokens = p.tokens[1:]
	}
	return t
}

func (p *parser) fail(t token, format string, args ...any) {
	panic(syntaxError{fault(t.line, format, args...)})
}

// report notes a fault that leaves the text readable.
func (p *parser) report(t token, format string, args ...any) {
	p.found = append(p.found, fault(t.line, format, args...))
}

func fault(line int, format string, args ...any) error {
	return fmt.Errorf("ptx: line %d: %s", line, fmt.Sprintf(format, args...))
}

// accept reads the token if it is next.
func (p *parser) accept(text string) bool {
	if p.peek().text != text {
		return false
	}
	p.next()
	return true
}

func (p *parser) expect(text string) token {
	t := p.next()
	if t.text != text {
		p.fail(t, "%q instead of %q", t.text, text)
	}
	return t
}

// identifier reads a name of the user's (4.4).
func (p *parser) identifier() string {
	t := p.next()
	if !t.isWord() || strings.Contains(t.text, ".") || len(t.text) == 1 && strings.Contains("_$%", t.text) {
		p.fail(t, "%q instead of a name", t.text)
	}
	return t.text
}

// integer reads a number without sign.
func (p *parser) integer() int {
	t := p.next()
	n, err := strconv.ParseUint(t.text, 0, 31)
	if err != nil {
		p.fail(t, "%q instead of a number", t.text)
	}
	return int(n)
}

// module reads .version and .target, in this order (11.1), and the entries.
func (p *parser) module() *module {
	m := new(module)
	p.expect(".version")
	t := p.next()
	if _, err := fmt.Sscanf(t.text, "%d.%d", &m.version.major, &m.version.minor); err != nil || m.version.String() != t.text {
		p.fail(t, "%q is no version", t.text)
	}
	p.expect(".target")
	m.target = p.identifier()
	p.expect(".address_size")
	if t := p.next(); t.text != "64" {
		p.fail(t, "addresses of %q bits: 64 are checked", t.text)
	}
	for p.peek().text != "" {
		t, e := p.peek(), p.entry()
		if slices.ContainsFunc(m.entries, func(other *entry) bool { return other.name == e.name }) {
			p.report(t, "%s is declared twice", e.name)
		}
		m.entries = append(m.entries, e)
	}
	return m
}

func (p *parser) entry() *entry {
	p.accept(".visible")
	p.expect(".entry")
	t := p.peek()
	e := &entry{params: make(map[string]variable), registers: make(map[string]string),
		shared: make(map[string]variable), labels: make(map[string]int), lines: make(map[string]int)}
	name := p.identifier()
	p.unique(t, e, name)
	e.name = name
	p.expect("(")
	for p.peek().text != ")" {
		if len(e.params) > 0 {
			p.expect(",")
		}
		p.param(e)
	}
	p.expect(")")
	if p.accept(".reqntid") {
		for e.threads = append(e.threads, p.integer()); p.accept(","); {
			e.threads = append(e.threads, p.integer())
		}
	}
	p.expect("{")
	for p.peek().text != "}" {
		p.statement(e)
	}
	e.end = p.next().line
	return e
}

// param reads a parameter (5.1.6.1).
func (p *parser) param(e *entry) {
	t := p.expect(".param")
	typ := p.typ()
	if typ == "pred" {
		p.fail(t, "a parameter is no predicate")
	}
	name := p.identifier()
	p.unique(t, e, name)
	e.params[name] = variable{typ, sizes[typ] / 8, sizes[typ] / 8}
	e.paramNames = append(e.paramNames, name)
}

// typ reads a fundamental type (5.2.1).
func (p *parser) typ() string {
	t := p.next()
	name, dot := strings.CutPrefix(t.text, ".")
	if sizes[name] == 0 || !dot {
		p.fail(t, "%q is no type", t.text)
	}
	return name
}

// unique reports a name that the entry has already.
func (p *parser) unique(t token, e *entry, name string) {
	_, isParam := e.params[name]
	_, isShared := e.shared[name]
	_, isLabel := e.labels[name]
	if isParam || isShared || isLabel || e.registers[name] != "" || name == e.name {
		p.report(t, "%s is declared twice", name)
	}
	if specials[name] || specials[name+".x"] || p.words[name] {
		p.report(t, "%s is a word of the language", name)
	}
}

// statement reads a declaration, a label or an instruction.
func (p *parser) statement(e *entry) {
	t := p.peek()
	switch {
	case t.text == ".reg":
		p.register(e)
	case t.text == ".shared":
		p.sharedArray(e)
	case len(p.tokens) > 1 && p.tokens[1].text == ":":
		name := p.identifier()
		p.unique(t, e, name)
		p.expect(":")
		e.labels[name], e.lines[name] = len(e.statements), t.line
	default:
		e.statements = append(e.statements, p.instruction())
	}
}

// maxRegisters is the greatest <n> of a declaration.
const maxRegisters = 1 << 20

// register reads a declaration of one register, or of as many as <n> states (5.4.6).
func (p *parser) register(e *entry) {
	t := p.expect(".reg")
	typ, name := p.typ(), p.identifier()
	if strings.HasSuffix(typ, "8") {
		p.report(t, "registers of 8 bits have few uses (5.2.2)")
	}
	names := []string{name}
	if p.accept("<") {
		names = nil
		count := p.integer()
		if count > maxRegisters {
			p.fail(t, "%d registers: %d at most are checked", count, maxRegisters)
		}
		for n := range count {
			names = append(names, name+strconv.Itoa(n))
		}
		p.expect(">")
	}
	p.expect(";")
	for _, name := range names {
		p.unique(t, e, name)
		e.registers[name] = typ
	}
}

// sharedArray reads a declaration in shared memory (5.1.7, 5.4.3, 5.4.5).
func (p *parser) sharedArray(e *entry) {
	t := p.expect(".shared")
	align := 0
	if p.accept(".align") {
		align = p.integer()
		if align == 0 || align&(align-1) != 0 {
			p.report(t, "%d is no power of 2", align)
		}
	}
	typ, name := p.typ(), p.identifier()
	p.expect("[")
	n := p.integer()
	p.expect("]")
	p.expect(";")
	p.unique(t, e, name)
	if n == 0 || typ == "pred" {
		p.report(t, "%s has no bytes", name)
	}
	e.shared[name] = variable{typ, max(align, sizes[typ]/8, 1), n * sizes[typ] / 8}
}

// instruction reads an instruction, which may have a guard (9.3).
func (p *parser) instruction() statement {
	s := statement{line: p.peek().line}
	if p.accept("@") {
		s.negated = p.accept("!")
		s.guard = p.identifier()
	}
	t := p.next()
	if !t.isWord() || t.text[0] == '.' || t.text[0] == '%' {
		p.fail(t, "%q instead of an instruction", t.text)
	}
	s.op = t.text
	for p.peek().text != ";" {
		if len(s.operands) > 0 {
			p.expect(",")
		}
		s.operands = append(s.operands, p.operand())
	}
	p.expect(";")
	return s
}

func (p *parser) operand() operand {
	t := p.peek()
	switch {
	case p.accept("{"):
		o := operand{form: listOperand, list: []operand{p.operand()}}
		for p.accept(",") {
			o.list = append(o.list, p.operand())
		}
		p.expect("}")
		return o
	case p.accept("["):
		o := operand{form: addressOperand, name: p.identifier()}
		if p.accept("+") {
			o.value = uint64(p.integer())
		}
		p.expect("]")
		return o
	case t.text == "-" || t.isNumber():
		return p.constant()
	case t.isWord() && t.text[0] != '.':
		return operand{name: p.next().text}
	}
	p.fail(t, "%q instead of an operand", t.text)
	return operand{}
}

// constant reads an integer, or an f32 as its bits (4.6, 4.6.1).
func (p *parser) constant() operand {
	negative := p.accept("-")
	t := p.next()
	if digits, ok := strings.CutPrefix(strings.ToLower(t.text), "0f"); ok && len(digits) == 8 && !negative {
		if bits, err := strconv.ParseUint(digits, 16, 32); err == nil {
			return operand{form: floatOperand, value: bits}
		}
	}
	n, err := strconv.ParseUint(t.text, 0, 64)
	if err != nil {
		p.fail(t, "%q is no constant", t.text)
	}
	if negative {
		return operand{form: intOperand, value: -n, signed: true}
	}
	return operand{form: intOperand, value: n}
}
