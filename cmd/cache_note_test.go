package cmd

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTruncatedProgramIsBuiltAgain: the note records the size of the program.
func TestTruncatedProgramIsBuiltAgain(t *testing.T) {
	dir := t.TempDir()
	if size, model := readNote(dir); size != 0 || model != "" {
		t.Errorf("no note: %d bytes of %q", size, model)
	}
	if err := os.WriteFile(filepath.Join(dir, modelNote), []byte("123\n/a/model.gguf"), 0o666); err != nil {
		t.Fatal(err)
	}
	if size, model := readNote(dir); size != 123 || model != "/a/model.gguf" {
		t.Errorf("%d bytes of %q", size, model)
	}
}
