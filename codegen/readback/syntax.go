package readback

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ggmlc/ggmlc/codegen/backend"
)

// modulePath is the module whose packages emitted programs import.
const modulePath = "github.com/ggmlc/ggmlc"

// imports are the packages that emitted code may import, under their own names. apiImports are those of model.go alone.
var imports = map[string]bool{
	"unsafe": true, "math": true, "context": true, "io": true, "iter": true, "embed": true,
	modulePath + "/runtime": true, modulePath + "/runtime/fake": true, modulePath + "/runtime/gpu": true,
	modulePath + "/runtime/cuda": true, modulePath + "/runtime/vulkan": true,
	modulePath + "/runtime/gpusim":   true,
	modulePath + "/kernels/cpu":      true,
	modulePath + "/kernels/cpu/tile": true, modulePath + "/ir/dtype": true,
}

var apiImports = map[string]bool{
	"io/fs": true, "log/slog": true, "cmp": true, "maps": true, "slices": true, "time": true, modulePath + "/runtime/grammar": true, modulePath + "/runtime/grammar/jsonschema": true,
	modulePath + "/runtime/sample": true, modulePath + "/runtime/token": true,
}

// program is an emitted package, parsed.
type program struct {
	set    *token.FileSet
	funcs  map[string]*ast.FuncDecl // without receivers
	vars   map[string]ast.Expr      // their values; nil for embedded files
	embeds map[string]string        // variable to file

	methods map[string]*ast.FuncDecl // of the exported face, by receiver and name: Session.Decode
	types   map[string]*ast.TypeSpec
	consts  map[string]*ast.ValueSpec // without those of the handshake
	specs   map[string]*ast.ValueSpec // of variables
	used    map[string]bool           // functions and variables that something refers to

	handshake []string // what its constants demand of the runtime's version

	comments map[line]string // inside of functions

	imported map[string]bool // names of packages
	values   map[string]value
}

// parse reads the Go files of a package. It reports declarations that no emitted package
// has.
func (c *checker) parse(files []File) *program {
	p := &program{
		set: token.NewFileSet(), funcs: make(map[string]*ast.FuncDecl), vars: make(map[string]ast.Expr), embeds: make(map[string]string),
		methods: make(map[string]*ast.FuncDecl), types: make(map[string]*ast.TypeSpec),
		consts: make(map[string]*ast.ValueSpec), specs: make(map[string]*ast.ValueSpec), used: make(map[string]bool),
		comments: make(map[line]string), imported: make(map[string]bool), values: make(map[string]value),
	}
	c.names(files)
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
	c.handshakes(p)
	return p
}

