package ir

import (
	"fmt"
	"strconv"
	"strings"
)

// tokKind is the kind of a token.
type tokKind uint8

const (
	tokEOF     tokKind = iota
	tokNewline         // lines end statements
	tokWord            // letters, digits, _ and dots: names, keywords, numbers
	tokValue           // %name
	tokAt              // @name
	tokString          // "…" with Go's escapes
	tokPunct           // one of ( ) [ ] { } , : = + - * / ; or ->
	tokBad             // none of these; text is the error
)

// token is a piece of the text. The text of names and strings is without sign and quotes.
type token struct {
	kind       tokKind
	text       string
	start, end int // in the source
}

// lexer splits a text into tokens, which blanks and comments (// to the end of the line) separate.
type lexer struct {
	src string
	pos int
}

func (l *lexer) next() token {
	l.skipBlank()
	start := l.pos
	if l.pos == len(l.src) {
		return token{kind: tokEOF, start: start, end: start}
	}
	t := l.scan()
	t.start, t.end = start, l.pos
	return t
}

func (l *lexer) skipBlank() {
	for l.pos < len(l.src) {
		switch {
		case strings.IndexByte(" \t\r", l.src[l.pos]) >= 0:
			l.pos++
		case strings.HasPrefix(l.src[l.pos:], "//"):
			l.skipLine()
		default:
			return
		}
	}
}

// skipLine advances to the newline at the end of the line.
func (l *lexer) skipLine() {
	if n := strings.IndexByte(l.src[l.pos:], '\n'); n >= 0 {
		l.pos += n
		return
	}
	l.pos = len(l.src)
}

func (l *lexer) scan() token {
	c := l.src[l.pos]
	switch {
	case c == '\n':
		l.pos++
		return token{kind: tokNewline, text: "end of line"}
	case c == '"':
		return l.quoted(tokString)
	case c == '%':
		return l.name(tokValue)
	case c == '@':
		return l.name(tokAt)
	case isDigit(c):
		return l.number()
	case isWordByte(c):
		return token{kind: tokWord, text: l.take(isWordByte)}
	case strings.HasPrefix(l.src[l.pos:], "->"):
		l.pos += 2
		return token{kind: tokPunct, text: "->"}
	case strings.IndexByte("()[]{},:=+-*/;", c) >= 0:
		l.pos++
		return token{kind: tokPunct, text: string(c)}
	}
	l.pos++
	return token{kind: tokBad, text: fmt.Sprintf("unexpected character %q", c)}
}

// name scans a name after % or @. Names with other characters than isNameByte are in quotes.
func (l *lexer) name(kind tokKind) token {
	sign := l.src[l.pos]
	l.pos++
	if l.pos < len(l.src) && l.src[l.pos] == '"' {
		return l.quoted(kind)
	}
	text := l.take(isNameByte)
	if text == "" {
		return token{kind: tokBad, text: fmt.Sprintf("a name must follow %c", sign)}
	}
	return token{kind: kind, text: text}
}

func (l *lexer) quoted(kind tokKind) token {
	start := l.pos
	for l.pos++; l.pos < len(l.src) && l.src[l.pos] != '\n'; l.pos++ {
		switch l.src[l.pos] {
		case '\\':
			l.pos++
		case '"':
			l.pos++
			text, err := strconv.Unquote(l.src[start:l.pos])
			if err != nil {
				return token{kind: tokBad, text: "bad escape in quoted text"}
			}
			return token{kind: kind, text: text}
		}
	}
	l.pos = min(l.pos, len(l.src))
	return token{kind: tokBad, text: "quoted text has no end on its line"}
}

// number scans a word that begins with a digit. The sign in 1e-05 is part of it.
func (l *lexer) number() token {
	start := l.pos
	l.take(isWordByte)
	text := l.src[start:l.pos]
	signed := l.pos+1 < len(l.src) && (l.src[l.pos] == '-' || l.src[l.pos] == '+') && isDigit(l.src[l.pos+1])
	if signed && isMantissa(text) {
		l.pos++
		l.take(isDigit)
		text = l.src[start:l.pos]
	}
	return token{kind: tokWord, text: text}
}

// isMantissa reports whether text is a decimal number up to and including the e of its exponent.
func isMantissa(text string) bool {
	digits, ok := strings.CutSuffix(text, "e")
	return ok && strings.Trim(digits, "0123456789.") == ""
}

func (l *lexer) take(ok func(byte) bool) string {
	start := l.pos
	for l.pos < len(l.src) && ok(l.src[l.pos]) {
		l.pos++
	}
	return l.src[start:l.pos]
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWordByte(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '.'
}

// isNameByte reports whether c may be in a name after % or @ without quotes. The minus may, as no
// arithmetic follows such a name.
func isNameByte(c byte) bool { return isWordByte(c) || c == '-' }

// quote returns s in quotes, in printable ASCII.
func quote(s string) string { return strconv.QuoteToASCII(s) }

// quoteName returns a name as it follows % or @.
func quoteName(s string) string { return quoteUnless(s, isNameByte) }

// QuoteName returns a name as the text form has it after % or @: unchanged if it is a word, otherwise in quotes and in
// ASCII.
func QuoteName(s string) string { return quoteName(s) }

// quoteWord returns s as a word, in quotes if it is not one.
func quoteWord(s string) string { return quoteUnless(s, isWordByte) }

func quoteUnless(s string, ok func(byte) bool) string {
	for i := range len(s) {
		if !ok(s[i]) {
			return quote(s)
		}
	}
	if s == "" {
		return `""`
	}
	return s
}

// isSymbolName reports whether a symbol may have that name in the text form.
func isSymbolName(s string) bool {
	return s != "" && !isDigit(s[0]) && s[0] != '.' && quoteWord(s) == s && s != "min" && s != "max" && s != "strides"
}
