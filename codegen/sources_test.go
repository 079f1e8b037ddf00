package codegen

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSourcesAreWhatProgramsAreBuiltFrom: the module that is unpacked beside an emitted program has Go files and
// what they assemble, no tests, test data or notes.
func TestSourcesAreWhatProgramsAreBuiltFrom(t *testing.T) {
	dir := t.TempDir()
	if err := WriteSources(dir); err != nil {
		t.Fatal(err)
	}
	kinds := make(map[string]int)
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if kinds[filepath.Ext(path)]++; strings.HasSuffix(path, "_test.go") {
			t.Errorf("%s is a test", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for kind, n := range kinds {
		if !slices.Contains([]string{".go", ".s", ".h", ".mod"}, kind) {
			t.Errorf("%d files %s", n, kind)
		}
	}
	if kinds[".go"] == 0 || kinds[".s"] == 0 || kinds[".mod"] != 1 {
		t.Errorf("files of each kind: %v", kinds)
	}
}
