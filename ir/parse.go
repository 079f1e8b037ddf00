package ir

import (
	"errors"
	"fmt"
	"strings"
)

// FormatVersion is the version of the text form that Print writes and Parse reads.
const FormatVersion = 1

// Parse parses the text form of a module. Errors are joined and located as name:line:column. It
// accepts any bytes without panicking. It checks syntax and types; Verify checks the other invariants.
//
// A text is a sequence of lines. Blanks separate words; // begins a comment. Names after % and @
// consist of letters, digits and _ . - and are in quotes otherwise, as in %"a b". Texts in quotes
// have Go's escapes.
//
//	module  = [ "ggir" "1" ] { head | weight | state | func | plan }
//	head    = "module" TEXT | "after" TEXT | "props" NAME { "," NAME }
//	        | "source" NAME TEXT SIZE [ HASH ]
//	        | "symbol" NAME MIN MAX
//	        | "language" "prefill=" entry "decode=" entry
//	          [ "embeddings=" POOLING "(" "hidden=" N ")" ] [ "tokenizer=" SOURCE ]
//	        | "encoder" "embed=" "@"NAME "(" { ROLE "=" value "," } "hidden=" N [ "," "scores=" N ] ")"
//	          [ "pooling=" POOLING ] [ "tokenizer=" SOURCE ]
//	        | "meta" TEXT TEXT
//	        | "target" REST | "option" REST | "header" TEXT TEXT
//	entry   = "@"NAME "(" { ROLE "=" value "," } "logits=" N ")" // N counts results from 0
//	ROLE    = "tokens" | "pos" | "slot" | "lengths" | "last"
//	weight  = "weight" TEXT ":" type [ "@" SPACE ] [ "=" expr ] [ "at" place ]
//	expr    = NAME "[" TEXT "]" | "concat" "(" expr { "," expr } ")"
//	        | "quantize" "(" expr "," NAME ")" | "pack" "(" expr "," NAME ")"
//	        | "literal" HEX | "file" TEXT
//	state   = "state" TEXT ":" type [ "@" SPACE ] [ "at" place ]
//
//	func    = "func" "@"NAME "(" [ param { "," param } ] ")" [ "->" results ]
//	          { "doc=" TEXT | "epochs=" N | "head=barrier" } "{" { node } "return" [ value { "," value } ] "}"
//	param   = value ":" type [ "@" SPACE ] [ "at" place ]
//	results = type | "(" [ [ NAME ":" ] type { "," … } ] ")"
//	node    = [ value { "," value } "=" ] OP [ positional ] [ operand { "," operand } ]
//	          [ "{" NAME "=" attribute { "," … } "}" ] [ ":" rtype { "," rtype } ]
//	          { tail } { ";" cause } [ NEWLINE body ]
//	operand = value | "_"                                      // _ is an absent operand
//	rtype   = type [ "in" SPACE ]
//	tail    = "@"BACKEND | "backend=" NAME | "split=" N | "epoch=" N | "part=" part | "pos=" TEXT
//	        | "at" place { "," place }                         // one for each result
//	part    = "one" | "replicated" | "split" "(" AXIS "," dim "," GRANULE [ "," "dynamic" ] ")"
//	cause   = [ PASS "/" ] RULE { WORD | value | "@"NAME | TEXT } [ "was" TEXT ] [ "now" TEXT ]
//	plan    = "plan" { "pipeline=" N | "threads=" N | "cut=clock" } "{" … "}"
//	body    = "body" …                                         // as func
//
//	type    = DTYPE [ "." LAYOUT ] "[" [ dims ] [ "strides" dims ] "]"
//	dim     = sums, differences, products, floor divisions, min(a, b), max(a, b) of
//	          numbers and symbols
//	place   = ARENA [ "." CHUNK ] ":" HEXOFFSET "+" BYTES | "-"
//
// After the type of a parameter, weight, state or leaf node, @name is the space. On any other node it
// is the backend, and the space of a result is written "in SPACE".
//
// Result types that the op's shape rule infers may be omitted. In a text without the line "ggir 1", as
// in tests, these may be omitted too: the declarations of weights and states whose nodes have a type,
// and "props", which is "imported" then.
func Parse(name string, text []byte) (*Module, error) {
	p := newParser(name, text)
	if p.blank() {
		p.errorf("there is no text: a module begins with ggir %d", FormatVersion)
	}
	p.module()
	p.resolveLanguage()
	if p.failed() {
		return nil, p.err()
	}
	return p.m, nil
}

// maxErrors is the number of errors after which reading stops.
const maxErrors = 20

