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
// Before: every value has an address. After: the plan is proved, and needless copies have a cause that names them;
// nothing else changes.
//
// Not earlier: only the finished plan can be proved. Not later: code is emitted for proved plans only.
//
// The proof shares no code with the other passes (see package check for its claims). If it fails, a pass is wrong and
// not the user, so the error is an *InternalError.
//
// Cost: O(n log r) for n executed nodes and r ranges of bytes.
var checkPass = pass.Pass{
	Name:     "check",
	Doc:      "prove the plan without the planner's code",
	Run:      runCheck,
	Required: true,
	Needs: ir.PropShaped | ir.PropAssigned | ir.PropPacked | ir.PropSplit | ir.PropCopied | ir.PropOrdered |
		ir.PropPartitioned | ir.PropQueued | ir.PropPlaced | ir.PropSynced,
	Gives: ir.PropChecked,
	Rules: []pass.Rule{
		{Name: pass.RuleCheckNeedless, Doc: "the copy is needless: its readers could address the original, or an earlier copy"},
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

// needlessCopies gives the needless copies a cause. With the rules cost, elide-copy removes all copies that the copy
// pass made, except copies that save memory. One that is left is a bug, if both passes ran as they are by default.
func needlessCopies(c *pass.Context, m *ir.Module, needless []check.NeedlessCopy) error {
	set, err := assign.RuleSetOf(c.Options)
	if err != nil {
		return err
	}
	strict := set.Elide && removesCopies(c)
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
	c.Unchanged = c.NoneCounted()
	return nil
}

// removesCopies reports whether copy and elide-copy ran, with nothing that limits what they do.
func removesCopies(c *pass.Context) bool {
	return c.Ran(copies.Copy.Name) && c.Ran(copies.ElideCopy.Name) && len(c.Options.Disable) == 0 && c.Debug.Fuel < 0 &&
		!slices.ContainsFunc(c.Options.Debug, func(s pass.Setting) bool { return s.Pass == copies.Copy.Name })
}

// reachable reports operands and results that nodes cannot address, and copies that no target can make, if the chosen
// rules allow such plans. These are errors of the rules and not of the compiler.
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
		errs = append(errs, &pass.RulesError{Text: fmt.Sprintf("@%s %v: %s, which cannot address %s, the space of %s %v, and the rules %s make no copy for it: %s",
			u.Node.Func.Name, u.Node, placedBy(u.Node, set), v.Type.Space, what, v, set.Name, movedBy(u.Node, set))})
	}
	return errors.Join(append(errs, copiesRun(c, m, set)...)...)
}

// placedBy describes what put a node on its backend.
func placedBy(n *ir.Node, set *assign.RuleSet) string {
	if set.Pinned(n) {
		return "a pin puts it on " + n.Backend
	}
	return fmt.Sprintf("--rules %s puts it on %s", set.Name, n.Backend)
}

// movedBy describes how to put a node elsewhere.
func movedBy(n *ir.Node, set *assign.RuleSet) string {
	if set.Pinned(n) {
		return "drop the pin, or choose --rules cost"
	}
	return "pin it to another target, or choose --rules cost"
}

// copiesRun reports copies within a space, which only the rules ggml-2024 make, on targets without a kernel for them.
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
