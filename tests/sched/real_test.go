package sched

import (
	"errors"
	"testing"

	"github.com/ggmlc/ggmlc/passes/assign"
	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// TestRealModelIsPlannedUnderAllRules plans a model for made-up backends. The last pass proves the plan.
func TestRealModelIsPlannedUnderAllRules(t *testing.T) {
	path := needtest.Data(t, "aidreams260K.gguf")
	for _, tt := range []struct{ name, targets, pin, noRules string }{
		{"two that run all", "target gpu space=dev0 ops=*\ntarget npu space=dev1 ops=*\ntarget cpu like=cpu", "", ""},
		{"two that run all, pinned", "target gpu space=dev0 ops=*\ntarget npu space=dev1 ops=*\ntarget cpu like=cpu", "blk.[01].*=npu", ""},
		{"one in host memory", "target gpu space=dev0 ops=*\ntarget npu space=host ops=matmul,add,quantize,copy\ntarget cpu like=cpu", "", ""},
		{"few ops", "target gpu space=dev0 ops=matmul,matmul_swiglu,rms_norm,add,copy\ntarget npu space=host ops=matmul,add\ntarget cpu like=cpu", "", "ggml-2024"},
	} {
		for _, rules := range assign.RuleSets() {
			t.Run(tt.name+"/"+rules, func(t *testing.T) {
				splits, err := plan(t, path, rules, tt.targets, tt.pin)
				var wrong *pass.RulesError
				switch {
				case rules == tt.noRules && !errors.As(err, &wrong):
					t.Errorf("the rules put nodes where they do not run, and the error is %v", err)
				case rules != tt.noRules && err != nil:
					t.Error(err)
				case err == nil && splits == 0:
					t.Error("there are no splits")
				}
			})
		}
	}
}

// plan compiles the model and returns the number of its splits.
func plan(t *testing.T, path, rules, targets, pin string) (splits int, err error) {
	t.Helper()
	md, err := driver.Load(t.Context(), path, driver.LoadOptions{Batch: 16})
	if err != nil {
		t.Fatal(err)
	}
	defer md.Close()
	list, err := target.Parse("targets", targets)
	if err != nil {
		t.Fatal(err)
	}
	o := driver.CompileOptions{Targets: list, Passes: pass.Options{Rules: rules}}
	if pin != "" {
		p, err := pass.ParsePin(pin)
		if err != nil {
			t.Fatal(err)
		}
		o.Passes.Pins = []pass.Pin{p}
	}
	if _, err := driver.Compile(t.Context(), md, o); err != nil {
		return 0, err
	}
	if md.Module.Props&ir.PropChecked == 0 {
		t.Error("the plan was not checked")
	}
	return len(md.Module.Plan.Funcs[0].Splits), nil
}
