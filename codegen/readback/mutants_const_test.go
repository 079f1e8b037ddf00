package readback_test

import (
	"go/ast"
	"go/token"
)

// constants changes the constants of a function: their values, names, order, types and number.
func (g *mutator) constants(fn *ast.FuncDecl) {
	for _, st := range fn.Body.List {
		d, ok := st.(*ast.DeclStmt)
		if !ok {
			continue
		}
		gen := d.Decl.(*ast.GenDecl)
		g.add("variables for constants", edit{g.file, g.at(gen.TokPos), g.at(gen.TokPos) + len("const"), "var"})
		for i, s := range gen.Specs {
			c := s.(*ast.ValueSpec)
			g.constant(gen, c)
			if i == 0 {
				continue
			}
			before := gen.Specs[i-1].(*ast.ValueSpec)
			g.swap("swap values of constants", before.Values[0], c.Values[0])
			g.swap("swap names of constants", before.Names[0], c.Names[0])
			g.add("value of the constant before", g.put(c, c.Names[0].Name))
		}
	}
}

// constant changes one constant, and the constants next to it.
func (g *mutator) constant(gen *ast.GenDecl, c *ast.ValueSpec) {
	name, value := c.Names[0].Name, g.text(c.Values[0])
	g.add("constant with a type", g.put(c, name+" int = "+value))
	g.add("constant with a type", g.put(c, name+" int8 = "+value))
	g.add("constant that is counted", g.put(c.Values[0], "iota"))
	g.add("constant that is counted", g.put(c.Values[0], "iota*64"))
	g.add("another name of a constant", g.put(c.Names[0], name+"2"))
	g.add("constant of another package", g.put(c.Values[0], "runtime.MaxVersion"))
	if gen.Lparen == token.NoPos {
		g.add("another constant", g.after(c, "\n\tconst "+name+"2 = "+value))
		return
	}
	g.add("drop constant", g.put(c, ""))
	g.add("double constant", g.after(c, "\n"+name+" = "+value))
	g.add("another constant", g.after(c, "\n"+name+"2 = "+value))
	g.add("two constants at once", g.put(c, name+", "+name+"2 = "+value+", 1"))
}
