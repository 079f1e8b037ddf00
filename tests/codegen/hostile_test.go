package codegen_test

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/scanner"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/target"
)

// hostileTemplate has everything that has a name in a text: functions, values, symbols, weights, states,
// sources, metadata, notes. It has devices too.
const hostileTemplate = `ggir 1
module "m"
after import
props imported
meta "key" "value"
symbol rows 1 64
source src "model.gguf" 0
weight "w" : f32[32,32] = src["w"]
func @f(%x: f32[rows,64]) -> (y: f32[rows,32]) doc="is a note" {
  %left = slice %x {axis=1, start=32, len=32} : f32[rows,32 strides 64,1]
  %a = relu %left : f32[rows,32] pos="p"
  %b = tanh %a : f32[rows,32]
  %w = weight "w" : f32[32,32]
  %c = matmul %b, %w : f32[rows,32]
  %d = exp %c : f32[rows,32]
  return %d
}
func @g(%x: f32[rows], %z: f32[rows]) -> (y: f32[rows], u: f32[rows]) doc="is another" {
  %a = add %x, %z : f32[rows]
  %e = relu %a : f32[rows]
  return %a, %e
}
`

const hostileTargets = `target first like=fake space=first
target second like=fake space=second events=false
target cpu like=cpu
`

// hostile are texts for names and notes.
type hostile struct{ a, b, note string }

// harmless gives the package that all others must be like.
var harmless = hostile{"one", "two", "is a note"}

// hostiles are the attacks that were found, and their neighbours.
var hostiles = []hostile{
	{"p\n*/\nfunc init() { panic(1) }\n/*", "q", "*/ func init() {} /*"},
	{"/*", "*/", "/* x */ func init() {}"},
	{"//go:linkname f runtime.main", "go:embed *", strings.Repeat("x", 85) + " //go:linkname f runtime.main"},
	{"+build ignore", "// +build ignore", strings.Repeat("x", 85) + " +build ignore"},
	{"\n+build ignore\n\n", "\n//go:build ignore\n\npackage x\n", "\n\n//go:build ignore\n\n"},
	{"\r//line x.go:1\r\n", "//line x.go:1", "\r+build x\r//export f"},
	{"a\u2028func init() {}\u2029", "b\u0085\u202e\u2066", "\u2028func init() {}\u2029\ufeff"},
	{"\xff\xfe\x00\x1b[2J", "`", "`\" + panic(1) + \"`\x00\xff"},
	{"\"", "\\", "\\n\" + \"\\"},
	{"nil", "string", "Deprecated: //go:noinline"},
	{"init", "main", "#cgo LDFLAGS: -lm"},
	{"a b", "a_b", "[x]: http://example.com"},
	{"../../x", "", "- list\n\n# heading\n\n\tcode"},
}

// FuzzHostileTexts gives a module's members any names and notes. The source that is emitted
// must have the tokens of that of harmless names, and no directive but those of its files.
func FuzzHostileTexts(f *testing.F) {
	for _, h := range hostiles {
		f.Add(h.a, h.b, h.note)
	}
	want := map[string]*codegen.Package{"main": hostilePackage(f, harmless, "main"), "tiny": hostilePackage(f, harmless, "tiny")}
	f.Fuzz(func(t *testing.T, a, b, note string) {
		if len(a)+len(b)+len(note) > 1000 {
			return
		}
		for name, like := range want {
			p := hostilePackage(t, hostile{a, b, note}, name)
			comparePackages(t, p, like)
			checkTopLevel(t, p)
		}
	})
}

// hostilePackage emits the template with these texts in every place, for devices.
func hostilePackage(t testing.TB, h hostile, name string) *codegen.Package {
	t.Helper()
	m, err := ir.Parse("hostile.ggir", []byte(hostileTemplate))
	if err != nil {
		t.Fatal(err)
	}
	renameAll(m, h)
	text := m.String()
	if m, err = ir.Parse("hostile.ggir", []byte(text)); err != nil {
		t.Fatalf("the text of these names does not parse: %v\n%s", err, text)
	}
	o := hostileOptions(t)
	if err := compileWith(m, o); err != nil {
		t.Fatal(err)
	}
	p, err := codegen.Emit(m, codegen.Options{Package: name, Compiler: "ggmlc " + h.a, Name: h.a, PlanID: h.b, CPU: []string{h.a},
		Weights: codegen.File, WeightsFile: h.a, Tokenizer: []byte(h.a), Profile: true, Targets: o.Targets})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func hostileOptions(t testing.TB) (o passes.RunOptions) {
	t.Helper()
	var err error
	if o.Targets, err = target.Parse("targets", hostileTargets); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"/a$=first", "/c$=second", "/[bde]$=cpu"} {
		pin, err := pass.ParsePin(text)
		if err != nil {
			t.Fatal(err)
		}
		o.Options.Pins = append(o.Options.Pins, pin)
	}
	return o
}

