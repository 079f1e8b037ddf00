package codegen

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/codegen/backend"
	"github.com/ggmlc/ggmlc/codegen/model"
	"github.com/ggmlc/ggmlc/ir"
)

// TestNamesOfTheAPIAreReserved: no name of a module becomes one that model.go declares or imports.
func TestNamesOfTheAPIAreReserved(t *testing.T) {
	taken := newNames(&ir.Module{}).top
	for _, name := range model.Files {
		src, err := model.Source.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, src, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, imp := range f.Imports {
			p, err := strconv.Unquote(imp.Path.Value)
			if err != nil || !slices.Contains(backend.EmittedNames, path.Base(p)) {
				t.Errorf("%s imports %s, which is not in backend.EmittedNames", name, imp.Path.Value)
			}
		}
		for _, id := range declared(f) {
			if !ast.IsExported(id) && !taken[id] {
				t.Errorf("%s declares %s, which is not among apiNames in names.go", name, id)
			}
		}
	}
}

// declared returns the names that a file declares for its package.
func declared(f *ast.File) (ids []string) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				ids = append(ids, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					ids = append(ids, s.Name.Name)
				case *ast.ValueSpec:
					ids = append(ids, s.Names[0].Name)
				}
			}
		}
	}
	return ids
}

func TestLinesOfFeatures(t *testing.T) {
	have := map[feature]bool{withLanguage: true, withChat: false, withTokenizer: false}
	for src, want := range map[string]string{
		"a\n//api:if language\nb\n//api:end\nc\n":                                             "a\nb\nc\n",
		"a\n//api:if chat tokenizer\nb\n\t//api:if language\nx\n//api:end\ny\n//api:end\nc\n": "a\nc\n",
		"//api:if chat language\nb\n//api:if tokenizer\nx\n//api:end\n//api:end\n":            "b\n",
		"//api:if speech\n//api:end\n":                                                        "error: no such feature",
		"//api:if chat\n":                                                                     "error: without //api:end",
		"//api:end\n":                                                                         "error: without //api:if",
	} {
		got, err := selectLines(src, have)
		if err != nil {
			if e, ok := strings.CutPrefix(want, "error: "); !ok || !strings.Contains(err.Error(), e) {
				t.Errorf("%q: %v, want %q", src, err, want)
			}
			continue
		}
		if got != want {
			t.Errorf("%q: %q, want %q", src, got, want)
		}
	}
}
