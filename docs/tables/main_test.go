package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPagesAreCurrent(t *testing.T) {
	for name, want := range pages() {
		got, err := os.ReadFile(filepath.Join("..", "reference", name))
		if err != nil {
			t.Error(err)
		} else if diff := cmp.Diff(string(got), want); diff != "" {
			t.Errorf("docs/reference/%s differs from the tables: go generate ./docs/tables\n%s", name, diff)
		}
	}
}

func TestSentence(t *testing.T) {
	for text, want := range map[string]string{"": "", "a": "a.", " a. ": "a."} {
		if got := sentence(text); got != want {
			t.Errorf("sentence(%q) = %q, want %q", text, got, want)
		}
	}
}
