package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The table of packages is the part of ARCHITECTURE.md between these lines.
const (
	packagesBegin = "<!-- packages: go generate ./docs/tables -->\n"
	packagesEnd   = "<!-- end of packages -->\n"
)

// packageFolders are the folders whose packages the table lists.
var packageFolders = []string{"cmd", "codegen", "frontend", "ir", "kernels", "passes", "runtime"}

// pkg is one package of the table.
type pkg struct {
	folder   string // within the repository
	lines    int    // of Go files that are neither tests nor generated
	sentence string // the first one of the package comment, without the words "Package NAME"

	types []string // those with the most lines of declarations and methods, at most mostTypes
}

// mostTypes is how many types of a package the table names, so that a receiver tells a reader where he is.
const mostTypes = 6

// listPackages returns the packages of the repository at root, sorted by folder.
func listPackages(root string) ([]pkg, error) {
	var list []pkg
	for _, top := range packageFolders {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d os.DirEntry, err error) error {
			switch {
			case err != nil || !d.IsDir():
				return err
			case strings.HasPrefix(d.Name(), "_") || d.Name() == "testdata":
				return filepath.SkipDir
			}
			p, err := readPackage(path)
			if err != nil || p.lines == 0 {
				return err
			}
			folder, err := filepath.Rel(root, path)
			p.folder = filepath.ToSlash(folder)
			list = append(list, p)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(list, func(a, b pkg) int { return strings.Compare(a.folder, b.folder) })
	return list, nil
}

// readPackage counts the lines of the package in a folder and finds its sentence. A folder without Go files has no
// lines.
func readPackage(folder string) (p pkg, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return p, err
	}
	set := token.NewFileSet()
	var parsed []*ast.File // of what is not generated
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return p, err
		}
		file, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return p, err
		}
		if !ast.IsGenerated(file) {
			p.lines += bytes.Count(text, []byte("\n"))
			parsed = append(parsed, file)
		}
		if file.Doc != nil && p.sentence == "" {
			p.sentence = plainSentence(file)
		}
	}
	if p.lines > 0 {
		p.types, err = largestTypes(set, parsed)
	}
	return p, err
}

// largestTypes returns the names of the types that have the most lines, at most mostTypes.
func largestTypes(set *token.FileSet, files []*ast.File) ([]string, error) {
	all, err := doc.NewFromFiles(set, files, "", doc.AllDecls|doc.PreserveAST)
	if err != nil {
		return nil, err
	}
	span := func(n ast.Node) int { return set.Position(n.End()).Line - set.Position(n.Pos()).Line + 1 }
	lines := make(map[string]int)
	var names []string
	for _, t := range all.Types {
		names = append(names, t.Name)
		for _, spec := range t.Decl.Specs {
			lines[t.Name] += span(spec)
		}
		for _, m := range t.Methods {
			if m.Level == 0 { // not promoted from an embedded type
				lines[t.Name] += span(m.Decl)
			}
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(lines[b], lines[a]), strings.Compare(a, b)) })
	return names[:min(len(names), mostTypes)], nil
}

// plainSentence returns the first sentence of the comment of the file's package as a cell of the table.
func plainSentence(file *ast.File) string {
	text := new(doc.Package).Synopsis(file.Doc.Text())
	for _, start := range []string{"Package " + file.Name.Name + " ", "Command "} {
		text = strings.TrimPrefix(text, start)
	}
	return strings.NewReplacer("[", "", "]", "", "|", "\\|").Replace(strings.TrimSuffix(text, "."))
}

// packagesTable returns the table. Lines are rounded to hundreds, so that few changes of code change the page.
func packagesTable(list []pkg) string {
	var b strings.Builder
	b.WriteString("| package | lines | what it does | largest types |\n|---|---|---|---|\n")
	for _, p := range list {
		fmt.Fprintf(&b, "| `%s` | %d | %s | %s |\n", p.folder, max(100, (p.lines+50)/100*100), p.sentence, strings.Join(p.types, ", "))
	}
	return b.String()
}

// replacePackages returns the text of a page with another table between the lines that mark it.
func replacePackages(text, table string) (string, error) {
	before, rest, found := strings.Cut(text, packagesBegin)
	_, after, ended := strings.Cut(rest, packagesEnd)
	if !found || !ended {
		return "", fmt.Errorf("no lines %q and %q", packagesBegin, packagesEnd)
	}
	return before + packagesBegin + table + packagesEnd + after, nil
}

// writePackages updates the table in ARCHITECTURE.md of the repository at root.
func writePackages(root string) error {
	list, err := listPackages(root)
	if err != nil {
		return err
	}
	page := filepath.Join(root, "ARCHITECTURE.md")
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	updated, err := replacePackages(string(text), packagesTable(list))
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	return os.WriteFile(page, []byte(updated), 0o666)
}
