package readback_test

import (
	"go/ast"
	"strings"
)

// comments changes the comments of calls. The changed program does the same, so that each change which readback does
// not notice has escaped.
func (g *mutator) comments(file *ast.File) {
	first := len(g.list)
	var before *ast.Comment
	for _, d := range file.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		for _, group := range file.Comments {
			if group.Pos() < fn.Body.Pos() || fn.Body.End() < group.End() {
				continue
			}
			for _, c := range group.List {
				g.comment(c)
				if before != nil {
					g.swap("swap comments", before, c)
				}
				before = c
			}
		}
		for _, st := range fn.Body.List {
			g.add("insert a comment", g.before(st, "// %v1 blk.*.attn\n"))
		}
	}
	for i := range g.list[first:] {
		g.list[first+i].text = true
	}
}

// comment changes one comment.
func (g *mutator) comment(c *ast.Comment) {
	name, origin, _ := strings.Cut(strings.TrimPrefix(c.Text, "// "), " ")
	g.add("drop comment", g.put(c, ""))
	g.add("another comment", g.put(c, "// "+name+"2 "+origin))
	g.add("another comment", g.put(c, "// "+name+" "+origin+"x"))
	g.add("another comment", g.put(c, "// "+strings.TrimPrefix(name, "%")+" "+origin))
	g.add("another comment", g.put(c, "//"+name+" "+origin))
	g.add("comment on its own line", g.before(c, "\n"))
	if origin != "" {
		g.add("no origin", g.put(c, "// "+name))
		g.add("another comment", g.put(c, "// "+origin))
		g.add("another layer", g.put(c, strings.Replace(c.Text, "*", "0", 1)))
	}
}
