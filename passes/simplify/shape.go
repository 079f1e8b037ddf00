package simplify

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// Shape gives every value the type that follows from the parameters.
//
// Before: well-formed SSA; parameters, weights and states have types, other values may have none. After: every type is
// the one that its op infers from the operands.
//
// Not earlier: it is the first pass. Not later: all other passes read types.
//
// Cost: one walk in order, O(nodes).
//
// A type in the module that contradicts the op is an error: the author meant another type or another op. All errors are
// reported together. A node without types is reported once; the nodes that depend on it are skipped.
//
//	%a: f32[2,3] = matmul %x, %w    x is f32[2,8], w is f32[4,8]: error, matmul makes f32[2,4]
//	%b = add %a, %y                 skipped
//	%c = neg %y                     f32[2,4]
var Shape = pass.Pass{
	Name:     "shape",
	Doc:      "infer the type of every value, and compare it with the one that the module states",
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
	untyped := make(map[*ir.Value]bool) // values without a type, because of an error
	for _, n := range f.Nodes {
		skip := slices.ContainsFunc(n.Args, func(a *ir.Value) bool { return untyped[a] })
		if !skip {
			err := inferNode(n)
			if err == nil {
				continue
			}
			errs = append(errs, fmt.Errorf("@%s %v: %w", f.Name, n, err))
		}
		for _, r := range n.Results {
			untyped[r] = true
		}
	}
	return errors.Join(errs...)
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
