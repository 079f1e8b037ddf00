package codegen

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/imports"
)

// Lines of codegen/model that begin and end what only some packages have.
const (
	beginFeature = "//api:if "
	endFeature   = "//api:end"
)

// selectLines returns a source without the lines for features that a package does not have.
func selectLines(src string, have map[feature]bool) (string, error) {
	var b strings.Builder
	var open []bool // whether the features of each block around the line are there
	for line := range strings.Lines(src) {
		switch word := strings.TrimSpace(line); {
		case strings.HasPrefix(word, beginFeature):
			any := false
			for name := range strings.FieldsSeq(word[len(beginFeature):]) {
				has, known := have[feature(name)]
				if !known {
					return "", fmt.Errorf("%s: there is no such feature", word)
				}
				any = any || has
			}
			open = append(open, any)
		case word == endFeature && len(open) == 0:
			return "", fmt.Errorf("%s without %s", endFeature, beginFeature)
		case word == endFeature:
			open = open[:len(open)-1]
		case !slices.Contains(open, false):
			b.WriteString(line)
		}
	}
	if len(open) > 0 {
		return "", fmt.Errorf("%s without %s", beginFeature, endFeature)
	}
	return b.String(), nil
}

// apiFile is a Go file that is made of several.
type apiFile struct {
	imports map[string]bool // paths
	body    bytes.Buffer
}

// add adds the declarations of a file, and the imports that they use.
func (a *apiFile) add(src string) error {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "", src, parser.ParseComments)
	if err != nil {
		return err
	}
	end := f.Name.End()
	for _, d := range f.Imports {
		path, err := strconv.Unquote(d.Path.Value)
		if err != nil {
			return err
		}
		if astutil.UsesImport(f, path) {
			a.imports[path] = true
		}
	}
	for _, d := range f.Decls {
		if isImport(d) {
			end = d.End()
		}
	}
	a.body.WriteString(src[set.Position(end).Offset:])
	a.body.WriteByte('\n')
	return nil
}

// source returns the file, of which first is the first line.
func (a *apiFile) source(first, pkg string, doc []string) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n\n", commentLine(first))
	for i, p := range doc {
		if i > 0 {
			b.WriteString("//\n")
		}
		for _, line := range wrap(p) {
			b.WriteString(commentLine(line) + "\n")
		}
	}
	fmt.Fprintf(&b, "package %s\n\nimport (\n", pkg)
	paths := slices.SortedFunc(maps.Keys(a.imports), func(x, y string) int {
		if own := compareOwn(x, y); own != 0 {
			return own
		}
		return strings.Compare(x, y)
	})
	for i, path := range paths {
		if i > 0 && compareOwn(paths[i-1], path) != 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "\t%q\n", path)
	}
	b.WriteString(")\n\n")
	b.Write(a.body.Bytes())
	data, err := imports.Process("", b.Bytes(), &imports.Options{FormatOnly: true, Comments: true, TabIndent: true, TabWidth: 8})
	if err != nil {
		return nil, fmt.Errorf("codegen: internal error: model.go: %w", err)
	}
	return data, nil
}

// compareOwn orders packages of the standard library before those of this module.
func compareOwn(x, y string) int {
	own := func(path string) int {
		if strings.HasPrefix(path, ModulePath+"/") {
			return 1
		}
		return 0
	}
	return own(x) - own(y)
}

// isImport reports whether a declaration imports packages.
func isImport(d ast.Decl) bool {
	g, ok := d.(*ast.GenDecl)
	return ok && g.Tok == token.IMPORT
}
