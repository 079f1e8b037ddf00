package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/tests/needtest"
)

const packagePage = "docs/reference/package.md"

// TestPackagePageIsComplete compares the page with a generated package: exported functions and methods,
// fields of the options, errors of package runtime that callers test for.
func TestPackagePageIsComplete(t *testing.T) {
	if testing.Short() {
		t.Skip("skip: compiles ggmlc")
	}
	root := needtest.Root(t)
	page := pagesOf(t, root)[packagePage]
	h := &helper{t: t, dir: readmeFolder(t)}
	h.run("./ggmlc", "gen", "model.gguf", "-o", "story", "--package", "story")
	names := append(exportedFuncs(t, filepath.Join(h.dir, "story", "model.go")), fieldsOf(t, filepath.Join(root, "runtime"), "Options", "GenerateOptions", "Token")...)
	for _, m := range regexp.MustCompile(`(?m)^\t(Err[A-Z]\w+) += `).FindAllStringSubmatch(sourceOf(t, root, "runtime"), -1) {
		names = append(names, m[1])
	}
	for _, name := range names {
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(page) {
			t.Errorf("%s lacks %s", packagePage, name)
		}
	}
	if len(names) < 25 {
		t.Errorf("only %d names were found: %s", len(names), strings.Join(names, " "))
	}
}

// exportedFuncs returns the names of a file's exported functions and methods.
func exportedFuncs(t *testing.T, path string) (names []string) {
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range f.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Name.IsExported() {
			names = append(names, fn.Name.Name)
		}
	}
	return names
}

// fieldsOf returns the names of the fields of some structs of a package.
func fieldsOf(t *testing.T, dir string, structs ...string) (names []string) {
	d := &declarations{root: dir, packages: make(map[string]map[string]bool)}
	declared, err := d.load(".")
	if err != nil {
		t.Fatal(err)
	}
	for name := range declared {
		for _, s := range structs {
			if field, ok := strings.CutPrefix(name, s+"."); ok && ast.IsExported(field) {
				names = append(names, field)
			}
		}
	}
	return names
}
