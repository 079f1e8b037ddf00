package codegen_test

import (
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/ir"
)

// TestInputsThatTellNoSizes: no program is emitted for a function whose sizes do not follow from the lengths
// of its inputs.
func TestInputsThatTellNoSizes(t *testing.T) {
	for shape, want := range map[string]string{
		"[n,k]":   "the length of %x does not tell its shape",
		"[n+k,4]": "is not linear in one symbol",
	} {
		m, err := ir.Parse("m", []byte("symbol n 1 9\nsymbol k 1 9\nfunc @f(%x: f32"+shape+") -> (y: f32"+shape+") {\n  %y = neg %x : f32"+shape+"\n  return %y\n}\n"))
		if err != nil {
			t.Fatal(err)
		}
		if err := compile(m); err != nil {
			t.Fatal(err)
		}
		p, err := codegen.Emit(m, codegen.Options{Package: "p", Name: "m", PlanID: "test"})
		if err == nil || !strings.Contains(err.Error(), want) || p != nil {
			t.Errorf("%s: a package: %t; the error is %v, want %q", shape, p != nil, err, want)
		}
	}
}
