package readback_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/codegen/readback"
)

// mutant is a change of the files of a subject.
type mutant struct {
	op, what string
	edits    []edit
	files    func(files []readback.File) []readback.File // after the edits; nil for none
	text     bool                                        // the program does the same, and its text misleads
}

// edit puts a text in the place of bytes of a file.
type edit struct {
	file, from, to int
	text           string
}

// apply returns the changed files; false where a Go file does not parse.
func (mu *mutant) apply(files []readback.File) ([]readback.File, bool) {
	out := slices.Clone(files)
	edits := slices.Clone(mu.edits)
	slices.SortStableFunc(edits, func(a, b edit) int { return b.from - a.from }) // from the end
	for _, e := range edits {
		data := out[e.file].Data
		out[e.file].Data = slices.Concat(data[:e.from], []byte(e.text), data[e.to:])
	}
	if mu.files != nil {
		out = mu.files(out)
	}
	for i, f := range out {
		if filepath.Ext(f.Name) != ".go" || i < len(files) && string(f.Data) == string(files[i].Data) {
			continue
		}
		if _, err := parser.ParseFile(token.NewFileSet(), f.Name, f.Data, parser.SkipObjectResolution); err != nil {
			return nil, false
		}
	}
	return out, true
}

// mutator makes mutants of one subject.
type mutator struct {
	s    *subject
	file int // that is being changed
	src  string
	base int
	fn   *ast.FuncDecl // that is being changed; nil outside
	vars []string      // of that function

	funcs   map[string][]string // functions of the package by their parameters
	kernels map[string][]string // kernels by their parameters
	tables  []string            // variables that hold offsets
	labels  []string            // variables of labels and of commands
	shapes  [][2]string         // variables of shapes, with their values
	list    []mutant
}

// mutants returns all changes of a subject that this package's tests know.
func mutants(t testing.TB, s *subject) []mutant {
	g := &mutator{s: s, funcs: make(map[string][]string), kernels: kernelsBySignature(t)}
	var files []*ast.File
	for i, f := range s.files {
		files = append(files, nil)
		if filepath.Ext(f.Name) != ".go" {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, f.Name, f.Data, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files[i] = file
		g.begin(i, set, file)
		g.collect(file)
	}
	for i, file := range files {
		if file == nil {
			continue
		}
		g.begin(i, nil, file)
		g.comments(file)
		g.declarations(file)
		for _, d := range file.Decls {
			g.inside(d)
		}
	}
	g.packages()
	return g.list
}

// begin makes a file the one that is being changed.
func (g *mutator) begin(i int, _ *token.FileSet, file *ast.File) {
	g.file, g.src, g.base, g.fn, g.vars = i, string(g.s.files[i].Data), int(file.FileStart), nil, nil
}

// collect notes what a file declares.
func (g *mutator) collect(file *ast.File) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				key := g.text(d.Type.Params)
				g.funcs[key] = append(g.funcs[key], d.Name.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				v, ok := s.(*ast.ValueSpec)
				if !ok || len(v.Values) != 1 {
					continue
				}
				if text := g.text(v.Values[0]); strings.HasPrefix(text, "[...]int") {
					g.tables = append(g.tables, v.Names[0].Name)
				} else if strings.HasPrefix(text, "runtime.Label") || strings.HasPrefix(text, "runtime.Command") {
					g.labels = append(g.labels, v.Names[0].Name)
				} else if strings.HasPrefix(text, "cpu.") {
					g.shapes = append(g.shapes, [2]string{v.Names[0].Name, text})
				}
			}
		}
	}
}

func (g *mutator) at(p token.Pos) int { return int(p) - g.base }

func (g *mutator) text(n ast.Node) string { return g.src[g.at(n.Pos()):g.at(n.End())] }

// add adds a mutant that puts texts in the place of nodes.
func (g *mutator) add(op string, edits ...edit) {
	line := 1 + strings.Count(g.src[:edits[0].from], "\n")
	if !slices.ContainsFunc(edits, func(e edit) bool { return string(g.s.files[e.file].Data[e.from:e.to]) != e.text }) {
		return
	}
	what := fmt.Sprintf("%s:%d", g.s.files[edits[0].file].Name, line)
	for _, e := range edits {
		what += fmt.Sprintf(": %.60q becomes %.60q", g.s.files[e.file].Data[e.from:e.to], e.text)
	}
	g.list = append(g.list, mutant{op: op, what: what, edits: edits})
}

// put returns the edit that puts a text in the place of a node.
func (g *mutator) put(n ast.Node, text string) edit {
	return edit{g.file, g.at(n.Pos()), g.at(n.End()), text}
}