// parser parses statements line by line. An error skips the rest of its line.
type parser struct {
	file string
	lex  lexer
	tok  token
	last int  // where the token before tok ends
	bad  bool // the line has an error; the rest of it is skipped
	errs []error

	depth  int // of brackets in dimensions and expressions
	bodies int // around the current line

	m       *Module
	full    bool // the text has the line "ggir 1"
	weights map[string]bool
	states  map[string]bool
	roles   []roleText // of the line language; its functions may follow it
	f       *Func
	values  map[string]*Value // of f
}

func newParser(file string, text []byte) *parser {
	p := &parser{
		file: file, lex: lexer{src: string(text)},
		m:       &Module{Props: PropImported},
		weights: make(map[string]bool), states: make(map[string]bool),
	}
	p.next()
	return p
}

// blank skips newlines and reports whether the text ends after them.
func (p *parser) blank() bool {
	for p.tok.kind == tokNewline {
		p.next()
	}
	return p.tok.kind == tokEOF
}

func (p *parser) failed() bool     { return len(p.errs) > 0 }
func (p *parser) err() error       { return errors.Join(p.errs...) }
func (p *parser) lineFailed() bool { return p.bad || p.tok.kind == tokEOF }

func (p *parser) next() {
	p.last = p.tok.end
	p.tok = p.lex.next()
	if p.tok.kind == tokBad {
		p.errorf("%s", p.tok.text)
	}
}

// errorf records an error at the current token.
func (p *parser) errorf(format string, args ...any) { p.errorAt(p.tok, format, args...) }

// errorAt records an error unless the line already has one, as it would be a consequence.
func (p *parser) errorAt(t token, format string, args ...any) {
	if p.bad {
		return
	}
	p.bad = true
	before := p.lex.src[:t.start]
	line := strings.Count(before, "\n") + 1
	col := t.start - strings.LastIndexByte(before, '\n')
	p.errs = append(p.errs, fmt.Errorf("%s:%d:%d: %s", p.file, line, col, fmt.Sprintf(format, args...)))
}

// stop reports whether parsing has to stop: at the end of the text or after too many errors.
func (p *parser) stop() bool { return p.tok.kind == tokEOF || len(p.errs) >= maxErrors }

// endLine ends a statement. The line must end here; after an error the rest is skipped.
func (p *parser) endLine() {
	if !p.bad && p.tok.kind != tokNewline && p.tok.kind != tokEOF {
		p.errorf("unexpected %s", p.tok)
	}
	if p.bad && p.tok.kind != tokNewline {
		p.lex.skipLine()
		p.tok = p.lex.next()
	}
	p.bad = false
	for p.tok.kind == tokNewline {
		p.next()
	}
}

// String returns the token as errors show it.
func (t token) String() string {
	switch t.kind {
	case tokEOF:
		return "end of text"
	case tokNewline, tokBad:
		return t.text
	case tokString:
		return quote(t.text)
	case tokValue:
		return "%" + quoteName(t.text)
	case tokAt:
		return "@" + quoteName(t.text)
	}
	return t.text
}

func (p *parser) at(text string) bool {
	return (p.tok.kind == tokPunct || p.tok.kind == tokWord) && p.tok.text == text
}

func (p *parser) accept(text string) bool {
	if p.bad || !p.at(text) {
		return false
	}
	p.next()
	return true
}

func (p *parser) expect(text string) {
	if !p.bad && !p.accept(text) {
		p.errorf("%s where %s is expected", p.tok, text)
	}
}

// take returns the text of the current token, which must be of that kind.
func (p *parser) take(kind tokKind, what string) string {
	if p.bad {
		return ""
	}
	if p.tok.kind != kind {
		p.errorf("%s where %s is expected", p.tok, what)
		return ""
	}
	text := p.tok.text
	p.next()
	return text
}

func (p *parser) str(what string) string   { return p.take(tokString, what) }
func (p *parser) ident(what string) string { return p.take(tokWord, what) }

// word returns a word or a text in quotes.
func (p *parser) word(what string) string {
	if p.tok.kind == tokString {
		return p.str(what)
	}
	return p.ident(what)
}

// list parses items separated by commas.
func (p *parser) list(item func()) {
	for item(); !p.bad && p.accept(","); {
		item()
	}
}

// nested calls read one level deeper, up to a limit that protects the stack.
func (p *parser) nested(limit int, read func()) {
	if p.depth >= limit {
		p.errorf("nested more than %d deep", limit)
		return
	}
	p.depth++
	read()
	p.depth--
}
