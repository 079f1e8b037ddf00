package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/codegen/model"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

const packagePage = "docs/reference/package.md"

// TestPackagePageIsComplete compares the page with generated packages: everything that they export, and the errors of
// package runtime that callers test for.
func TestPackagePageIsComplete(t *testing.T) {
	if testing.Short() {
		t.Skip("skip: compiles ggmlc")
	}
	root := needtest.Root(t)
	page := pagesOf(t, root)[packagePage]
	h := &helper{t: t, dir: readmeFolder(t)}
	h.run("./ggmlc", "gen", "model.gguf", "-o", "story", "--package", "story")
	names := exported(t, filepath.Join(h.dir, "story", "model.go"))
	h.run("./ggmlc", "gen", filepath.Join(root, "examples", "mlp", "mlp.ggir"), "-o", "parity", "--package", "parity")
	names = append(names, exported(t, filepath.Join(h.dir, "parity", "model.go"))...)
	embed, err := model.Source.ReadFile("embed.go")
	if err != nil {
		t.Fatal(err)
	}
	names = append(names, exportedIn(t, "embed.go", embed)...)
	for _, m := range regexp.MustCompile(`(?m)^\t(Err[A-Z]\w+) += `).FindAllStringSubmatch(sourceOf(t, root, "runtime"), -1) {
		names = append(names, m[1])
	}
	for _, name := range names {
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(page) {
			t.Errorf("%s lacks %s", packagePage, name)
		}
	}
	if len(names) < 150 {
		t.Errorf("only %d names were found: %s", len(names), strings.Join(names, " "))
	}
}

// exported returns the names that a file exports: of functions, methods, types, fields, constants and variables.
func exported(t *testing.T, path string) []string {
	t.Helper()
	return exportedIn(t, path, nil)
}

// exportedIn is exported for a file whose text is given.
func exportedIn(t *testing.T, path string, src any) (names []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, src, 0)
	if err != nil {
		t.Fatal(err)
	}
	add := func(ids ...*ast.Ident) {
		for _, id := range ids {
			if id.IsExported() {
				names = append(names, id.Name)
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			add(n.Name)
			return false
		case *ast.TypeSpec:
			add(n.Name)
		case *ast.Field:
			add(n.Names...)
		case *ast.ValueSpec:
			add(n.Names...)
		}
		return true
	})
	return names
}
