package jinja

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is a kind of token.
type kind uint8

const (
	kindEnd      kind = iota
	kindData          // text outside of tags
	kindBlock         // {%
	kindBlockEnd      // %}
	kindPrint         // {{
	kindPrintEnd      // }}
	kindName
	kindString
	kindInt
	kindFloat
	kindOperator
)

// lexeme is a token of a template. The text of a string is its value.
type lexeme struct {
	kind kind
	text string
	at   int // byte in the source
}

func (t lexeme) String() string {
	switch t.kind {
	case kindEnd:
		return "the end of the template"
	case kindData:
		return "text"
	case kindBlockEnd:
		return "%}"
	case kindPrintEnd:
		return "}}"
	}
	return fmt.Sprintf("%q", t.text)
}

// lexer cuts a template into tokens. Its rules for white space are those of jinja2 with trim_blocks (a newline after
// a block or comment is dropped) and lstrip_blocks (blanks between the beginning of a line and a block or comment are
// dropped); a minus sign drops all white space at that side, a plus sign keeps it.
type lexer struct {
	src       string
	at        int
	lineStart bool // what was read last ends with a newline, or nothing was read
	brackets  []byte
	tokens    []lexeme
}

// lex returns the tokens of a source, which ends with one of kindEnd.
func lex(src string) []lexeme {
	l := &lexer{src: src, lineStart: true}
	for l.at < len(src) {
		l.next()
	}
	l.add(kindEnd, "", len(src))
	return l.tokens
}

// newlines replaces other line ends by newlines and drops the last one, as jinja2 does.
func newlines(src string) string {
	if strings.Contains(src, "\r") {
		src = strings.ReplaceAll(strings.ReplaceAll(src, "\r\n", "\n"), "\r", "\n")
	}
	return strings.TrimSuffix(src, "\n")
}

func (l *lexer) fail(at int, format string, args ...any) {
	panic(stop{fault(l.src, at, fmt.Sprintf(format, args...))})
}

func (l *lexer) add(k kind, text string, at int) { l.tokens = append(l.tokens, lexeme{k, text, at}) }

// next reads text and the tag after it.
func (l *lexer) next() {
	begin := l.at + tagAt(l.src[l.at:])
	text := l.src[l.at:begin]
	if begin == len(l.src) {
		l.data(text, l.at)
		l.at = begin
		return
	}
	l.data(l.trimmed(text, begin), l.at)
	sign := l.sign(begin + 2)
	l.at = begin + 2 + len(sign)
	switch l.src[begin+1] {
	case '#':
		l.comment(begin)
	case '{':
		l.add(kindPrint, "{{", begin)
		l.code(kindPrintEnd, begin)
	default:
		if !l.raw(begin) {
			l.add(kindBlock, "{%", begin)
			l.code(kindBlockEnd, begin)
		}
	}
}

// data adds text, if there is any.
func (l *lexer) data(text string, at int) {
	if text != "" {
		l.add(kindData, text, at)
	}
}

// tagAt returns where the first tag begins, or the length of s.
func tagAt(s string) int {
	for i := 0; i+1 < len(s); i++ {
		if s[i] == '{' && (s[i+1] == '%' || s[i+1] == '{' || s[i+1] == '#') {
			return i
		}
	}
	return len(s)
}

// sign returns the minus or plus sign at a byte of the source, or nothing.
func (l *lexer) sign(at int) string {
	if at < len(l.src) && (l.src[at] == '-' || l.src[at] == '+') {
		return l.src[at : at+1]
	}
	return ""
}

// trimmed returns the text before a tag without the white space that the tag drops.
func (l *lexer) trimmed(text string, tag int) string {
	sign := l.sign(tag + 2)
	if sign == "-" {
		return strings.TrimRightFunc(text, isSpace)
	}
	if sign == "+" || l.src[tag+1] == '{' {
		return text
	}
	line := strings.LastIndexByte(text, '\n') + 1
	if (line > 0 || l.lineStart) && strings.TrimLeftFunc(text[line:], isSpace) == "" {
		return text[:line]
	}
	return text
}

