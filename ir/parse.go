package ir

import (
	"errors"
	"fmt"
	"strings"
)

// FormatVersion is the version of the text form that Print writes and Parse reads.
const FormatVersion = 1

// Parse reads the text form of a module; name stands for the text in errors, which are
// joined and located as name:line:column. It accepts any bytes without panicking; that a
// module is well formed beyond its syntax and types is for Verify to say.
//
// A text is a sequence of lines; blanks separate words, // begins a comment. Names after
// % and @ consist of letters, digits and _ . - and stand in quotes otherwise, as in
// %"a b". Texts in quotes have Go's escapes.
//
//	module  = [ "ggir" "1" ] { head | weight | state | func | plan }
//	head    = "module" TEXT | "after" TEXT | "props" NAME { "," NAME }
//	        | "source" NAME TEXT SIZE [ HASH ]
//	        | "symbol" NAME MIN MAX
//	        | "language" "prefill=" entry "decode=" entry [ "tokenizer=" SOURCE ]
//	        | "meta" TEXT TEXT
//	        | "target" REST | "option" REST | "header" TEXT TEXT
//	entry   = "@"NAME "(" { ROLE "=" value "," } "logits=" N ")" // ROLE is tokens, pos, slot or lengths; N counts results from 0
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
//	part    = "one" | "each" | "split" "(" AXIS "," dim "," GRANULE ")"
//	cause   = [ PASS "/" ] RULE { WORD | value | "@"NAME | TEXT } [ "was" TEXT ] [ "now" TEXT ]
//	plan    = "plan" { "pipeline=" N | "threads=" N | "cut=clock" } "{" … "}"
//	body    = "body" …                                         // as func
//
//	type    = DTYPE [ "." LAYOUT ] "[" [ dims ] [ "strides" dims ] "]"
//	dim     = sums, differences, products, floor divisions, min(a, b), max(a, b) of
//	          numbers and symbols
//	place   = ARENA [ "." CHUNK ] ":" HEXOFFSET "+" BYTES | "-"
//
// After the type of a parameter, weight, state or leaf node, @name is the space; on any
// other node it is the backend, and the space of a result is written "in SPACE".
//
// What can be derived may be left out: result types that the op's rule infers; and in a
// text without the line "ggir 1", as tests write it, the declarations of weights and
// states whose nodes carry a type, and "props", which is then "imported".
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

// parser reads statements line by line: an error skips the rest of its line.
type parser struct {
	file string
	lex  lexer
	tok  token
	last int  // where the token before tok ends
	bad  bool // the line has an error; what follows in it is skipped
	errs []error

	depth  int // of brackets in dimensions and expressions
	bodies int // that the current line stands in

	m       *Module
	full    bool // the text has the line "ggir 1"
	weights map[string]bool
	states  map[string]bool
	roles   []roleText // of the line language, whose functions may follow it
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

// blank reports whether nothing but blanks, comments and line ends follows; it skips the
// line ends.
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

// errorAt records an error, unless the line has one already: it would follow from that.
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

// stop reports whether there is no use in reading on.
func (p *parser) stop() bool { return p.tok.kind == tokEOF || len(p.errs) >= maxErrors }

// endLine ends a statement: the line must end here, or is skipped after an error.
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

// String returns a token as errors show it.
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

// word is a word, or a text in quotes in its place.
func (p *parser) word(what string) string {
	if p.tok.kind == tokString {
		return p.str(what)
	}
	return p.ident(what)
}

// list reads items with commas between them.
func (p *parser) list(item func()) {
	for item(); !p.bad && p.accept(","); {
		item()
	}
}

// nested runs read one level deeper, which hostile texts must not do without end.
func (p *parser) nested(limit int, read func()) {
	if p.depth >= limit {
		p.errorf("nested more than %d deep", limit)
		return
	}
	p.depth++
	read()
	p.depth--
}
