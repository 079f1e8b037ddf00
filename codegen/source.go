package codegen

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ggmlc/ggmlc"
)

// goVersion is the oldest Go that compiles what is emitted.
const goVersion = "1.26"

// WriteSources writes the packages that emitted programs import into dir, as a module without
// dependencies. So emitted code and these packages are always of one version.
func WriteSources(dir string) error {
	if err := writeTravelers(dir, ggmlc.Sources); err != nil {
		return err
	}
	mod := "module " + ModulePath + "\n\ngo " + goVersion + "\n"
	return os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o644)
}

// writeTravelers writes the files that programs are built from.
func writeTravelers(dir string, from embed.FS) error {
	err := eachTraveler(from, func(path string, data []byte) error {
		return writeFiles(dir, []SourceFile{{path, data}})
	})
	if err != nil {
		return fmt.Errorf("unpacking the runtime's sources: %w", err)
	}
	return nil
}

// eachTraveler calls f for each file that programs are built from, in the order of their paths.
func eachTraveler(from embed.FS, f func(path string, data []byte) error) error {
	return fs.WalkDir(from, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !travels(path) {
			return err
		}
		data, err := fs.ReadFile(from, path)
		if err != nil {
			return err
		}
		return f(path, data)
	})
}

// travels reports whether a file is part of what programs are built from.
func travels(path string) bool {
	return (strings.HasSuffix(path, ".go") || strings.HasSuffix(path, ".s") || strings.HasSuffix(path, ".h")) &&
		!strings.HasSuffix(path, "_test.go")
}
