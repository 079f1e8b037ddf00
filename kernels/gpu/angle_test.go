package gpu_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/kernels/gpu/gputest"
)

// TestAnglesOfAnySizeAreThoseOfEval has positions of all sizes and signs, and frequencies of every other exponent of
// f32.
func TestAnglesOfAnySizeAreThoseOfEval(t *testing.T) {
	filled := func(d dtype.DType, lo, hi float64, n int64) ir.CaseArg {
		return ir.CaseArg{Type: ir.Type{DType: d, Shape: ir.Dims(n)}, Fill: ir.FillUniform, Lo: lo, Hi: hi}
	}
	for e := -149; e < 128; e += 2 {
		for _, most := range []float64{100, 1 << 24, 1 << 30} {
			lo := math.Ldexp(1, e)
			c := gputest.Case{Op: ir.OpRopeTable, Case: ir.Case{
				Name: fmt.Sprintf("2^%d of %v", e, most), Attr: &ir.RopeTableAttr{Scale: 1},
				Args: []ir.CaseArg{filled(dtype.I32, -most, most, 9), filled(dtype.F32, lo, math.Nextafter(2*lo, 0), 7)},
			}}
			call, err := irtest.Case(c.Op, c.Case, uint64(e+200))
			if err != nil {
				t.Fatal(err)
			}
			if err := gputest.Compare(t.Context(), call, simulate(0), 3, ir.Tolerance{NMSE: 1e-12, MaxAbs: 4e-7}); err != nil {
				t.Fatalf("%s: %v", c.Name, err)
			}
		}
	}
}