// before and after return edits that insert a text before or after a node.
func (g *mutator) before(n ast.Node, text string) edit {
	return edit{g.file, g.at(n.Pos()), g.at(n.Pos()), text}
}

func (g *mutator) after(n ast.Node, text string) edit {
	return edit{g.file, g.at(n.End()), g.at(n.End()), text}
}

// swap exchanges two nodes.
func (g *mutator) swap(op string, a, b ast.Node) {
	if g.text(a) != g.text(b) {
		g.add(op, g.put(a, g.text(b)), g.put(b, g.text(a)))
	}
}

// inside changes what is inside of a declaration.
func (g *mutator) inside(d ast.Decl) {
	g.fn, g.vars = nil, nil
	if fn, ok := d.(*ast.FuncDecl); ok {
		g.fn = fn
		g.vars = localsOf(fn)
	}
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec, *ast.CommentGroup:
			return false
		case *ast.KeyValueExpr:
			return !unread(n)
		case *ast.BlockStmt:
			g.block(n)
		case ast.Expr:
			g.expr(n)
		}
		return true
	})
	if g.fn != nil {
		g.parameters()
		g.shapesOf(g.fn)
		g.constants(g.fn)
	}
}

// unread reports whether an element is one of the figures that bench compares speeds with:
// readback does not compute them.
func unread(e ast.Expr) bool {
	pair, ok := e.(*ast.KeyValueExpr)
	if !ok {
		return false
	}
	id, ok := pair.Key.(*ast.Ident)
	return ok && slices.Contains([]string{"PrefillOpsPerToken", "PrefillOpsPerStep", "DecodeBytes", "Peak"}, id.Name)
}

// localsOf returns the names of a function's parameters and variables.
func localsOf(fn *ast.FuncDecl) []string {
	var names []string
	add := func(e ast.Expr) {
		if id, ok := e.(*ast.Ident); ok && !slices.Contains(names, id.Name) {
			names = append(names, id.Name)
		}
	}
	for _, p := range fn.Type.Params.List {
		for _, id := range p.Names {
			add(id)
		}
	}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, l := range n.Lhs {
					add(l)
				}
			}
		case *ast.ValueSpec:
			for _, id := range n.Names {
				add(id)
			}
		}
		return true
	})
	return names
}

// block changes the order and the number of statements.
func (g *mutator) block(b *ast.BlockStmt) {
	worker := slices.Contains(g.vars, "w")
	for i, st := range b.List {
		text := g.text(st)
		defines := isDefinition(st)
		g.add("drop "+kindOf(st, text), g.put(st, ""))
		g.add("double "+kindOf(st, text), g.after(st, "\n"+text))
		if i+1 < len(b.List) {
			g.swap("swap statements", st, b.List[i+1])
		}
		if i+2 < len(b.List) && !defines {
			last := b.List[len(b.List)-1]
			g.add("move to the end", g.put(st, ""), g.after(last, "\n"+text))
		}
		g.nested(b, i)
		if worker {
			g.insert(st)
			if !defines {
				g.add("worker 0 alone", g.put(st, "if w.Part == 0 {\n"+text+"\n}"))
				g.add("another worker alone", g.put(st, "if w.Part == 1 {\n"+text+"\n}"))
			}
		}
		if !defines {
			g.add("into a loop", g.put(st, "for range 1 {\n"+text+"\n}"))
			g.add("into a loop", g.put(st, "for range 2 {\n"+text+"\n}"))
			g.add("run later", g.put(st, "defer func() {\n"+text+"\n}()"))
			g.add("run beside", g.put(st, "go func() {\n"+text+"\n}()"))
			g.add("into a block", g.put(st, "{\n"+text+"\n}"))
		}
	}
}

// isDefinition reports whether a statement declares what the statements after it use.
func isDefinition(st ast.Stmt) bool {
	switch st.(type) {
	case *ast.AssignStmt, *ast.DeclStmt:
		return true
	}
	return false
}

// kindOf names a statement for the table.
func kindOf(st ast.Stmt, text string) string {
	switch st.(type) {
	case *ast.AssignStmt:
		return "variables"
	case *ast.DeclStmt:
		return "constants"
	case *ast.IfStmt:
		return "if"
	case *ast.RangeStmt, *ast.ForStmt:
		return "loop"
	case *ast.ReturnStmt:
		return "return"
	}
	name, _, _ := strings.Cut(text, "(")
	if pkg, method, ok := strings.Cut(name, "."); ok && (pkg == "q" || pkg == "w") {
		return name
	} else if ok && pkg == "cpu" {
		return "kernel"
	} else if ok {
		return method
	}
	return "call"
}