// closing returns the length of the end of a tag at the present byte, with the white space that it drops: close with
// a sign or without.
func (l *lexer) closing(close string) int {
	rest := l.src[l.at:]
	switch {
	case strings.HasPrefix(rest, "-"+close):
		tail := rest[1+len(close):]
		return len(rest) - len(strings.TrimLeftFunc(tail, isSpace))
	case strings.HasPrefix(rest, "+"+close) && close != "}}":
		return 1 + len(close)
	case strings.HasPrefix(rest, close):
		if strings.HasPrefix(rest[len(close):], "\n") && close != "}}" {
			return len(close) + 1
		}
		return len(close)
	}
	return 0
}

// skip moves over n bytes that end a tag.
func (l *lexer) skip(n int) {
	l.at += n
	l.lineStart = l.src[l.at-1] == '\n'
}

func (l *lexer) comment(begin int) {
	for l.at < len(l.src) {
		if n := l.closing("#}"); n > 0 {
			l.skip(n)
			return
		}
		l.at++
	}
	l.fail(begin, "the comment has no end: write #}")
}

// raw reads {% raw %} … {% endraw %}. It reports whether there is one.
func (l *lexer) raw(begin int) bool {
	was := l.at
	if !l.word("raw") {
		l.at = was
		return false
	}
	n := l.closing("%}")
	if n == 0 || l.src[l.at] == '+' {
		l.at = was
		return false
	}
	if l.src[l.at] == '%' {
		n = len("%}") // the newline after it stays
	}
	l.skip(n)
	start := l.at
	for l.at < len(l.src) {
		tag := strings.Index(l.src[l.at:], "{%")
		if tag < 0 {
			break
		}
		tag += l.at
		l.at = tag + 2 + len(l.sign(tag+2))
		if l.word("endraw") {
			if n := l.closing("%}"); n > 0 {
				l.data(l.trimmed(l.src[start:tag], tag), start)
				l.skip(n)
				return true
			}
		}
		l.at = tag + 2
	}
	l.fail(begin, "raw has no end: write {%% endraw %%}")
	return false
}

// word moves over a word with white space around it.
func (l *lexer) word(w string) bool {
	rest := strings.TrimLeftFunc(l.src[l.at:], isSpace)
	if !strings.HasPrefix(rest, w) {
		return false
	}
	l.at = len(l.src) - len(strings.TrimLeftFunc(rest[len(w):], isSpace))
	return true
}

// code reads the tokens of a tag up to its end.
func (l *lexer) code(end kind, begin int) {
	closeText := map[kind]string{kindBlockEnd: "%}", kindPrintEnd: "}}"}[end]
	l.brackets = l.brackets[:0]
	for l.at < len(l.src) {
		if len(l.brackets) == 0 {
			if n := l.closing(closeText); n > 0 {
				l.add(end, closeText, l.at)
				l.skip(n)
				return
			}
		}
		l.token()
	}
	l.fail(begin, "the tag has no end: write %s", closeText)
}

// token reads white space or one token of an expression.
func (l *lexer) token() {
	start := l.at
	r, n := utf8.DecodeRuneInString(l.src[l.at:])
	switch {
	case isSpace(r):
		l.at += n
	case r >= '0' && r <= '9':
		l.number()
	case r == '_' || unicode.IsLetter(r):
		for l.at < len(l.src) && isWord(r) {
			l.at += n
			r, n = utf8.DecodeRuneInString(l.src[l.at:])
		}
		if l.at-start > maxName {
			l.fail(start, "a name has more than %d bytes", maxName)
		}
		l.add(kindName, l.src[start:l.at], start)
	case r == '"' || r == '\'':
		l.quoted(byte(r))
	default:
		l.operator()
	}
}

