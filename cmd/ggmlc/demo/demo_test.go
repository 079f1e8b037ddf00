package demo

import (
	"bytes"
	"os"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/gguf"
)

func TestModelIsTheFile(t *testing.T) {
	file, err := os.ReadFile(Name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(Model(), file) {
		t.Errorf("the embedded model is not %s", Name)
	}
}

func TestModelIsALlamaOfOurs(t *testing.T) {
	f, err := gguf.Read(bytes.NewReader(Model()), int64(len(Model())), Name)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"general.architecture": "llama",
		"general.license":      "MIT",
		"tokenizer.ggml.model": "llama",
	} {
		if got, err := f.String(key); err != nil || got != want {
			t.Errorf("%s is %q (%v), not %q", key, got, err, want)
		}
	}
}