// nested moves statements into and out of the loop or condition at b.List[i].
func (g *mutator) nested(b *ast.BlockStmt, i int) {
	var body *ast.BlockStmt
	switch st := b.List[i].(type) {
	case *ast.IfStmt:
		body = st.Body
		g.add("no condition", g.put(st, g.inner(body)))
		g.add("other condition", g.put(st.Cond, "true"))
		if cond, ok := st.Cond.(*ast.BinaryExpr); ok {
			for _, op := range []string{"!=", ">=", "<=", ">"} {
				g.add("other condition", edit{g.file, g.at(cond.OpPos), g.at(cond.OpPos) + len(cond.Op.String()), op})
			}
		}
		g.add("else", g.after(st, " else {\n"+g.inner(body)+"\n}"))
	case *ast.RangeStmt:
		body = st.Body
		g.add("no loop", g.put(st, g.inner(body)))
		g.add("loop of another kind", edit{g.file, g.at(st.For), g.at(body.Pos()), fmt.Sprintf("for %s := 0; %s < %s; %s++ ", g.text(st.Key), g.text(st.Key), g.text(st.X), g.text(st.Key))})
		g.add("loop without an index", edit{g.file, g.at(st.Key.Pos()), g.at(st.X.Pos()) - len("range "), ""})
	case *ast.ForStmt:
		body = st.Body
		g.add("no loop", g.put(st, g.text(st.Init)+"\n"+g.text(st.Cond)+"\n"+g.inner(body)))
	}
	if body == nil || len(body.List) == 0 {
		return
	}
	st, first, last := b.List[i], body.List[0], body.List[len(body.List)-1]
	g.add("out of "+kindOf(st, ""), g.put(first, ""), g.before(st, g.text(first)+"\n"))
	g.add("out of "+kindOf(st, ""), g.put(last, ""), g.after(st, "\n"+g.text(last)))
	if i > 0 {
		g.add("into "+kindOf(st, ""), g.put(b.List[i-1], ""), g.before(first, g.text(b.List[i-1])+"\n"))
	}
	if i+1 < len(b.List) {
		g.add("into "+kindOf(st, ""), g.put(b.List[i+1], ""), g.after(last, "\n"+g.text(b.List[i+1])))
	}
	if len(body.List) > 1 {
		head := g.src[g.at(st.Pos()):g.at(body.Lbrace)]
		g.add("cut in two", g.after(first, "\n}\n"+head+"{"))
	}
	g.add("empty "+kindOf(st, ""), edit{g.file, g.at(first.Pos()), g.at(last.End()), ""})
	g.add("empty one before", g.before(st, g.src[g.at(st.Pos()):g.at(body.Lbrace)]+"{\n}\n"))
}

// inner returns the statements of a block.
func (g *mutator) inner(b *ast.BlockStmt) string { return g.src[g.at(b.Lbrace)+1 : g.at(b.Rbrace)] }

// insert puts other statements before one.
func (g *mutator) insert(st ast.Stmt) {
	for _, text := range []string{
		"w.Barrier()", "if w.Stop() {\nreturn\n}", "return", "w.Mark(0)", "if w.Part == 0 {\na.Queues.Finish(0)\n}", "a.Queues.Finish(0)",
		"for u := w.Share(64, 16); u.Next(); {\n}", "w.Part = 0", "a.Dims[0]++", "if w.Part == 0 {\na.Queues.Record(0, 1)\n}", "for range 3 {\n}",
	} {
		g.add("insert "+strings.TrimSpace(strings.SplitN(text, "\n", 2)[0]), g.before(st, text+"\n"))
	}
}

// parameters puts assignments to a function's parameters at its beginning, and exchanges
// parameters.
func (g *mutator) parameters() {
	fields := g.fn.Type.Params.List
	for i, p := range fields {
		for _, id := range p.Names {
			if zero := zeroOf(g.text(p.Type)); zero != "" && len(g.fn.Body.List) > 0 {
				g.add("assign a parameter", g.before(g.fn.Body.List[0], id.Name+" = "+zero+"\n"))
			}
			g.add("another local name", g.put(id, id.Name+"2"))
		}
		if i > 0 && len(p.Names) == 1 && len(fields[i-1].Names) == 1 {
			g.swap("swap parameters", p.Names[0], fields[i-1].Names[0])
			g.swap("swap parameters", p, fields[i-1])
		}
	}
}

// zeroOf returns a value of a type by its text.
func zeroOf(typ string) string {
	switch {
	case typ == "int" || typ == "int32":
		return "0"
	case typ == "string":
		return `""`
	case strings.HasPrefix(typ, "[]"), strings.HasPrefix(typ, "*"):
		return "nil"
	case strings.HasSuffix(typ, "Inputs"), strings.HasSuffix(typ, "Options"):
		return typ + "{}"
	case typ == "context.Context":
		return "context.Background()"
	}
	return ""
}
