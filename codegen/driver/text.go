package driver

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/check"
	"github.com/ggmlc/ggmlc/passes/target"
)

// checkText reports statements of a module about its plan that cannot hold. An edited dump may state
// what no pass decides. The verifier has checked the module already, without its targets.
func checkText(m *ir.Module, o CompileOptions) error {
	if m.Last == "" && o.Run == nil && m.Props&^(ir.PropImported|ir.PropShaped) != 0 {
		return fmt.Errorf("the text is said to be %v, and no line \"after\" names the pass that ran last: add it", m.Props)
	}
	if err := checkPlaces(m, o.Targets); err != nil {
		return err
	}
	return errors.Join(checkResults(m, o.Targets), checkFormats(m, o.Targets), checkSplits(m))
}

// checkPlaces reports backends and spaces that a text names and the targets do not have.
func checkPlaces(m *ir.Module, targets *target.List) error {
	unknown := make(map[string]bool)
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			if n.Backend != "" && targets.Get(n.Backend) == nil {
				unknown["backend "+n.Backend] = true
			}
			for _, v := range n.Results {
				noteSpace(unknown, targets, v.Type.Space)
			}
		}
		for _, p := range f.Params {
			noteSpace(unknown, targets, p.Type.Space)
		}
	}
	var errs []error
	for _, what := range slices.Sorted(maps.Keys(unknown)) {
		errs = append(errs, fmt.Errorf("%s: no target has it: there are %s", what, targets.Names()))
	}
	return errors.Join(errs...)
}

func noteSpace(unknown map[string]bool, targets *target.List, space string) {
	if space != "" && len(targets.Space(space).Targets) == 0 {
		unknown["space "+space] = true
	}
}

// checkResults reports results in memory that the backend of their node cannot write.
func checkResults(m *ir.Module, targets *target.List) error {
	var errs []error
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			d := targets.Get(n.Backend)
			if d == nil || n.Op == ir.OpRepeat || n.Traits()&(ir.View|ir.Leaf|ir.Alias) != 0 {
				continue
			}
			for _, r := range n.Results {
				if space := r.Type.Space; space != "" && !d.Addresses(space) {
					errs = append(errs, fmt.Errorf("@%s %v: runs on %s, which cannot address %s, where its result %v is: there are %s",
						f.Name, n, d.Name, space, r, d.Spaces))
				}
			}
		}
	}
	return errors.Join(errs...)
}

// checkFormats reports nodes of a module that is packed whose backend has no kernel for operands in
// these formats. So what lacks a kernel later is not the text's fault.
func checkFormats(m *ir.Module, targets *target.List) error {
	if m.Props&ir.PropPacked == 0 {
		return nil
	}
	var errs []error
	for _, n := range check.Unread(m, targets) {
		errs = append(errs, fmt.Errorf("@%s %v: %s has no kernel for %v that reads these operands as they are: compile it again from before pass pack",
			n.Func.Name, n, n.Backend, n.Op))
	}
	return errors.Join(errs...)
}

// checkSplits reports nodes that are in a later split than the nodes after them. Of nodes that
// work the verifier does. Once there are copies, views and leaves may be in earlier splits.
func checkSplits(m *ir.Module) error {
	if m.Props&ir.PropSplit == 0 {
		return nil
	}
	var errs []error
	for _, f := range m.AllFuncs() {
		next, first := lastSplit(f), m.Props&ir.PropCopied == 0
		for _, n := range slices.Backward(f.Nodes) {
			if n.Split > next {
				errs = append(errs, fmt.Errorf("@%s %v: is of split %d, and a node of split %d follows", f.Name, n, n.Split, next))
			}
			if first || !n.Is(ir.View) && !n.Is(ir.Leaf) {
				next = min(next, n.Split)
			}
		}
	}
	return errors.Join(errs...)
}

// lastSplit returns the largest number of a split in which a node of f works.
func lastSplit(f *ir.Func) int {
	last := 0
	for _, n := range f.Nodes {
		if !n.Is(ir.View) && !n.Is(ir.Leaf) {
			last = max(last, n.Split)
		}
	}
	return last
}

// distrust takes from a text the claim that its plan was proved: check runs on every
// compile.
func distrust(m *ir.Module) {
	if m.Last == "check" {
		m.Last, m.Props = "sync", m.Props&^ir.PropChecked
	}
}

// decided is the property from which on a text decides what a rule of check is about. The kernels of
// nodes depend on the text itself.
var decided = map[string]ir.Props{
	check.RuleReach: ir.PropCopied,
	check.RuleQueue: ir.PropQueued,
}

// refuted returns the error of a run. A violation is a fault of the text, not of the compiler, if the
// text had decided what is violated: came is the properties that it came with.
func refuted(err error, came ir.Props) error {
	var bug *pass.InternalError
	if !errors.As(err, &bug) || bug.Pass != "check" {
		return err
	}
	var wrong *check.Error
	ours := func(v *check.Violation) bool { return came&decided[v.Rule] == 0 }
	if came&ir.PropPartitioned != 0 || errors.As(err, &wrong) && !slices.ContainsFunc(wrong.Violations, ours) {
		if bug.Repro != "" {
			os.Remove(bug.Repro) // the text itself shows it
		}
		return fmt.Errorf("the plan in the text does not hold: compile it again from an earlier pass: %w", bug.Err)
	}
	return err
}
