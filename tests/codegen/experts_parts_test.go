package codegen_test

import (
	"fmt"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes"
)

// TestExpertsAreDividedByTokensOrRows: products with experts are divided by rows of the matrices, or by tokens
// where there are too few rows. Emit reads each program back, so it fails if a kernel does not get its part.
func TestExpertsAreDividedByTokensOrRows(t *testing.T) {
	for rows, axis := range map[int]int{16: 0, 256: 2} {
		m, err := ir.Parse("m", fmt.Appendf(nil, `weight "w" : f32[4,%[1]d,64]
func @f(%%x: f32[64,1,64], %%i: i32[64,2]) -> (y: f32[64,2,%[1]d]) {
  %%w = weight "w" : f32[4,%[1]d,64]
  %%y = experts_matmul %%x, %%w, %%i : f32[64,2,%[1]d]
  return %%y
}
`, rows))
		if err != nil {
			t.Fatal(err)
		}
		emitWith(t, m, "p", passes.RunOptions{})
		for _, n := range m.Funcs[0].Nodes {
			if n.Op == ir.OpExpertsMatMul && (n.Part.Mode != ir.PartSplit || n.Part.Axis != axis) {
				t.Errorf("%d rows: %+v, want parts of axis %d", rows, n.Part, axis)
			}
		}
	}
}
