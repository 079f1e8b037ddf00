package readback_test

import (
	"go/ast"
	"slices"
	"strings"
)

// shapesOf changes which shapes the calls of a function have: another variable, a literal, a local variable that hides
// the package's, and an assignment to the variable.
func (g *mutator) shapesOf(fn *ast.FuncDecl) {
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		i := slices.IndexFunc(g.shapes, func(s [2]string) bool { return s[0] == id.Name })
		if i < 0 {
			return true
		}
		for _, s := range g.shapes {
			g.add("another shape", g.put(id, s[0]))
		}
		typ, _, _ := strings.Cut(g.shapes[i][1], "{")
		g.add("no shape", g.put(id, typ+"{}"))
		g.add("address of a shape", g.put(id, "&"+id.Name))
		g.add("shape in the call", g.put(id, g.shapes[i][1]))
		return true
	})
	if len(fn.Body.List) == 0 {
		return
	}
	first := fn.Body.List[0]
	for _, s := range g.shapes {
		typ, fields, _ := strings.Cut(s[1], "{")
		field, _, _ := strings.Cut(fields, ":")
		g.add("hide a shape", g.before(first, s[0]+" := "+typ+"{}\n"))
		g.add("assign a shape", g.before(first, s[0]+" = "+typ+"{}\n"))
		g.add("assign a field of a shape", g.before(first, s[0]+"."+field+" += 1\n"))
	}
}
