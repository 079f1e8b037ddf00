package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ggmlc/ggmlc/ir"
)

func TestPagesAreCurrent(t *testing.T) {
	all := pages()
	text, err := architecturesPage(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	all["architectures.md"] = text
	for name, want := range all {
		got, err := os.ReadFile(filepath.Join("..", "reference", name))
		if err != nil {
			t.Error(err)
		} else if diff := cmp.Diff(string(got), want); diff != "" {
			t.Errorf("docs/reference/%s differs from the tables: go generate ./docs/tables\n%s", name, diff)
		}
	}
}

// TestArchitecturesAreDescribed: each has a comment that begins with the name of its function.
func TestArchitecturesAreDescribed(t *testing.T) {
	functions, comments, err := descriptions(filepath.Join("..", ".."))
	if err != nil || len(functions) == 0 {
		t.Fatalf("%d architectures, error %v", len(functions), err)
	}
	for name, f := range functions {
		if !strings.HasPrefix(comments[f], f+" is ") {
			t.Errorf("%s: the comment of %s is %q", name, f, comments[f])
		}
	}
}

// TestOpsPageTellsWhatTheCPURuns has an op of each kind.
func TestOpsPageTellsWhatTheCPURuns(t *testing.T) {
	for op, want := range map[ir.Op]string{
		ir.OpAdd:    "`add(f32,f32)`",
		ir.OpCast:   "`cast(f32|f16|bf16)`",
		ir.OpSlice:  "always, as it needs no kernel",
		ir.OpWeight: "always, as it needs no kernel",
		ir.OpRepeat: "the nodes of the body",
		ir.OpChain:  "no kernel, so a graph with it can be planned for other machines and does not run",
	} {
		if got := onCPU(op); got != want {
			t.Errorf("%v: %s, want %s", op, got, want)
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
