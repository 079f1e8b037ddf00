package tests

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/target"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// compiled holds all files that a compilation writes, by name.
type compiled map[string][]byte

// TestCompilesAreReproducible: the same model gives the same bytes, of dumps and executable, in another folder, with
// another number of processors, and in a second run.
func TestCompilesAreReproducible(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	rounds := []int{1, 4, 4}
	if testing.Short() {
		rounds = rounds[:2]
	}
	var first compiled
	for i, procs := range rounds {
		runtime.GOMAXPROCS(procs)
		got := compileDemo(t, t.TempDir())
		if i == 0 {
			first = got
			continue
		}
		for name, data := range first {
			if !bytes.Equal(got[name], data) {
				t.Errorf("round %d, %d processors: %s differs", i, procs, name)
			}
		}
		if len(got) != len(first) || len(got) < 10 {
			t.Errorf("round %d: %d files, before %d", i, len(got), len(first))
		}
	}
}

// compileDemo compiles the demo model in a folder and returns the files written there, except the index of dumps,
// which contains times.
func compileDemo(t *testing.T, dir string) compiled {
	t.Helper()
	model := filepath.Join(dir, "stories.gguf")
	data, err := os.ReadFile(filepath.Join(needtest.Root(t), "cmd", "ggmlc", "demo", "stories.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(model, data, 0o666); err != nil {
		t.Fatal(err)
	}
	dumps, exe := filepath.Join(dir, "dumps"), filepath.Join(dir, "story")
	if err := compileAndBuild(t, model, dumps, exe); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dumps, "*.ggir"))
	if err != nil {
		t.Fatal(err)
	}
	got := make(compiled)
	for _, path := range append(files, exe) {
		if got[filepath.Base(path)], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	return got
}

func compileAndBuild(t *testing.T, model, dumps, exe string) error {
	ctx := t.Context()
	md, err := driver.Load(ctx, model, driver.LoadOptions{})
	if err != nil {
		return err
	}
	defer md.Close()
	d, err := passes.NewDumper(dumps, codegen.WriteFile)
	if err != nil {
		return err
	}
	if err := driver.RelativeSources(md, dumps); err != nil {
		return err
	}
	targets, err := target.Select("cpu")
	if err != nil {
		return err
	}
	if _, err := driver.Compile(ctx, md, driver.CompileOptions{Targets: targets, After: d.After}); err != nil {
		return err
	}
	return driver.Build(ctx, md, driver.OutputOptions{Compiler: "ggmlc test", Out: exe})
}
