package ptx

import (
	"fmt"
	"strings"
)

// token is a word, a number or a punctuation mark of PTX text. A word has its modifiers: add.rn.f32, %tid.x, .reg. It
// is empty at the end.
type token struct {
	text string
	line int
}

func (t token) isWord() bool   { return t.text != "" && (wordStart(t.text[0]) || t.text[0] == '.') }
func (t token) isNumber() bool { return t.text != "" && t.text[0] >= '0' && t.text[0] <= '9' }

func wordStart(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$' || c == '%'
}

func wordPart(c byte) bool { return wordStart(c) && c != '%' || c >= '0' && c <= '9' || c == '.' }

// scan divides text into tokens. Comments are those of C++ (4.2).
func scan(text string) ([]token, error) {
	var list []token
	line := 1
	for len(text) > 0 {
		n, isToken := tokenLength(text)
		if n == 0 {
			return nil, fmt.Errorf("ptx: line %d: the character %q begins nothing", line, text[0])
		}
		if isToken {
			list = append(list, token{text[:n], line})
		}
		line += strings.Count(text[:n], "\n")
		text = text[n:]
	}
	return append(list, token{"", line}), nil
}

// tokenLength returns the length of what text begins with; 0 is a fault. White space and comments are no tokens.
func tokenLength(text string) (n int, isToken bool) {
	switch c := text[0]; {
	case strings.IndexByte(" \t\r\n", c) >= 0:
		return 1, false
	case strings.HasPrefix(text, "//"):
		return lengthTo(text, "\n"), false
	case strings.HasPrefix(text, "/*"):
		return lengthTo(text, "*/"), false
	case wordStart(c) || c == '.' || c >= '0' && c <= '9':
		n = 1
		for n < len(text) && (wordPart(text[n]) || strings.HasPrefix(text[n-1:], "::") || strings.HasPrefix(text[n:], "::")) {
			n++
		}
		return n, true
	case strings.IndexByte(",;:{}()[]<>@!+-", c) >= 0:
		return 1, true
	}
	return 0, false
}

// lengthTo returns the length up to the end of the first occurrence of mark, or of the text.
func lengthTo(text, mark string) int {
	if at := strings.Index(text, mark); at >= 0 {
		return at + len(mark)
	}
	return len(text)
}
