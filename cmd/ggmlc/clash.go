package main

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/codegen/driver"
)

// namedPath is a path with what the user knows it as.
type namedPath struct{ name, path string }

// outputs are the files that a command was asked to write. Those without a path, and
// devices, which are written to and not replaced, are left out.
func outputs(paths ...namedPath) []namedPath {
	return slices.DeleteFunc(paths, func(p namedPath) bool { return p.path == "" || codegen.Device(p.path) })
}

// noClash refuses outputs that would replace an input, or one another.
func noClash(inputs, outputs []namedPath) error {
	for i, out := range outputs {
		for _, in := range inputs {
			if exists(in.path) && samePath(in.path, out.path) { // what is missing is said when it is opened
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

// exists reports whether there is something at a path.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return path != "" && err == nil
}

// samePath reports whether two paths name one file, which need not exist.
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

// resolved returns the absolute path with the links of the folder followed. The last
// element stays: replacing a link is not replacing what it points to.
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

// inputs are the files that are known before the model is read.
func (f *compileFlags) inputs(model string) []namedPath {
	in := []namedPath{{"the model", model}, {"the target file", f.targetFile}}
	pairs, _ := parsePairs("--source", f.sources) // what is wrong with them is said by load
	for name, path := range pairs {
		in = append(in, namedPath{"source " + name, path})
	}
	return in
}

// sourceInputs are the files that a model's weights come from.
func sourceInputs(md *driver.Model) []namedPath {
	var in []namedPath
	for _, s := range md.Module.Sources {
		in = append(in, namedPath{"source " + s.Name, md.SourcePath(s)})
	}
	return in
}
