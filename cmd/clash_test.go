package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoClashWithParts: an output replaces no part of a model in several files.
func TestNoClashWithParts(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "m-00001-of-00003.gguf"), filepath.Join(dir, "m-00002-of-00003.gguf")
	for _, path := range []string{first, second} {
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skipf("skip: no links: %v", err)
	}
	model := []namedPath{{"the model", first}}
	for _, out := range []string{second, filepath.Join(link, "m-00002-of-00003.gguf")} {
		if err := noClash(model, outputs(namedPath{"-o", out})); err == nil || !strings.Contains(err.Error(), "this is part 2 of the model, which would be overwritten") {
			t.Errorf("%s: %v", out, err)
		}
	}
	if err := noClash(model, outputs(namedPath{"-o", filepath.Join(dir, "m-00003-of-00003.gguf")})); err != nil {
		t.Errorf("a part that there is not: %v", err)
	}
}
