package tests

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Sizes that a reader can take in.
const (
	maxFiles = 25  // of a folder under passes, without tests
	maxLines = 500 // of a file, unless it is generated, generates assembly or is a test
)

// TestPackagesAndFilesAreSmall counts the files of folders under passes, and the lines of all files.
func TestPackagesAndFilesAreSmall(t *testing.T) {
	files := make(map[string]int)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(path)
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "_asm" || d.Name() == ".git") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if lines := bytes.Count(text, []byte("\n")); lines > maxLines && !bytes.Contains(text, []byte("DO NOT EDIT")) {
			t.Errorf("%s has %d lines, at most %d: divide it by what it holds", name, lines, maxLines)
		}
		if strings.HasPrefix(name, "../passes/") {
			files[filepath.Dir(name)]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files["../passes/check"] == 0 {
		t.Error("no file of passes/check was found")
	}
	for folder, n := range files {
		if n > maxFiles {
			t.Errorf("%s has %d files besides tests, at most %d: make a package of some", folder, n, maxFiles)
		}
	}
}
