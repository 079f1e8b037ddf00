package passes

import (
	"context"
	"errors"
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
