package simplify

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir/irtest"
)

// TestChainsOfViewsAreBounded groups two products of which one result goes through more and more views: up to maxViews
// of them may be strided.
func TestChainsOfViewsAreBounded(t *testing.T) {
	for views := range maxViews + 3 {
		var b strings.Builder
		b.WriteString("weight \"q\" : f32[16,32]\nweight \"k\" : f32[8,32]\n" +
			"func @f(%x: f32[4,32]) -> (f32[4,8], f32[4,16]) {\n  %q = weight \"q\"\n  %k = weight \"k\"\n" +
			"  %a = matmul %x, %k\n  %b = exp %a\n  %v0 = matmul %x, %q\n")
		for i := range views {
			fmt.Fprintf(&b, "  %%v%d = slice %%v%d {axis=1, start=0, len=16}\n", i+1, i)
		}
		fmt.Fprintf(&b, "  %%y = exp %%v%d\n  return %%b, %%y\n}\n", views)
		groups := productGroups(irtest.Parse(t, b.String()).Funcs[0])
		if want := views <= maxViews; (len(groups) == 1 && len(groups[0]) == 2) != want {
			t.Errorf("a chain of %d views: %d groups; merged should be %v", views, len(groups), want)
		}
	}
}
