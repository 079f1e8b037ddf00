package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

// folder holds what is counted in one top-level folder.
type folder struct {
	files, lines, comments, tests int
	largest                       int   // lines of its largest file
	funcs                         []int // lines of each function, without those of tests
}

// printSizes counts the files below the current folder and writes one row for each top-level folder.
func printSizes(w io.Writer) error {
	folders := make(map[string]*folder)
	err := walk(".", func(path string, text []byte, set *token.FileSet, file *ast.File) {
		top, _, _ := strings.Cut(filepath.ToSlash(path), "/")
		for _, name := range []string{top, "total"} {
			if folders[name] == nil {
				folders[name] = new(folder)
			}
			folders[name].add(path, bytes.Count(text, []byte("\n")), set, file)
		}
	})
	if err != nil {
		return err
	}
	return writeSizes(w, folders)
}

// add counts one file.
func (f *folder) add(path string, lines int, set *token.FileSet, file *ast.File) {
	f.files++
	f.largest = max(f.largest, lines)
	if strings.HasSuffix(path, "_test.go") {
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

// span returns the number of lines from the first to the last line of a node.
func span(set *token.FileSet, n ast.Node) int {
	return set.Position(n.End()).Line - set.Position(n.Pos()).Line + 1
}

func writeSizes(out io.Writer, folders map[string]*folder) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "folder\tfiles\tlargest\tlines\tcomments\ttests\tfunctions\tmedian\t90 %\t99 %\tlongest\t")
	for _, name := range names(folders) {
		f := folders[name]
		slices.Sort(f.funcs)
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%.2f\t%.2f\t%d\t%d\t%d\t%d\t%d\t\n", name, f.files, f.largest, f.lines,
			ratio(f.comments, f.lines), ratio(f.tests, f.lines),
			len(f.funcs), f.percentile(50), f.percentile(90), f.percentile(99), f.percentile(100))
	}
	return w.Flush()
}

// names returns the folders in alphabetical order, followed by the total.
func names(folders map[string]*folder) []string {
	names := slices.Sorted(maps.Keys(folders))
	names = slices.DeleteFunc(names, func(name string) bool { return name == "total" })
	return append(names, "total")
}

func ratio(a, b int) float64 { return float64(a) / float64(max(1, b)) }

// percentile returns the smallest length that the given percentage of the functions do not exceed.
// The lengths have to be sorted.
func (f *folder) percentile(percent int) int {
	if len(f.funcs) == 0 {
		return 0
	}
	return f.funcs[max(0, (len(f.funcs)*percent+99)/100-1)]
}
