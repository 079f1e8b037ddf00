package codegen

import (
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/runtime/printable"
)

// This file alone writes comments. Text of a module is untrusted: a newline in a comment would
// end it, and the words after it would be code. jennifer writes a text that begins with // as
// it is, and a text of several lines between /* and */.

// commentWidth is the length of comment lines in emitted code.
const commentWidth = 88

// comment writes a comment: each paragraph begins a line, and long lines are broken between
// words.
func comment(f *jen.File, paragraphs ...string) {
	for _, p := range paragraphs {
		for _, line := range wrap(p) {
			f.Comment(commentLine(line))
		}
	}
}

// headerComment writes a line at the head of a file.
func headerComment(f *jen.File, line string) { f.HeaderComment(commentLine(line)) }

// trailingComment writes a comment at the end of a statement's line.
func trailingComment(s *jen.Statement, text string) *jen.Statement {
	return s.Comment(commentLine(text))
}

// commentBefore writes a comment of one line before what is added to a statement after it.
func commentBefore(s *jen.Statement, text string) *jen.Statement {
	return s.Comment(commentLine(text)).Line()
}

// nodeComment writes at the end of a call which node it belongs to, and where that comes from, as in
// %v25 blk.*.attn. Dumps print the node under the same name.
func nodeComment(call *jen.Statement, n *ir.Node) *jen.Statement {
	return trailingComment(call, nodeName(n))
}

// nodeName returns the text of a node's comment.
func nodeName(n *ir.Node) string {
	if n.Pos == "" {
		return n.String()
	}
	return n.String() + " " + origin(n)
}

// origin returns where a node comes from. The call in a repeat's body serves all its iterations, so that numbers
// between dots, which are those of layers, become asterisks there. An origin that is more than one printable word is
// quoted.
func origin(n *ir.Node) string {
	parts := strings.Split(n.Pos, ".")
	for i, p := range parts {
		if n.Func.Owner != nil && p != "" && strings.Trim(p, "0123456789") == "" {
			parts[i] = "*"
		}
	}
	text := strings.Join(parts, ".")
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return strconv.QuoteToASCII(text)
	}
	return text
}

// embedDirective makes the variable that follows the content of a file of the package.
func embedDirective(f *jen.File, file string) { f.Comment("//go:embed " + file) }

// wrap breaks a text between words into lines of commentWidth.
func wrap(text string) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > commentWidth {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// commentLine returns a text as one line of a comment. The blank after the slashes keeps it
// from being a directive such as //go:linkname. A line that begins with +build is a build
// constraint all the same, to gofmt even below the package clause.
func commentLine(text string) string {
	text = strings.TrimSpace(printable.Line(text))
	if strings.HasPrefix(text, "+") {
		text = `\` + text
	}
	return strings.TrimSpace("// " + text)
}
