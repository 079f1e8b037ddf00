package tune

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
)

func TestPredict(t *testing.T) {
	for _, tt := range []struct {
		rows  int
		dtype string
		field string // of the target
		want  string // tiles of it
	}{
		{256, "q4_0", "", ""},
		{1 << 16, "q4_0", "", ""},
		{256, "f32", "", ""},
		{1 << 16, "f32", "", ""},
		{1 << 16, "f16", "", ""},
		{256, "q4_0", " tiles=avx512vnni:q4_0:16:16", "avx512vnni:q4_0:16:16"},
		{256, "q4_0", " cache=1KiB", ""},
	} {
		m, err := ir.Parse("m.ggir", fmt.Appendf(nil, `ggir 1
module "m"
after import
props imported
weight "w" : %s[%d,64]
func @f(%%x: f32[1,64]) -> f32[1,%[2]d] {
  %%w = weight "w" : %[1]s[%[2]d,64]
  %%y = matmul %%x, %%w
  return %%y
}
`, tt.dtype, tt.rows))
		if err != nil {
			t.Fatal(err)
		}
		l, err := target.Parse("targets", "target cpu like=cpu"+tt.field)
		if err != nil {
			t.Fatal(err)
		}
		d := *l.Last()
		Predict(m, &d)
		var names []string
		for _, c := range d.Tiles {
			names = append(names, c.String())
		}
		if got := strings.Join(names, ","); got != tt.want {
			t.Errorf("%d rows of %s%s: tiles %q, want %q", tt.rows, tt.dtype, tt.field, got, tt.want)
		}
	}
}
