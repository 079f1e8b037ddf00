package passtest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/ggmlc/ggmlc/passes"
)

// Input is the input of one run of a file.
type Input struct {
	Name    string            // path of the file, and name of the section
	Module  string            // the text of the module
	Options passes.RunOptions // targets, passes and options
}

// Inputs returns the inputs of all runs of the files in the folders below dir, in the order of the paths of the files.
func Inputs(t testing.TB, dir string) []Input {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	var inputs []Input
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		of, err := inputsOf(path, archive)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		inputs = append(inputs, of...)
	}
	return inputs
}

// inputsOf returns the inputs of the runs of one file.
func inputsOf(path string, archive *txtar.Archive) ([]Input, error) {
	sections := make(map[string]string)
	for _, f := range archive.Files {
		sections[f.Name] = string(f.Data)
	}
	targets, err := targetsOf(sections["targets"])
	if err != nil {
		return nil, err
	}
	var inputs []Input
	for _, f := range archive.Files {
		if f.Name != "run" && !strings.HasPrefix(f.Name, "run.") {
			continue
		}
		var c testCase
		if err := c.read(string(f.Data)); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		c.options.Targets = targets
		inputs = append(inputs, Input{Name: path + " " + f.Name, Module: sections["in.ggir"], Options: c.options})
	}
	return inputs, nil
}
