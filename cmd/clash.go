package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/frontend/gguf"
)

// namedPath is a path with the name by which the user knows it.
type namedPath struct{ name, path string }

// outputs returns the files that a command replaces. It leaves out entries without a path, and devices, which are not
// replaced.
func outputs(paths ...namedPath) []namedPath {
	return slices.DeleteFunc(paths, func(p namedPath) bool { return p.path == "" || codegen.Device(p.path) })
}

// noClash refuses outputs that would replace an input, or one another.
func noClash(inputs, outputs []namedPath) error {
	for i, out := range outputs {
		for _, in := range withParts(inputs) {
			if exists(in.path) && samePath(in.path, out.path) { // opening it reports a missing file
				return usagef("%s %s: this is %s, which would be overwritten: choose another path", out.name, out.path, in.name)
			}
		}
		for _, other := range outputs[:i] {
			if samePath(other.path, out.path) {
				return usagef("%s %s: the same file as that of %s: choose another path", out.name, out.path, other.name)
			}
		}
	}
	return nil
}

// withParts adds the other parts of models in several files.
func withParts(inputs []namedPath) []namedPath {
	all := slices.Clone(inputs)
	for _, in := range inputs {
		for i, path := range gguf.OtherParts(in.path) {
			all = append(all, namedPath{fmt.Sprintf("part %d of %s", i+2, in.name), path})
		}
	}
	return all
}

// exists reports whether there is something at a path.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return path != "" && err == nil
}

// samePath reports whether two paths name the same file, which need not exist.
func samePath(a, b string) bool {
	if resolved(a) == resolved(b) {
		return true
	}
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// resolved returns the absolute path with the links of its folder resolved, but not a link in its last element:
// replacing a link does not replace its target.
func resolved(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return filepath.Clean(path)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil {
		return abs
	}
	return filepath.Join(dir, filepath.Base(abs))
}

// inputs returns the files that are known before the model is read.
func (f *compileFlags) inputs(model string) []namedPath {
	in := []namedPath{{"the model", model}, {"the target file", f.targetFile}, {"the grammar", f.grammar}, {"the schema", f.schema}}
	pairs, _ := parsePairs("--source", f.sources) // load reports errors in them
	for name, path := range pairs {
		in = append(in, namedPath{"source " + name, path})
	}
	return in
}

// sourceInputs returns the files that a model's weights come from.
func sourceInputs(md *driver.Model) []namedPath {
	var in []namedPath
	for _, s := range md.Module.Sources {
		in = append(in, namedPath{"source " + s.Name, md.SourcePath(s)})
	}
	return in
}
