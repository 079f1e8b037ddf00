package passes

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/check"
	"github.com/ggmlc/ggmlc/passes/target"
)

// TestCheckPass checks that a plan which cannot be proved is reported as our bug.
func TestCheckPass(t *testing.T) {
	list, err := target.Parse("targets", cpuTarget)
	if err != nil {
		t.Fatal(err)
	}
	m := parsed(t, smallLlama.text())
	planned(t, m, Options{}, cpuTarget)
	run := func() error {
		_, err := Run(context.Background(), m, RunOptions{Targets: list, Passes: []string{"check"}})
		return err
	}
	if err := run(); err != nil || m.Props&ir.PropChecked == 0 {
		t.Fatalf("the plan as it is: %v, %v", m.Props, err)
	}
	for _, f := range m.AllFuncs() {
		f.HeadBarrier = false
	}
	m.Last, m.Props = "plan", m.Props&^ir.PropChecked
	err = run()
	var bug *InternalError
	var wrong *check.Error
	if !errors.As(err, &bug) || !errors.As(err, &wrong) || wrong.Violations[0].Rule != check.RuleHazard {
		t.Errorf("without barriers at the heads of rounds: %v", err)
	}
	if m.Props&ir.PropChecked != 0 {
		t.Error("the plan counts as proved")
	}
}

// TestNeedlessCopies leaves out the pass that removes them: under the rules cost, what is
// left is a bug.
func TestNeedlessCopies(t *testing.T) {
	const text = `func @f(%x: f32[4,32]) -> f32[4,32] {
  %s = sqrt %x
  %e = exp %s
  return %e
}
`
	list, err := target.Parse("targets", "target npu space=npu,host ops=exp\ntarget cpu like=cpu")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		passes  string
		disable []string
		wrong   bool
	}{
		{"all passes", "shape,assign,pack,split,copy,elide-copy,pipeline,order,partition,plan,sync,check", nil, false},
		{"without elide-copy", "shape,assign,pack,split,copy,pipeline,order,partition,plan,sync,check", nil, true},
		{"as the user says", "shape,assign,pack,split,copy,pipeline,order,partition,plan,sync,check", []string{"elide-copy"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			npu, err := ParsePin("^e$=npu")
			if err != nil {
				t.Fatal(err)
			}
			stats, err := Run(t.Context(), parse(t, text), RunOptions{
				Targets: list, Passes: strings.Split(tt.passes, ","), Options: Options{Disable: tt.disable, Pins: []Pin{npu}},
			})
			var bug *InternalError
			switch {
			case tt.wrong && (!errors.As(err, &bug) || !strings.Contains(err.Error(), "needless: whoever reads it can address host")):
				t.Errorf("a needless copy is not noticed: %v", err)
			case !tt.wrong && err != nil:
				t.Error(err)
			case !tt.wrong && (stats.Counter("check.needless") > 0) != (tt.disable != nil):
				t.Errorf("%d needless copies are noted", stats.Counter("check.needless"))
			}
		})
	}
}
