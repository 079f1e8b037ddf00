package passes

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/assign"
	"github.com/ggmlc/ggmlc/passes/check"
	"github.com/ggmlc/ggmlc/passes/copies"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// checkPass proves the finished plan.
//
// Before: every value has a place. After: the plan is proved; copies that it could do without
// say so in a cause; all else is as it was.
//
// Not earlier: only the finished plan can be proved. Not later: what is emitted is proved.
//
// The proof shares no code with the passes (package check says what it claims). Where it
// fails, one of them is wrong, not the user: the error is an *InternalError.
//
// Cost: O(nodes run * log of the ranges).
var checkPass = pass.Pass{
	Name:     "check",
	Doc:      "prove the plan without the planner's code",
	Run:      runCheck,
	Required: true,
	Needs: ir.PropShaped | ir.PropAssigned | ir.PropPacked | ir.PropSplit | ir.PropCopied | ir.PropOrdered |
		ir.PropPartitioned | ir.PropQueued | ir.PropPlaced | ir.PropSynced,
	Gives: ir.PropChecked,
	Rules: []pass.Rule{
		{Name: pass.RuleCheckNeedless, Doc: "the plan could do without this copy: whoever reads it could address what is copied, or an earlier copy"},
	},
}

func runCheck(c *pass.Context, m *ir.Module) error {
	if err := reachable(c, m); err != nil {
		return err
	}
	err := check.Check(c.Ctx, m, c.Targets)
	var wrong *check.Error
	if errors.As(err, &wrong) {
		return &pass.InternalError{Pass: c.Pass.Name, Module: m.Name, Err: wrong}
	}
	if err != nil {
		return err
	}
	return needlessCopies(c, m, check.Needless(m, c.Targets))
}

// needlessCopies notes the copies that the plan could do without. The rules cost leave none
// behind, unless the user has switched that off, or the module came with the copy, or it is to
// save memory: another one is a bug of ours, if the copies were made in this run.
func needlessCopies(c *pass.Context, m *ir.Module, needless []check.NeedlessCopy) error {
	set, err := assign.RuleSetOf(c.Options)
	if err != nil {
		return err
	}
	strict := set.Elide && c.Ran(copies.Copy.Name) && c.Ran(copies.ElideCopy.Name) && len(c.Options.Disable) == 0 && c.Debug.Fuel < 0 && !slices.ContainsFunc(c.Options.Debug, func(s pass.Setting) bool { return s.Pass == "copy" })
	var errs []error
	for _, n := range needless {
		if n.Lost && (!strict || flow.StaysApart(n.Node)) {
			continue
		}
		if strict && flow.IsSplitInput(n.Node) && !flow.StaysApart(n.Node) {
			errs = append(errs, &check.Violation{Rule: check.RuleCopy, Func: n.Node.Func.Name, Nodes: []string{n.Node.String()}, What: "is needless: " + n.Why})
			continue
		}
		c.Cause(n.Node, pass.RuleCheckNeedless, n.Node.Args[0].String())
		c.Count("needless", 1)
	}
	if len(errs) > 0 {
		return &pass.InternalError{Pass: c.Pass.Name, Module: m.Name, Err: errors.Join(errs...)}
	}
	return nil
}

// reachable reports what nodes cannot address, and copies that nobody can make, where the rules that were chosen allow that:
// then it is not a bug of ours, but theirs.
func reachable(c *pass.Context, m *ir.Module) error {
	set, err := assign.RuleSetOf(c.Options)
	if err != nil || !set.CopyOnce {
		return err
	}
	var errs []error
	for _, u := range check.Unreachable(m, c.Targets) {
		v, what := u.Node.Result(), "its result"
		if u.Operand >= 0 {
			v, what = u.Node.Args[u.Operand], "its operand"
		}
		errs = append(errs, &pass.RulesError{Text: fmt.Sprintf("@%s %v: --rules %s puts it on %s, which cannot address %s, where %s %v lies: pin it to another target, or choose other rules",
			u.Node.Func.Name, u.Node, set.Name, u.Node.Backend, v.Type.Space, what, v)})
	}
	return errors.Join(append(errs, copiesRun(c, m, set)...)...)
}

// copiesRun reports copies within a space, which only the rules of 2024 want, for targets that
// have no kernel to make them.
func copiesRun(c *pass.Context, m *ir.Module, set *assign.RuleSet) []error {
	var errs []error
	for _, n := range check.Unread(m, c.Targets) {
		if flow.IsSplitInput(n) {
			errs = append(errs, &pass.RulesError{Text: fmt.Sprintf("@%s %v: --rules %s copies %v within %s for %s, which has no kernel for that: add copy to its ops, or choose other rules",
				n.Func.Name, n, set.Name, n.Args[0], n.Result().Type.Space, n.Backend)})
		}
	}
	return errs
}
