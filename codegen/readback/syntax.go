package readback

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// modulePath is the module whose packages emitted programs import.
const modulePath = "github.com/ggmlc/ggmlc"

// imports are the packages that emitted code may import, under their own names.
var imports = map[string]bool{
	"unsafe": true, "math": true, "context": true, "iter": true, "embed": true,
	modulePath + "/runtime": true, modulePath + "/runtime/fake": true, modulePath + "/kernels/cpu": true,
	modulePath + "/kernels/cpu/tile": true, modulePath + "/ir/dtype": true,
}

// program is an emitted package, parsed.
type program struct {
	set    *token.FileSet
	funcs  map[string]*ast.FuncDecl // without receivers
	vars   map[string]ast.Expr      // their values; nil for embedded files
	embeds map[string]string        // variable to file

	methods map[string]*ast.FuncDecl // of the exported face, by receiver and name: Session.Decode
	types   map[string]ast.Expr
	used    map[string]bool // functions and variables that something refers to

	imported map[string]bool // names of packages
	values   map[string]value
}

// parse reads the Go files of a package. It reports declarations that no emitted package
// has.
func (c *checker) parse(files []File) *program {
	p := &program{
		set: token.NewFileSet(), funcs: make(map[string]*ast.FuncDecl), vars: make(map[string]ast.Expr), embeds: make(map[string]string),
		methods: make(map[string]*ast.FuncDecl), types: make(map[string]ast.Expr), used: make(map[string]bool),
		imported: make(map[string]bool), values: make(map[string]value),
	}
	for _, f := range files {
		if path.Ext(f.Name) != ".go" {
			continue
		}
		file, err := parser.ParseFile(p.set, f.Name, f.Data, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			c.report("%w", err)
			continue
		}
		c.file(p, f.Name, file)
	}
	return p
}

// file collects the declarations of one file.
func (c *checker) file(p *program, name string, f *ast.File) {
	if f.Name.Name != c.facts.Package {
		c.report("%s: package %s, not %s", name, f.Name.Name, c.facts.Package)
	}
	c.directives(p, f)
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			c.funcDecl(p, d)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				c.spec(p, d, s)
			}
		}
	}
}

// at returns where a node is, for differences.
func (p *program) at(pos token.Pos) string {
	at := p.set.Position(pos)
	return at.Filename + ":" + strconv.Itoa(at.Line)
}

// directives reports comments that say something to the Go command, but go:embed before a
// variable.
func (c *checker) directives(p *program, f *ast.File) {
	for _, g := range f.Comments {
		for _, line := range g.List {
			text := line.Text
			if strings.HasPrefix(text, "//go:embed ") {
				continue // spec looks at it
			}
			directive := strings.HasPrefix(text, "//") && len(text) > 2 && text[2] >= 'a' && text[2] <= 'z' && strings.Contains(text, ":")
			if directive || strings.HasPrefix(text, "/*") || strings.HasPrefix(text, "// +build") || strings.HasPrefix(text, "//line ") || strings.HasPrefix(text, "//export ") {
				c.report("%s: the comment %.40q is no comment of the emitter's", p.at(line.Pos()), text)
			}
		}
	}
}

func (c *checker) funcDecl(p *program, d *ast.FuncDecl) {
	if d.Body == nil || d.Type.TypeParams != nil {
		c.report("%s: %s has no body or has type parameters", p.at(d.Pos()), d.Name.Name)
		return
	}
	to, id := p.funcs, d.Name.Name
	if d.Recv != nil {
		to, id = p.methods, receiver(d)+"."+d.Name.Name
	}
	if to[id] != nil || id == "init" {
		c.report("%s: function %s is declared twice, or runs by itself", p.at(d.Pos()), id)
	}
	to[id] = d
}

// receiver returns the name of the type whose pointer a method is on.
func receiver(d *ast.FuncDecl) string {
	if len(d.Recv.List) == 1 {
		if star, ok := d.Recv.List[0].Type.(*ast.StarExpr); ok {
			if id, ok := star.X.(*ast.Ident); ok {
				return id.Name
			}
		}
	}
	return "?"
}

func (c *checker) spec(p *program, d *ast.GenDecl, s ast.Spec) {
	switch s := s.(type) {
	case *ast.ImportSpec:
		c.importSpec(p, s)
	case *ast.TypeSpec:
		p.types[s.Name.Name] = s.Type
	case *ast.ValueSpec:
		if d.Tok == token.CONST {
			c.handshake(p, s)
			return
		}
		c.variable(p, d, s)
	}
}

func (c *checker) importSpec(p *program, s *ast.ImportSpec) {
	from, _ := strconv.Unquote(s.Path.Value)
	blank := s.Name != nil && s.Name.Name == "_" && from == "embed"
	if !imports[from] || s.Name != nil && !blank {
		c.report("%s: import of %s, which emitted code does not need, or under another name", p.at(s.Pos()), s.Path.Value)
		return
	}
	p.imported[path.Base(from)] = true
}

// variable collects a variable: one name, with a value or with a file that is embedded.
func (c *checker) variable(p *program, d *ast.GenDecl, s *ast.ValueSpec) {
	if len(s.Names) != 1 || len(s.Values) > 1 {
		c.report("%s: a declaration of %d variables", p.at(s.Pos()), len(s.Names))
		return
	}
	id := s.Names[0].Name
	if _, twice := p.vars[id]; twice {
		c.report("%s: %s is declared twice", p.at(s.Pos()), id)
	}
	p.vars[id] = nil
	if len(s.Values) == 1 {
		p.vars[id] = s.Values[0]
	}
	if d.Doc != nil {
		if i := slices.IndexFunc(d.Doc.List, func(l *ast.Comment) bool { return strings.HasPrefix(l.Text, "//go:embed ") }); i >= 0 {
			p.embeds[id] = strings.TrimPrefix(d.Doc.List[i].Text, "//go:embed ")
		}
	}
	if typ, ok := s.Type.(*ast.Ident); len(s.Values) == 0 && !(ok && typ.Name == "string") && !isLoader(s.Type) {
		c.report("%s: %s has neither a value nor a file", p.at(s.Pos()), id)
	}
}

// isLoader reports whether a type is that of the loader of simulated devices, whose zero
// value is used.
func isLoader(t ast.Expr) bool {
	sel, ok := t.(*ast.SelectorExpr)
	return ok && isIdent(sel.X, "fake") && sel.Sel.Name == "Loader"
}

// handshake reports constants but those of the handshake with the runtime, which the Go
// compiler evaluates.
func (c *checker) handshake(p *program, s *ast.ValueSpec) {
	if len(s.Names) == 1 && s.Names[0].Name == "_" && len(s.Values) == 1 {
		if fn, ok := s.Values[0].(*ast.CallExpr); ok {
			if sel, ok := fn.Fun.(*ast.SelectorExpr); ok && isIdent(sel.X, "runtime") && sel.Sel.Name == "EnforceVersion" {
				return
			}
		}
	}
	c.report("%s: a constant that is not of the handshake", p.at(s.Pos()))
}

func isIdent(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

// unused reports functions and variables that nothing refers to: what was emitted for a node
// is then run by nothing.
func (c *checker) unused(p *program) {
	for id, d := range p.funcs {
		if !p.used[id] {
			c.report("%s: nothing runs %s", p.at(d.Pos()), id)
		}
	}
	for id := range p.vars {
		if !p.used[id] {
			c.report("nothing uses the variable %s", id)
		}
	}
}
