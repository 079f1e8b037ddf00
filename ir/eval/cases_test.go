package eval_test

import (
	"math"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/eval"
	"github.com/ggmlc/ggmlc/ir/irtest"
)

// TestCasesOfAllOpsRun evaluates every sample case of every op.
func TestCasesOfAllOpsRun(t *testing.T) {
	for op := range ir.Ops {
		info := op.Info()
		if info.Cases == nil {
			continue
		}
		for c := range info.Cases {
			t.Run(info.Name+"/"+c.Name, func(t *testing.T) {
				call, err := irtest.Case(op, c, 1)
				if err != nil {
					t.Fatal(err)
				}
				got, err := eval.Run(t.Context(), call.Module, call.Func, call.Env)
				if err != nil {
					t.Fatal(err)
				}
				if slices.ContainsFunc(got[0].Flat(), math.IsNaN) {
					t.Error("the result holds NaN")
				}
			})
		}
	}
}