// renameAll puts the texts into every name and note of the template. What makes names differ
// follows after a slash.
func renameAll(m *ir.Module, h hostile) {
	m.Name = h.a
	m.Meta[0] = ir.Meta{Key: h.a, Value: h.b}
	m.Sources[0].Path = h.a
	m.Sources[0].Name = h.b + "/src"
	w := m.Weights[0]
	w.Name = h.a + "/w"
	w.Expr = ir.Tensor(m.Sources[0].Name, h.b)
	m.Funcs[0].Name, m.Funcs[1].Name = h.a+"f", h.b+"g"
	for _, f := range m.Funcs {
		f.Doc = h.note
		for i := range f.ResultNames {
			f.ResultNames[i] = h.b
		}
		for _, p := range f.Params {
			f.Rename(p, h.a+"/"+p.Name())
		}
		for _, n := range f.Nodes {
			n.Pos = h.note
			if a, ok := n.Attr.(*ir.WeightAttr); ok {
				a.Name = w.Name
			}
			for _, r := range n.Results {
				f.Rename(r, h.b+"/"+r.Name())
			}
		}
	}
}

// comparePackages compares the tokens of two packages: kinds, not names and values.
func comparePackages(t *testing.T, p, like *codegen.Package) {
	t.Helper()
	for i, f := range p.Files {
		if filepath.Ext(f.Name) != ".go" {
			continue
		}
		checkText(t, f)
		got, want := kinds(t, f), kinds(t, like.Files[i])
		if !slices.Equal(got, want) {
			t.Errorf("%s: other tokens than with harmless names:\n%s", f.Name, f.Data)
		}
	}
}

// kinds returns the kinds of a file's tokens, without comments.
func kinds(t *testing.T, f codegen.SourceFile) []token.Token {
	t.Helper()
	fset := token.NewFileSet()
	var s scanner.Scanner
	s.Init(fset.AddFile(f.Name, -1, len(f.Data)), f.Data, func(pos token.Position, msg string) { t.Errorf("%v: %s", pos, msg) }, 0)
	var all []token.Token
	for {
		_, tok, _ := s.Scan()
		all = append(all, tok)
		if tok == token.EOF {
			return all
		}
	}
}

// checkText demands of a file that it prints, and that its comments are for readers only.
func checkText(t *testing.T, f codegen.SourceFile) {
	t.Helper()
	for i, r := range string(f.Data) {
		if r != '\n' && r != '\t' && !strconv.IsPrint(r) {
			t.Errorf("%s: %q at byte %d", f.Name, r, i)
		}
	}
	file, err := parser.ParseFile(token.NewFileSet(), f.Name, f.Data, parser.ParseComments|parser.DeclarationErrors)
	if err != nil {
		t.Fatalf("%v\n%s", err, f.Data)
	}
	for _, group := range file.Comments {
		for _, c := range group.List {
			if isDirective(c.Text) {
				t.Errorf("%s: the comment %q is a directive", f.Name, c.Text)
			}
		}
	}
}

// isDirective reports whether a comment is more than a text, the embedding of files of the
// package left out.
func isDirective(text string) bool {
	switch text {
	case "//", "//go:embed plan.txt", "//go:embed plan.json", "//go:embed tokenizer.bin":
		return false
	}
	return !strings.HasPrefix(text, "// ") || constraint.IsPlusBuild(text) || constraint.IsGoBuild(text)
}

// checkTopLevel demands that no two declarations of a package have one name.
func checkTopLevel(t *testing.T, p *codegen.Package) {
	t.Helper()
	seen := make(map[string]bool)
	for _, f := range p.Files {
		if filepath.Ext(f.Name) != ".go" {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f.Name, f.Data, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range declared(file) {
			if seen[name] && name != "_" {
				t.Errorf("%s: %s is declared twice", f.Name, name)
			}
			seen[name] = true
		}
	}
}

// declared returns the names that a file declares; of a method with its receiver's type.
func declared(file *ast.File) []string {
	var names []string
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				of := d.Recv.List[0].Type
				if star, ok := of.(*ast.StarExpr); ok {
					of = star.X
				}
				name = of.(*ast.Ident).Name + "." + name
			}
			names = append(names, name)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					names = append(names, s.Name.Name)
				case *ast.ValueSpec:
					for _, id := range s.Names {
						names = append(names, id.Name)
					}
				}
			}
		}
	}
	return names
}
