package partition

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// canPartition returns an error for each node of f, and of the bodies in it, that the pass cannot partition.
func canPartition(c *pass.Context, f *ir.Func) error {
	var errs []error
	for _, n := range f.Nodes {
		switch {
		case n.Op == ir.OpCall:
			errs = append(errs, fmt.Errorf("@%s: %v: a function that calls another one cannot be planned: let pass inline run, or, if the other one touches a state, write its nodes in place of the call", f.Name, n))
		case n.Op == ir.OpRepeat:
			errs = append(errs, canPartition(c, n.Body), operandsFit(n))
		case flow.DoesWork(n) && c.Target(n) == nil:
			errs = append(errs, fmt.Errorf("@%s: %v: there is no target %q; the targets are %s", f.Name, n, n.Backend, c.Targets.Names()))
		}
	}
	return errors.Join(errs...)
}

// operandsFit checks the operands of a repeat. A carried value has one place in memory: for what it starts with, for
// the parameter and the result of the body, and for the result of the repeat. So each of these owns its bytes, and
// they are in one space. Other operands are not parts of a value, because a parameter has the place of a whole one.
func operandsFit(n *ir.Node) error {
	var errs []error
	carried := n.Attr.(*ir.RepeatAttr).Carried
	seen := make(map[*ir.Value]bool)
	for i := range carried {
		errs = append(errs, carriedMayChange(n, i), carriedInSpace(n, i))
		for _, v := range []*ir.Value{n.Args[i], n.Body.Results[i]} {
			o := flow.Origin(v)
			ownParam := n.Body.Params[i] == o
			if o.Func != v.Func || o.Def == nil && !ownParam || flow.IsLeaf(o, ir.OpWeight, ir.OpConstant, ir.OpState) || seen[o] || !flow.SameBytes(o, v) {
				errs = append(errs, fmt.Errorf("@%s: %v: the carried value %v has no bytes of its own: insert a copy", n.Func.Name, n, v))
			}
			seen[o] = true
		}
	}
	for _, v := range n.Args[carried:] {
		if o := flow.Origin(v); !flow.SameBytes(o, v) {
			errs = append(errs, fmt.Errorf("@%s: %v: the operand %v is a part of %v: insert a copy", n.Func.Name, n, v, o))
		}
	}
	return errors.Join(errs...)
}

// carriedMayChange checks that the carried value i of a repeat is overwritten only when its old contents are not read
// any more. Two things are overwritten: what it starts with, by the first iteration, and in each iteration its old
// contents, by the node that makes the next ones.
func carriedMayChange(n *ir.Node, i int) error {
	start, param, next := flow.Origin(n.Args[i]), n.Body.Params[i], flow.Origin(n.Body.Results[i])
	isStart := func(v *ir.Value) bool { return v != nil && flow.Origin(v) == start }
	after := n.Func.Nodes[slices.Index(n.Func.Nodes, n)+1:]
	reader := slices.IndexFunc(after, func(m *ir.Node) bool { return slices.ContainsFunc(m.Args, isStart) })
	switch {
	case slices.ContainsFunc(n.Args[n.Attr.(*ir.RepeatAttr).Carried:], isStart):
		return fmt.Errorf("@%s: %v: the carried value %v is overwritten, and all iterations read it: insert a copy", n.Func.Name, n, n.Args[i])
	case reader >= 0:
		return fmt.Errorf("@%s: %v: the carried value %v is overwritten, and %v reads it after the repeat: insert a copy", n.Func.Name, n, n.Args[i], after[reader])
	case slices.ContainsFunc(n.Func.Results, isStart):
		return fmt.Errorf("@%s: %v: the carried value %v is overwritten, and the function returns it: insert a copy", n.Func.Name, n, n.Args[i])
	case next.Def == nil || next.Def.Is(ir.Leaf) || next.Func != n.Body:
		return nil // no node of the body makes it: it does not change, or operandsFit reports what is wrong
	}
	if m := flow.StillRead(n.Body.Nodes, param, next); m != nil {
		return fmt.Errorf("@%s: %v: %v is overwritten by %v, and %v still reads it: return a copy of %v", n.Body.Name, n, param, next, m, n.Body.Results[i])
	}
	return nil
}

// carriedInSpace checks that the carried value i of a repeat starts in the space of the body's parameter, and that each
// iteration leaves it there. Pass copy may have left it in another space if the target that runs the node addresses
// that space as well.
func carriedInSpace(n *ir.Node, i int) error {
	space := func(v *ir.Value) string { return cmp.Or(v.Type.Space, target.Host) }
	want := space(n.Body.Params[i])
	for _, v := range []*ir.Value{n.Args[i], n.Body.Results[i]} {
		if at := space(v); at != want {
			return fmt.Errorf("@%s: %v: the carried value %v is in %s, and the body reads it in %s: pin what makes it to a target with that memory", n.Func.Name, n, v, at, want)
		}
	}
	return nil
}
