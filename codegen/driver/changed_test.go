package driver

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ggmlc/ggmlc/tests/needtest"
)

// changing is a context that changes a file when it is first asked, which is while the file is hashed.
type changing struct {
	context.Context
	path string
	done *bool
}

func (c changing) Err() error {
	if !*c.done {
		*c.done = true
		info, err := os.Stat(c.path)
		if err == nil {
			err = os.Chtimes(c.path, time.Time{}, info.ModTime().Add(time.Second))
		}
		if err != nil {
			return err
		}
	}
	return c.Context.Err()
}

// TestModelsThatChangeAreNoticed changes a model, and a source of a text, while it is read.
func TestModelsThatChangeAreNoticed(t *testing.T) {
	dir := t.TempDir()
	model, text := filepath.Join(dir, "m.gguf"), filepath.Join(dir, "m.ggir")
	data, err := os.ReadFile(needtest.Data(t, "aidreams260K.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	write := func(path string, data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(model, data)
	write(text, []byte("ggir 1\nafter import\nprops imported\nsource m \"m.gguf\" 0\nfunc @f(%x: f32[1,2]) -> (y: f32[1,2]) {\n  %y = tanh %x\n  return %y\n}\n"))
	for _, path := range []string{model, text} {
		for _, change := range []bool{false, true} {
			done := !change
			md, err := Load(changing{context.Background(), model, &done}, path, LoadOptions{})
			if err == nil {
				md.Close()
			}
			if noticed := err != nil && strings.Contains(err.Error(), "m.gguf: the file changed while it was read"); noticed != change || err != nil && !noticed {
				t.Errorf("%s, changed %t: %v", filepath.Base(path), change, err)
			}
		}
	}
}
