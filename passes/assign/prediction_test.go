package assign

import (
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
)

// What is read back from a cause is what was written to it.
func TestPredictionIsReadBack(t *testing.T) {
	others := []Other{{"gpu", "1.3 times"}, {"npu", "cannot: npu has no kernel for add"}, {"first", "does not fit"}}
	for _, want := range []Prediction{
		{Seconds: 0.00125, Proved: true, Others: others},
		{Seconds: 28.4e-6, Above: 0.127, Others: others},
		{Seconds: 3e-9},
		{Seconds: 2},
		{},
	} {
		n := &ir.Node{}
		n.Cause(ir.Cause{Pass: "assign", Rule: string(RuleStep.Name)}, want.operands()...)
		got, ok := PredictionOf(n)
		near := func(a, b float64) bool { return a == b || a/b > 0.999 && a/b < 1.001 }
		if !ok || !near(got.Seconds, want.Seconds) || !near(got.Above, want.Above) || got.Proved != want.Proved || !slices.Equal(got.Others, want.Others) {
			t.Errorf("%q: %+v, want %+v", want.operands(), got, want)
		}
	}
	if _, ok := PredictionOf(&ir.Node{}); ok {
		t.Error("a node without the cause has a prediction")
	}
}
