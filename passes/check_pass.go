package passes

import (
	"errors"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/check"
)

// checkPass proves the finished plan.
//
// Before: every value has a place. After: the plan is proved; the module is as it was.
//
// Not earlier: only the finished plan can be proved. Not later: what is emitted is proved.
//
// The proof shares no code with the passes (package check says what it claims). Where it
// fails, one of them is wrong, not the user: the error is an *InternalError.
//
// Cost: O(nodes run * log of the ranges).
var checkPass = Pass{
	Name:     "check",
	Doc:      "prove the plan without the planner's code",
	Run:      runCheck,
	Required: true,
	Needs:    ir.PropPlaced,
	Gives:    ir.PropChecked,
}

func runCheck(c *Context, m *ir.Module) error {
	err := check.Check(c.Ctx, m, c.Targets)
	var wrong *check.Error
	if errors.As(err, &wrong) {
		return &InternalError{Pass: c.pass.Name, Module: m.Name, Err: wrong}
	}
	return err
}
