package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/ggmlc/ggmlc/tests/e2etest"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// TestEveryDumpIsAnInput compiles the text after every pass. The result is byte for byte that of the model.
func TestEveryDumpIsAnInput(t *testing.T) {
	dir := t.TempDir()
	dumps := dumpAll(t, dir)
	want := e2etest.ReadFile(t, e2etest.Build(t, e2etest.AIDreams(t), "--kv", "f32"))
	if !needtest.Required("e2e") {
		dumps = []string{dumps[0], dumps[len(dumps)/2], dumps[len(dumps)-1]}
	}
	for i, dump := range dumps {
		exe := e2etest.Build(t, dump)
		if !bytes.Equal(e2etest.ReadFile(t, exe), want) {
			t.Errorf("%s gives another executable than the model", filepath.Base(dump))
		}
		if i == len(dumps)/2 {
			e2etest.Executable(exe).Tells(t, e2etest.AIDreamsReferences(t)[1])
		}
	}
}

// dumpAll returns the dumps of all passes in order, the imported module first.
func dumpAll(t *testing.T, dir string) []string {
	e2etest.GGMLC(t, "dump", "--all", "-o", dir, "--kv", "f32", e2etest.AIDreams(t))
	dumps, err := filepath.Glob(filepath.Join(dir, "*.ggir"))
	if err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile(filepath.Join(dir, "index.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(index, []byte("\n")); len(dumps) < 10 || lines != len(dumps)+1 {
		t.Fatalf("%d dumps, and %d lines in their index", len(dumps), lines)
	}
	return dumps
}
