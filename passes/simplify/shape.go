package simplify

import (
	"errors"
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// Shape gives every value the type that follows from the parameters.
//
// Before: well-formed SSA; parameters, weights and states have types, other values may
// lack them. After: every type is what its op infers from the operands.
//
// Not earlier: it is the first pass. Not later: everything else reads types.
//
// Cost: one walk in order, O(nodes).
//
// A type that the module states and that the op contradicts is an error: one of the two
// is not what its author meant. All such errors are reported together; what depends on a
// node that has no types is passed over, not reported again.
var Shape = pass.Pass{
	Name:     "shape",
	Doc:      "infer the type of every value, and compare it with what the module says",
	Run:      inferShapes,
	Required: true,
	Needs:    ir.PropImported,
	Gives:    ir.PropShaped,
}

func inferShapes(c *pass.Context, m *ir.Module) error {
	errs := []error{checkSymbols(m)}
	for _, f := range m.AllFuncs() {
		errs = append(errs, inferFunc(f))
	}
	return errors.Join(errs...)
}

func checkSymbols(m *ir.Module) error {
	var errs []error
	for _, s := range m.Symbols {
		if s.Min < 0 || s.Max < s.Min {
			errs = append(errs, fmt.Errorf("symbol %s has the bounds %d to %d: they have to be at least 0 and in order", s.Name, s.Min, s.Max))
		}
	}
	return errors.Join(errs...)
}

func inferFunc(f *ir.Func) error {
	var errs []error
	bad := make(map[*ir.Value]bool)
	for _, n := range f.Nodes {
		if len(bad) > 0 && anyBad(n, bad) {
			markBad(n, bad)
			continue
		}
		if err := inferNode(n); err != nil {
			errs = append(errs, fmt.Errorf("@%s %v: %w", f.Name, n, err))
			markBad(n, bad)
		}
	}
	return errors.Join(errs...)
}

func anyBad(n *ir.Node, bad map[*ir.Value]bool) bool {
	for _, a := range n.Args {
		if a != nil && bad[a] {
			return true
		}
	}
	return false
}

func markBad(n *ir.Node, bad map[*ir.Value]bool) {
	for _, r := range n.Results {
		bad[r] = true
	}
}

// inferNode gives the results of n their types.
func inferNode(n *ir.Node) error {
	types, err := ir.Infer(n)
	if err != nil {
		return err
	}
	if len(types) != len(n.Results) {
		return fmt.Errorf("%v has %d results, not %d", n.Op, len(types), len(n.Results))
	}
	for i, r := range n.Results {
		t := types[i]
		if t.Space == "" {
			t.Space = r.Type.Space
		}
		if stated := r.Type; stated.DType.Valid() && !stated.SameData(t) {
			return fmt.Errorf("is declared as %v, and %v makes %v", stated, n.Op, t)
		}
		r.Type = t
	}
	return nil
}
