package readback_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ggmlc/ggmlc/codegen/readback"
)

// exports are the files with what packages export, by import path.
var exports = sync.OnceValues(func() (map[string]string, error) {
	out, err := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}",
		"../../runtime", "../../runtime/fake", "../../runtime/gpu", "../../runtime/vulkan", "../../kernels/cpu", "../model", "embed", "iter", "net/http/pprof").Output()
	files := make(map[string]string)
	for line := range strings.Lines(string(out)) {
		id, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		files[id] = file
	}
	return files, err
})

// compiles reports whether the Go compiler would take the files of a package, as go/types
// knows it: a mutant that it refuses never runs.
type compiles struct{ imports types.Importer }

func newCompiles(t testing.TB) *compiles {
	t.Helper()
	files, err := exports()
	if err != nil {
		t.Fatal(err)
	}
	return &compiles{importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		if files[path] == "" {
			return nil, fmt.Errorf("no package %s", path)
		}
		return os.Open(files[path])
	})}
}

// refuses returns the error of the compiler.
func (c *compiles) refuses(files []readback.File) error {
	set := token.NewFileSet()
	var parsed []*ast.File
	for _, f := range files {
		if filepath.Ext(f.Name) != ".go" || strings.HasSuffix(f.Name, "_test.go") || bytes.HasPrefix(f.Data, []byte("//go:build ignore")) {
			continue
		}
		file, err := parser.ParseFile(set, f.Name, f.Data, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		parsed = append(parsed, file)
	}
	conf := types.Config{Importer: c.imports, Sizes: types.SizesFor("gc", "amd64")}
	_, err := conf.Check("program", set, parsed, nil)
	return err
}
