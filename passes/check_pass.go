package passes

import (
	"errors"
	"fmt"

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
	if err := reachable(c, m); err != nil {
		return err
	}
	err := check.Check(c.Ctx, m, c.Targets)
	var wrong *check.Error
	if errors.As(err, &wrong) {
		return &InternalError{Pass: c.pass.Name, Module: m.Name, Err: wrong}
	}
	return err
}

// reachable reports what nodes cannot address, where the rules that were chosen allow that:
// then it is not a bug of ours, but theirs.
func reachable(c *Context, m *ir.Module) error {
	set, err := ruleSetOf(c.Options)
	if err != nil || !set.copyOnce {
		return err
	}
	var errs []error
	for _, u := range check.Unreachable(m, c.Targets) {
		v, what := u.Node.Result(), "its result"
		if u.Operand >= 0 {
			v, what = u.Node.Args[u.Operand], "its operand"
		}
		errs = append(errs, &RulesError{fmt.Sprintf("@%s %v: --rules %s puts it on %s, which cannot address %s, where %s %v lies",
			u.Node.Func.Name, u.Node, set.name, u.Node.Backend, v.Type.Space, what, v)})
	}
	return errors.Join(errs...)
}