// names reports files that the package lacks and files that it should not have. The Go command reads more
// than Go files, and ignores some files because of their names.
func (c *checker) names(files []File) {
	want := []string{"program.go", "steps.go", "plan.txt", "plan.json"}
	if c.facts.Package != "main" {
		want = append(want, "model.go")
	}
	if c.facts.Tokenizer != nil {
		want = append(want, "tokenizer.bin")
	}
	if c.facts.Chat != nil {
		want = append(want, "chat.json")
	}
	if c.facts.Grammar != nil {
		want = append(want, "grammar.bin")
	}
	for kind, k := range gpuKinds {
		if c.dispatches(kind) {
			want = append(want, k.file)
		}
	}
	var got []string
	for _, f := range files {
		got = append(got, f.Name)
		if f.Name == "tokenizer.bin" && !bytes.Equal(f.Data, c.facts.Tokenizer) {
			c.report("%s holds another vocabulary", f.Name)
		}
		if f.Name == "chat.json" && !bytes.Equal(f.Data, c.facts.Chat) {
			c.report("%s holds other chat templates", f.Name)
		}
		if f.Name == "grammar.bin" && !bytes.Equal(f.Data, c.facts.Grammar) {
			c.report("%s holds another grammar", f.Name)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		c.report("the package consists of the files %q, not %q", got, want)
	}
}

// handshakes demands the constants that do not compile with a runtime of another generation.
func (c *checker) handshakes(p *program) {
	want := []string{"runtime.EnforceVersion(5 - runtime.MinVersion)", "runtime.EnforceVersion(runtime.MaxVersion - 5)"}
	for _, b := range c.foreign() {
		version := b.PackageName() + ".Version"
		want = append(want, fmt.Sprintf("runtime.EnforceVersion(%d - %s)", b.Version(), version), fmt.Sprintf("runtime.EnforceVersion(%s - %d)", version, b.Version()))
	}
	slices.Sort(want)
	if slices.Sort(p.handshake); !slices.Equal(p.handshake, want) {
		c.report("the constants are %q, not %q", p.handshake, want)
	}
}

// named reports a declaration that gives another meaning to a name of the language. Readback
// assumes the language's meaning of these names.
func (c *checker) named(p *program, id *ast.Ident) {
	if types.Universe.Lookup(id.Name) != nil {
		c.report("%s: a declaration of %s, which is a name of the language", p.at(id.Pos()), id.Name)
	}
}

// file collects the declarations of one file.
func (c *checker) file(p *program, name string, f *ast.File) {
	if f.Name.Name != c.facts.Package {
		c.report("%s: package %s, not %s", name, f.Name.Name, c.facts.Package)
	}
	c.directives(p, f)
	p.collectComments(f)
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

// directives reports comments that are directives of the Go command, except go:embed before a
// variable.
func (c *checker) directives(p *program, f *ast.File) {
	for _, g := range f.Comments {
		for _, line := range g.List {
			text := line.Text
			if strings.HasPrefix(text, "//go:embed ") {
				continue // spec looks at it
			}
			directive := strings.HasPrefix(text, "//") && len(text) > 2 && text[2] >= 'a' && text[2] <= 'z' && strings.Contains(text, ":")
			if directive || strings.HasPrefix(text, "/*") || strings.HasPrefix(strings.TrimLeft(text, "/ \t"), "+build") || strings.HasPrefix(text, "//line ") || strings.HasPrefix(text, "//export ") {
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
	if d.Recv == nil {
		c.named(p, d.Name)
	} else {
		to, id = p.methods, receiver(d)+"."+d.Name.Name
	}
	if to[id] != nil || id == "init" {
		c.report("%s: function %s is declared twice, or runs by itself", p.at(d.Pos()), id)
	}
	to[id] = d
}

// receiver returns the name of the type that a method is on, or on whose pointer.
func receiver(d *ast.FuncDecl) string {
	if len(d.Recv.List) == 1 {
		of := d.Recv.List[0].Type
		if star, ok := of.(*ast.StarExpr); ok {
			of = star.X
		}
		if id, ok := of.(*ast.Ident); ok {
			return id.Name
		}
	}
	return "?"
}

func (c *checker) spec(p *program, d *ast.GenDecl, s ast.Spec) {
	switch s := s.(type) {
	case *ast.ImportSpec:
		c.importSpec(p, s)
	case *ast.TypeSpec:
		c.named(p, s.Name)
		if p.types[s.Name.Name] != nil {
			c.report("%s: type %s is declared twice", p.at(s.Pos()), s.Name.Name)
		}
		p.types[s.Name.Name] = s
	case *ast.ValueSpec:
		if d.Tok == token.CONST {
			c.constant(p, s)
			return
		}
		c.variable(p, d, s)
	}
}

func (c *checker) importSpec(p *program, s *ast.ImportSpec) {
	from, _ := strconv.Unquote(s.Path.Value)
	blank := s.Name != nil && s.Name.Name == "_" && from == "embed"
	needed := imports[from] || c.isForeign(from) || apiImports[from] && p.inFace(s)
	if !needed || s.Name != nil && !blank {
		c.report("%s: import of %s, which emitted code does not need, or under another name", p.at(s.Pos()), s.Path.Value)
		return
	}
	p.imported[path.Base(from)] = true
}

// inFace reports whether a node is in the file of the package's face.
func (p *program) inFace(n ast.Node) bool { return p.set.Position(n.Pos()).Filename == "model.go" }

// variable collects a variable: one name, with a value or with a file that is embedded.
func (c *checker) variable(p *program, d *ast.GenDecl, s *ast.ValueSpec) {
	if len(s.Names) != 1 || len(s.Values) > 1 {
		c.report("%s: a declaration of %d variables", p.at(s.Pos()), len(s.Names))
		return
	}
	id := s.Names[0].Name
	c.named(p, s.Names[0])
	if _, twice := p.vars[id]; twice {
		c.report("%s: %s is declared twice", p.at(s.Pos()), id)
	}
	p.vars[id], p.specs[id] = nil, s
	if len(s.Values) == 1 {
		p.vars[id] = s.Values[0]
	}
	if d.Doc != nil {
		if i := slices.IndexFunc(d.Doc.List, func(l *ast.Comment) bool { return strings.HasPrefix(l.Text, "//go:embed ") }); i >= 0 {
			p.embeds[id] = strings.TrimPrefix(d.Doc.List[i].Text, "//go:embed ")
		}
	}
	switch file, given := holds(id), len(s.Values) == 1; {
	case file != "" && (given || p.embeds[id] != file || typeText(s.Type) != "string"):
		c.report("%s: %s does not hold the file %s", p.at(s.Pos()), id, file)
	case loaderType(id) != "" && (given || typeText(s.Type) != loaderType(id)):
		c.report("%s: %s is not the loader as it is", p.at(s.Pos()), id)
	case file == "" && loaderType(id) == "" && (!given || s.Type != nil || p.embeds[id] != ""):
		c.report("%s: %s has no value, or a type or a file", p.at(s.Pos()), id)
	}
}

// loader returns the variable that opens the devices of a kind of target.
func loader(kind string) string {
	switch {
	case isGPU(kind):
		return gpuKinds[kind].loader
	case kind == "cpugroup":
		return "groups"
	}
	if backend.Get(kind) != nil {
		return kind + "Loader"
	}
	return "simulated"
}

// loaderType returns the type of a variable that opens devices, whose zero value is used, or "" if id is not one.
func loaderType(id string) string {
	for _, k := range gpuKinds {
		if k.loader == id {
			return k.loaderType
		}
	}
	for _, b := range backend.All() {
		if loader(b.Name()) == id {
			return b.PackageName() + ".Loader"
		}
	}
	switch id {
	case loader("fake"):
		return "fake.Loader"
	case loader("cpugroup"):
		return "runtime.Groups"
	}
	return ""
}

// constant collects a constant: one of the handshake with the runtime, or one that face compares.
func (c *checker) constant(p *program, s *ast.ValueSpec) {
	if p.inFace(s) && len(s.Names) == 1 && s.Names[0].Name != "_" {
		id := s.Names[0].Name
		if c.named(p, s.Names[0]); p.consts[id] != nil {
			c.report("%s: %s is declared twice", p.at(s.Pos()), id)
		}
		p.consts[id] = s
		return
	}
	if len(s.Names) != 1 || s.Names[0].Name != "_" || s.Type != nil || len(s.Values) != 1 {
		c.report("%s: a constant that is not of the handshake", p.at(s.Pos()))
		return
	}
	p.handshake = append(p.handshake, source(s.Values[0]))
}

// idle returns the constants of a function that nothing in it uses.
func idle(d *ast.FuncDecl) []*ast.Ident {
	var declared []*ast.Ident
	uses := make(map[string]int)
	ast.Inspect(d.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			declared = append(declared, n.Names...)
		case *ast.Ident:
			uses[n.Name]++
		}
		return true
	})
	return slices.DeleteFunc(declared, func(id *ast.Ident) bool { return uses[id.Name] > 1 })
}

// unused reports functions, constants and variables that nothing refers to: the code of a node would
// then never run.
func (c *checker) unused(p *program) {
	for id, d := range p.funcs {
		if !p.used[id] {
			c.report("%s: nothing runs %s", p.at(d.Pos()), id)
		}
	}
	for _, d := range slices.Concat(slices.Collect(maps.Values(p.funcs)), slices.Collect(maps.Values(p.methods))) {
		for _, id := range idle(d) {
			c.report("%s: nothing uses the constant %s", p.at(id.Pos()), id.Name)
		}
	}
	for id := range p.vars {
		if !p.used[id] {
			c.report("nothing uses the variable %s", id)
		}
	}
}
