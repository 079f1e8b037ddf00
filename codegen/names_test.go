package codegen

import (
	"go/token"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
)

func TestStepNamesAreGoNames(t *testing.T) {
	for name, want := range map[string]string{
		"prefill":     "prefill",
		"Decode":      "decode",
		"attn.out":    "attn_out",
		"range":       "rangeStep",
		"w":           "wStep",
		"cpu":         "cpuStep",
		"2nd":         "v2nd",
		"":            "v",
		"ünicode":     "_nicode",
		"_":           "v_",
		"a0":          "a0Step",
		"nil":         "nilStep",
		"context":     "contextStep",
		"name space ": "name_space_",
	} {
		if got := stepName(name); got != want || !token.IsIdentifier(got) {
			t.Errorf("stepName(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestExportedNamesBeginWithCapitals(t *testing.T) {
	for name, want := range map[string]string{
		"prefill": "Prefill", "attn_out": "AttnOut", "attn.out": "AttnOut", "x": "X", "2nd": "X2nd", "": "X", "_": "X", "éa": "A", "ID": "ID",
	} {
		if got := exportedName(name); got != want || !token.IsExported(got) {
			t.Errorf("exportedName(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestSymbolsAvoidReservedNames(t *testing.T) {
	for name, want := range map[string]string{"tokens": "tokens", "w": "wSize", "type": "typeSize", "b1": "b1Size", "min": "minSize", "k v": "k_v", "u": "uSize", "len": "lenSize", "mem0": "mem0Size"} {
		if got := goSymbol(name); got != want {
			t.Errorf("goSymbol(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestNamerGivesDifferentNames(t *testing.T) {
	n := make(namer)
	n.take("main")
	for _, c := range [][2]string{{"main", "main2"}, {"f", "f"}, {"f", "f2"}, {"f2", "f22"}, {"f", "f3"}} {
		if got := n.pick(c[0]); got != c[1] {
			t.Errorf("pick(%q) = %q, want %q", c[0], got, c[1])
		}
	}
}

// TestOutputNamesDiffer has results without names, and two of one: call would write one file over the other.
func TestOutputNamesDiffer(t *testing.T) {
	for _, c := range [][2][]string{
		{{"y"}, {"y"}},
		{{"", ""}, {"out0", "out1"}},
		{{"out1", "", "y", "y"}, {"out1", "out1_", "y", "y_"}},
	} {
		f := &ir.Func{ResultNames: c[0]}
		if got := outputNames(f); !slices.Equal(got, c[1]) {
			t.Errorf("outputNames(%q) = %q, want %q", c[0], got, c[1])
		}
	}
}
