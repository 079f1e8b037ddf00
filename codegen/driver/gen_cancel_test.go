package driver

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ggmlc/ggmlc/passes/target"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// genDemo writes a package for a context of so many positions, and calls progress while its weights are packed.
func genDemo(t *testing.T, ctx context.Context, dir string, positions int, progress func()) error {
	md, err := Load(ctx, needtest.Data(t, "aidreams260K.gguf"), LoadOptions{Context: positions})
	if err != nil {
		t.Fatal(err)
	}
	defer md.Close()
	targets, err := target.Select("cpu")
	if err != nil {
		t.Fatal(err)
	}
	co := CompileOptions{Targets: targets}
	co.Passes.Rules, co.Passes.Pipeline = "cost", 1
	return Gen(ctx, md, co, OutputOptions{Compiler: "ggmlc test", Out: dir, Package: "story", Progress: func(int64, int64) { progress() }})
}

// contents returns the files of a folder, hidden ones included.
func contents(t *testing.T, dir string) map[string]string {
	files := make(map[string]string)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(data)
	}
	return files
}

// TestInterruptedGenLeavesTheOldPackage: nothing of the new one is there, and no temporary file.
func TestInterruptedGenLeavesTheOldPackage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "story")
	interrupted := func() error {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		return genDemo(t, ctx, dir, 64, cancel)
	}
	if err := interrupted(); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is left: %v", err)
	}
	if err := genDemo(t, t.Context(), dir, 32, func() {}); err != nil {
		t.Fatal(err)
	}
	before := contents(t, dir)
	if err := interrupted(); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	after := contents(t, dir)
	if len(before) < 5 || len(after) != len(before) {
		t.Errorf("%d files before, %d after", len(before), len(after))
	}
	for name, data := range before {
		if after[name] != data {
			t.Errorf("%s has changed", name)
		}
	}
}
