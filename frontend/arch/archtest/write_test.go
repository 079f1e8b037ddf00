package archtest_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/arch/archtest"
)

var write = flag.String("write", "", "folder for the model files, so that other programs can read them")

// TestWriteModels writes all models if a folder is given.
func TestWriteModels(t *testing.T) {
	if *write == "" {
		t.Skip("no folder given")
	}
	for _, m := range append(archtest.Models(), archtest.Encoders()...) {
		m.Keys = append(m.Keys, archtest.Key{Name: "tokenizer.ggml.model", Value: "none"}) // llama.cpp wants one
		f, err := os.Create(filepath.Join(*write, m.Name+".gguf"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.WriteTo(f); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
