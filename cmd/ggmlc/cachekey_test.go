package main

import (
	"os"
	"path/filepath"
	"testing"
)

// The key of a text is another when a file that it takes weights from is another.
func TestCacheKeySources(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	text := write("x.ggir", "ggir 1\nmodule \"m\"\nafter import\nprops imported\nsource m \"w.gguf\" 0\n"+
		"func @f(%x: f32[4]) -> (y: f32[4]) {\n  %y = relu %x : f32[4]\n  return %y\n}\n")
	key := func(sources ...string) string {
		f := &buildFlags{}
		f.sources = sources
		k, err := f.cacheKey(text)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	write("w.gguf", "one")
	before := key()
	if key() != before {
		t.Error("the key of unchanged files changes")
	}
	write("w.gguf", "longer")
	if key() == before {
		t.Error("the source changed, the key did not")
	}
	other := write("other.gguf", "two")
	before = key("m=" + other)
	write("other.gguf", "three")
	if key("m="+other) == before {
		t.Error("the file of --source changed, the key did not")
	}
}
