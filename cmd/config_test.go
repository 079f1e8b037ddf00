package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzReadPackages looks for texts that are accepted and are no JSON, and for faults without a place.
func FuzzReadPackages(f *testing.F) {
	for _, text := range []string{
		`{"models": [{"model": "a.gguf", "output": "a", "ctx": 4, "pin": ["a=cpu"]}], "all": {"tune": true}}`,
		`{"models": [{"model": "a.gguf", "output": "\u0000/..", "plan-time": "1s"}]}`,
		`{"models": [1, [2], {"a": {"b": [null]}}]}`, `{"a":1,}`, `{"a" 1}`, `[}`, `{]`, `"`, ``, "\xff", `{"models":[{}]} x`, "\ufeff{}",
		`{"models": [{"model": "a", "output": "a", "source": "=", "cpu": ["a,b"], "max-memory": []}]}`,
		strings.Repeat("[", 100) + strings.Repeat("]", 100),
	} {
		f.Add(text)
	}
	path := filepath.Join(f.TempDir(), configName)
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		c, err := readPackages(path)
		switch {
		case err == nil && (!json.Valid([]byte(text)) || len(c.entries) == 0):
			t.Errorf("%q is accepted", text)
		case err != nil && !isA[usageError](err):
			t.Errorf("%q: %v is no usage error", text, err)
		case err != nil && !strings.HasPrefix(err.Error(), path+":"):
			t.Errorf("%q: no place in %v", text, err)
		}
	})
}

func TestPathsAreWithinAFolder(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]bool{
		"a": true, "a/b/c": true, ".": true, "..a": true, "a/../b": true,
		"..": false, "../" + filepath.Base(dir) + "x": false, "a/../../b": false, os.TempDir(): false,
	} {
		full := path
		if !filepath.IsAbs(path) {
			full = filepath.Join(dir, path)
		}
		if got := within(dir, full); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "nothing"), filepath.Join(dir, "dangling")); err == nil && within(dir, filepath.Join(dir, "dangling", "x")) {
		t.Error("a link to nothing is inside")
	}
}
