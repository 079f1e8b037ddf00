// Command stat measures the Go files below the current folder.
//
//	stat                             sizes of files and functions, share of comments, test lines per line of code
//	stat -words [folder]             how often the words occur in comments that the house style replaces
//	stat -words -beside DIR [folder] the same, compared with another tree
//
// Generated files do not count.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
)

func main() {
	log.SetFlags(0)
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(w io.Writer, args []string) error {
	flags := flag.NewFlagSet("stat", flag.ContinueOnError)
	words := flags.Bool("words", false, "count the words that the house style replaces")
	beside := flags.String("beside", "", "with -words: `folder` of another tree to compare with")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case *words && flags.NArg() <= 1:
		return printWords(w, cmp.Or(flags.Arg(0), "."), *beside)
	case *words || *beside != "" || flags.NArg() > 0:
		return fmt.Errorf("usage: stat, or stat -words [-beside folder] [folder]")
	}
	return printSizes(w)
}

// walk calls visit for each Go file below root. It leaves out generated files and, as the go command does,
// folders named testdata: they hold files that are wrong on purpose.
func walk(root string, visit func(path string, text []byte, set *token.FileSet, file *ast.File)) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "testdata":
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if !ast.IsGenerated(file) {
			visit(path, text, set, file)
		}
		return nil
	})
}
