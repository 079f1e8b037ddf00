package readback

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
)

// A comment at the end of a call's line names the node that the call belongs to. It decides nothing, so a wrong one is
// reported after all other differences: it would send a reader to another node of the dump.

// line is a line of a file.
type line struct {
	file   string
	number int
}

func (p *program) line(pos token.Pos) line {
	at := p.set.Position(pos)
	return line{at.Filename, at.Line}
}

// collectComments notes the comments inside of functions.
func (p *program) collectComments(f *ast.File) {
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		for _, g := range f.Comments {
			if fn.Pos() < g.Pos() && g.End() <= fn.End() {
				for _, c := range g.List {
					p.comments[p.line(c.Pos())] = c.Text
				}
			}
		}
	}
}

// commented notes whether the comment after a call names its node.
func (w *walker) commented(n *ir.Node, e *event) {
	at := w.p.line(e.end)
	if w.c.calls[at] == n {
		return // in an earlier iteration
	}
	if got, want := w.p.comments[at], commentOf(n); got != want {
		w.c.unnamed = append(w.c.unnamed, &commentError{fmt.Sprintf("%s:%d: the comment of the call of %v is %.60q, not %q", at.file, at.number, n, got, want)})
	}
	w.c.calls[at] = n
}

// commentError is a comment that is wrong, missing or too many.
type commentError struct{ text string }

func (e *commentError) Error() string { return e.text }

// comments reports wrong comments, and those inside of functions that belong to no call.
func (c *checker) comments(p *program) {
	for _, err := range c.unnamed {
		c.report("%w", err)
	}
	inOrder := func(a, b line) int { return cmp.Or(strings.Compare(a.file, b.file), a.number-b.number) }
	for _, at := range slices.SortedFunc(maps.Keys(p.comments), inOrder) {
		if c.calls[at] == nil {
			c.report("%w", &commentError{fmt.Sprintf("%s:%d: the comment %.60q belongs to no call", at.file, at.number, p.comments[at])})
		}
	}
}

// commentOf returns the comment of a call.
func commentOf(n *ir.Node) string { return "// " + nameOf(n) }

// nameOf returns what a node is called: the name that dumps give to it, and its origin. In a body, which is run for
// each iteration, the numbers of layers are left out of the origin.
func nameOf(n *ir.Node) string {
	text := n.String()
	if n.Pos == "" {
		return text
	}
	from := n.Pos
	if n.Func.Owner != nil {
		from = ""
		for i, word := range strings.Split(n.Pos, ".") {
			if i > 0 {
				from += "."
			}
			if word != "" && strings.Trim(word, "0123456789") == "" {
				word = "*"
			}
			from += word
		}
	}
	for i := range len(from) {
		if from[i] < '!' || from[i] > '~' {
			return text + " " + strconv.QuoteToASCII(from)
		}
	}
	return text + " " + from
}
