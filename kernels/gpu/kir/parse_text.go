package kir

import (
	"strconv"
	"strings"
)

// Words and lines of the text form.

// blanks skips blanks and a comment, but no end of line.
func (p *parser) blanks() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r", p.text[p.at]) >= 0 {
		p.at++
	}
	if strings.HasPrefix(p.text[p.at:], "//") {
		p.run(func(c byte) bool { return c != '\n' })
	}
}

// lines skips blanks, comments and ends of lines.
func (p *parser) lines() {
	for p.blanks(); p.at < len(p.text) && p.text[p.at] == '\n'; p.blanks() {
		p.at++
	}
}

// endLine reads the end of a line.
func (p *parser) endLine() {
	p.blanks()
	if p.at < len(p.text) && p.text[p.at] != '\n' {
		p.fail(p.at, "text after the end of the instruction")
	}
	p.lines()
}

// run reads the longest text of bytes that belong.
func (p *parser) run(belongs func(byte) bool) string {
	from := p.at
	for p.at < len(p.text) && belongs(p.text[p.at]) {
		p.at++
	}
	return p.text[from:p.at]
}

func isNameByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func isValueByte(c byte) bool { return c == '.' || isNameByte(c) }

// peek reports whether the next bytes are s.
func (p *parser) peek(s string) bool {
	p.blanks()
	return strings.HasPrefix(p.text[p.at:], s)
}

// accept reads s if it is next.
func (p *parser) accept(s string) bool {
	if !p.peek(s) {
		return false
	}
	p.at += len(s)
	return true
}

func (p *parser) expect(s string) {
	if !p.accept(s) {
		p.fail(p.at, "expected %q", s)
	}
}

// word reads letters, digits and _; what names them in an error.
func (p *parser) word(what string) string {
	p.blanks()
	s := p.run(isNameByte)
	if s == "" {
		p.fail(p.at, "expected %s", what)
	}
	return s
}

// peekWord returns the next word without reading it, empty if there is none.
func (p *parser) peekWord() string {
	p.blanks()
	from := p.at
	s := p.run(isNameByte)
	p.at = from
	return s
}

// keyword reads a word that has to be s.
func (p *parser) keyword(s string) {
	if p.peekWord() != s {
		p.fail(p.at, "expected %q", s)
		return
	}
	p.at += len(s)
}

// count reads a number that is not negative and has at most that many bits.
func (p *parser) count(bits int) uint64 {
	p.blanks()
	from := p.at
	n, err := strconv.ParseUint(p.word("a number"), 10, bits)
	if err != nil {
		p.fail(from, "expected a number below 2^%d", bits)
	}
	return n
}
