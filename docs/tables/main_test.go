package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ggmlc/ggmlc/ir"
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

// TestOpsPageTellsWhatTheCPURuns has an op of each kind.
func TestOpsPageTellsWhatTheCPURuns(t *testing.T) {
	for op, want := range map[ir.Op]string{
		ir.OpAdd:    "`add(f32,f32)`",
		ir.OpCast:   "`cast(f32|f16|bf16)`",
		ir.OpSlice:  "always, as it needs no kernel",
		ir.OpWeight: "always, as it needs no kernel",
		ir.OpRepeat: "the nodes of the body",
		ir.OpConcat: "no kernel, so a graph with it can be planned for other machines and does not run",
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
