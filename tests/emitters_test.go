package tests

import (
	"testing"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
)

// TestWhatTheCPUClaimsIsEmitted: codegen can emit exactly the ops that the CPU's descriptor claims to run.
func TestWhatTheCPUClaimsIsEmitted(t *testing.T) {
	cpu, claimed := target.CPU(), 0
	for op := range ir.Ops {
		works := op.Info().Traits&(ir.View|ir.Leaf|ir.HasBody) == 0 // the others need no call
		if claims, emits := works && cpu.Has(op), codegen.HasCPUEmitter(op); claims != emits {
			t.Errorf("%s: the descriptor claims it: %t; codegen emits it: %t", op, claims, emits)
		} else if claims {
			claimed++
		}
	}
	if claimed < 10 {
		t.Errorf("the CPU claims only %d ops", claimed)
	}
}
