// Command stat prints how large our files and functions are, how much of the code is
// comment, and how many lines of tests stand beside it, by top-level folder. Generated
// files do not count.
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

// folder is what is counted of one folder.
type folder struct {
	files, lines, comments, tests int
	largest                       int   // lines of its largest file
	funcs                         []int // lines of each function, tests left out
}

func main() {
	folders := make(map[string]*folder)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		return count(folders, path)
	})
	if err != nil {
		log.Fatal(err)
	}
	print(folders)
}

// count adds a file to its folder and to the whole.
func count(folders map[string]*folder, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(file) {
		return err
	}
	top, _, _ := strings.Cut(filepath.ToSlash(path), "/")
	for _, name := range []string{top, "total"} {
		if folders[name] == nil {
			folders[name] = new(folder)
		}
		folders[name].add(set, file, bytes.Count(text, []byte("\n")), strings.HasSuffix(path, "_test.go"))
	}
	return nil
}

func (f *folder) add(set *token.FileSet, file *ast.File, lines int, test bool) {
	f.files++
	f.largest = max(f.largest, lines)
	if test {
		f.tests += lines
		return
	}
	f.lines += lines
	for _, group := range file.Comments {
		f.comments += span(set, group)
	}
	for _, decl := range file.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok {
			f.funcs = append(f.funcs, span(set, fn))
		}
	}
}

// span is how many lines a node takes.
func span(set *token.FileSet, n ast.Node) int {
	return set.Position(n.End()).Line - set.Position(n.Pos()).Line + 1
}

func print(folders map[string]*folder) {
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "folder\tfiles\tlargest\tlines\tcomments\ttests\tfunctions\tmedian\t90 %\t99 %\tlongest\t")
	for _, name := range names(folders) {
		f := folders[name]
		slices.Sort(f.funcs)
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%.2f\t%.2f\t%d\t%d\t%d\t%d\t%d\t\n", name, f.files, f.largest, f.lines,
			ratio(f.comments, f.lines), ratio(f.tests, f.lines), len(f.funcs), f.share(50), f.share(90), f.share(99), f.share(100))
	}
	if err := w.Flush(); err != nil {
		log.Fatal(err)
	}
}

// names are the folders in order, the whole at the end.
func names(folders map[string]*folder) []string {
	var names []string
	for name := range folders {
		if name != "total" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return append(names, "total")
}

func ratio(a, b int) float64 { return float64(a) / float64(max(1, b)) }

// share is the length that so many percent of the functions do not exceed.
func (f *folder) share(percent int) int {
	if len(f.funcs) == 0 {
		return 0
	}
	return f.funcs[max(0, (len(f.funcs)*percent+99)/100-1)]
}
