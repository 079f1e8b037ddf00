package codegen

import (
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
)

func TestSizesAreTold(t *testing.T) {
	for _, c := range []struct{ params, lengths, sizes string }{
		{"%x: f32[4,n]", "", ""},
		{"%x: f32[n,k], %i: i32[n]", "", ""},
		{"%x: f32[n,2*k], %i: i32[k]", "", ""},
		{"%x: f32[n,k]", "does not tell its shape f32 [n, k]", ""},
		{"%x: f32[n,n]", "does not tell its shape f32 [n, n]", "how large k is"},
		{"%x: f32[n]", "", "how large k is"},
		{"%x: f32[4]", "", "how large n, k is"},
	} {
		m, err := ir.Parse("sizes", []byte("symbol n 1 9\nsymbol k 1 9\nfunc @f("+c.params+") -> () {\n  %y = "+
			map[bool]string{true: "reshape %x {shape=[4,n]} : f32[4,n]", false: "neg %x : f32[n,k]"}[c.params == "%x: f32[4,n]"]+"\n  return\n}"))
		if err != nil {
			t.Fatal(err)
		}
		g := &generator{m: m}
		for what, got := range map[string]struct {
			err  error
			want string
		}{"lengths": {checkLengths(m.Funcs[0]), c.lengths}, "sizes": {g.checkSizes(m.Funcs[0]), c.sizes}} {
			if (got.err == nil) != (got.want == "") || got.err != nil && !strings.Contains(got.err.Error(), got.want) {
				t.Errorf("%s, %s: %v, want %q", c.params, what, got.err, got.want)
			}
		}
	}
}
