package codegen

import (
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
	err := fs.WalkDir(ggmlc.Sources, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !travels(path) {
			return err
		}
		data, err := fs.ReadFile(ggmlc.Sources, path)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o644)
	})
	if err != nil {
		return fmt.Errorf("unpacking the runtime's sources: %w", err)
	}
	mod := "module " + ModulePath + "\n\ngo " + goVersion + "\n"
	return os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o644)
}

// travels reports whether a file is part of what programs are built from.
func travels(path string) bool {
	return (strings.HasSuffix(path, ".go") || strings.HasSuffix(path, ".s") || strings.HasSuffix(path, ".h")) &&
		!strings.HasSuffix(path, "_test.go")
}