// maxName is the most bytes of a name.
const maxName = 1000

// isWord reports whether a name continues with a character.
func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// isSpace reports whether Python's str.isspace is true of a character.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// number reads an integer or a decimal fraction, where digits may have underscores between them.
func (l *lexer) number() {
	start, k := l.at, kindInt
	rest := l.src[l.at:]
	if n := prefixed(rest); n > 0 {
		l.at += n
		l.add(kindInt, rest[:n], start)
		return
	}
	n := digits(rest)
	if m := fraction(rest[n:]); m > 0 {
		k, n = kindFloat, n+m
	}
	if m := exponent(rest[n:]); m > 0 {
		k, n = kindFloat, n+m
	}
	l.at += n
	l.add(k, strings.ReplaceAll(rest[:n], "_", ""), start)
}

// prefixed returns the length of a number such as 0x1f.
func prefixed(s string) int {
	for prefix, set := range map[string]string{"0x": "0123456789abcdef", "0o": "01234567", "0b": "01"} {
		if len(s) > 2 && strings.EqualFold(s[:2], prefix) {
			n := 2
			for n < len(s) && strings.IndexByte(set, s[n]|0x20) >= 0 {
				n++
			}
			if n > 2 {
				return n
			}
		}
	}
	return 0
}

func digits(s string) int {
	n := 0
	for n < len(s) && (s[n] >= '0' && s[n] <= '9' || n > 0 && s[n] == '_' && n+1 < len(s) && s[n+1] >= '0' && s[n+1] <= '9') {
		n++
	}
	return n
}

func fraction(s string) int {
	if len(s) < 2 || s[0] != '.' || digits(s[1:]) == 0 {
		return 0
	}
	return 1 + digits(s[1:])
}

func exponent(s string) int {
	if s == "" || s[0] != 'e' && s[0] != 'E' {
		return 0
	}
	n := 1
	if n < len(s) && (s[n] == '+' || s[n] == '-') {
		n++
	}
	if m := digits(s[n:]); m > 0 {
		return n + m
	}
	return 0
}

// quoted reads a string.
func (l *lexer) quoted(quote byte) {
	start := l.at
	for i := l.at + 1; i < len(l.src); i++ {
		switch l.src[i] {
		case '\\':
			i++
		case quote:
			l.at = i + 1
			text, fault := unescape(l.src[start+1 : i])
			if fault != "" {
				l.fail(start, "%s", fault)
			}
			l.add(kindString, text, start)
			return
		}
	}
	l.fail(start, "the string has no end: write %c", quote)
}

// operators has those of two characters first.
var operators = [...]string{"**", "//", "==", "!=", ">=", "<=", "+", "-", "*", "/", "%", "~", "[", "]", "(", ")", "{", "}", ">", "<", "=", ".", ":", "|", ","}

// operator reads an operator and watches that brackets match.
func (l *lexer) operator() {
	rest, start := l.src[l.at:], l.at
	for _, op := range operators {
		if !strings.HasPrefix(rest, op) {
			continue
		}
		l.bracket(op[0])
		l.at += len(op)
		l.add(kindOperator, op, start)
		return
	}
	r, _ := utf8.DecodeRuneInString(rest)
	l.fail(start, "unexpected character %q", r)
}

// bracket notes an opening bracket, and compares a closing one with it.
func (l *lexer) bracket(c byte) {
	const opening, closing = "([{", ")]}"
	if i := strings.IndexByte(opening, c); i >= 0 {
		l.brackets = append(l.brackets, closing[i])
		return
	}
	if strings.IndexByte(closing, c) < 0 {
		return
	}
	last := len(l.brackets) - 1
	if last < 0 {
		l.fail(l.at, "unexpected %c", c)
	}
	if l.brackets[last] != c {
		l.fail(l.at, "unexpected %c, where %c closes a bracket", c, l.brackets[last])
	}
	l.brackets = l.brackets[:last]
}
