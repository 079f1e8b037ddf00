package passtest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/ggmlc/ggmlc/passes"
)

// Input is what one run of a file starts from.
type Input struct {
	Name    string            // the file's path, and the run's section
	Module  string            // the text of the module
	Options passes.RunOptions // targets, passes and options
}

// Inputs returns the inputs of all runs in the folders below dir, in the order of their names.
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
