package cmd

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestCacheKeyCoversSources: the key of a text changes with every file that it takes weights from.
func TestCacheKeyCoversSources(t *testing.T) {
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

// TestCacheKeyChangesWithWritesInPlace: a file that is written in place gets another key even if its size and its
// modification time stay the same, as is common for weights.
func TestCacheKeyChangesWithWritesInPlace(t *testing.T) {
	dir := t.TempDir()
	weights, text := filepath.Join(dir, "w.gguf"), filepath.Join(dir, "x.ggir")
	then := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	for path, data := range map[string][]byte{
		weights: make([]byte, 2*headerBytes),
		text:    []byte("ggir 1\nmodule \"m\"\nafter import\nprops imported\nsource m \"w.gguf\" 0\n"),
	} {
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(weights)
	if err != nil {
		t.Fatal(err)
	}
	if changeTime(info) == 0 {
		t.Skip("this system does not tell when a file was changed")
	}
	keys := func() (ofWeights, ofText string) {
		t.Helper()
		f := &buildFlags{}
		ofWeights, err := f.cacheKey(weights)
		if err != nil {
			t.Fatal(err)
		}
		if ofText, err = f.cacheKey(text); err != nil {
			t.Fatal(err)
		}
		return ofWeights, ofText
	}
	beforeW, beforeT := keys()
	time.Sleep(20 * time.Millisecond) // clocks of file systems have a resolution of some milliseconds
	f, err := os.OpenFile(weights, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{1}, headerBytes+1); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(weights, then, then); err != nil {
		t.Fatal(err)
	}
	afterW, afterT := keys()
	if afterW == beforeW {
		t.Error("the weights changed in place, their key did not")
	}
	if afterT == beforeT {
		t.Error("the weights changed in place, the key of the text that names them did not")
	}
}
