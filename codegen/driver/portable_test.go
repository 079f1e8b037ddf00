package driver

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/ir"
)

// TestPackagesNameTheirSourcesRelatively: the module in a generated package names model files and weights by
// paths from the package's folder, so that both can be moved together.
func TestPackagesNameTheirSourcesRelatively(t *testing.T) {
	dir := t.TempDir()
	m := &ir.Module{Sources: []*ir.Source{{Name: "m", Path: filepath.Join(dir, "models", "x.gguf")}}}
	o := OutputOptions{Out: filepath.Join(dir, "pkg", "model"), Package: "model", WeightsFile: filepath.Join(dir, "pkg", "w.bin")}
	text, err := portable(m, &Model{Module: m}, o, &blob{}, codegen.File)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"../../models/x.gguf"`, "file:../w.bin"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if strings.Contains(text, dir) {
		t.Errorf("%s is in\n%s", dir, text)
	}
}
