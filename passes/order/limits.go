package order

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// mayOverlap reports whether copies may move forward: whether the plan with the moved copies keeps the limits of
// memory.
//
// A copy that begins earlier keeps its source and its result for longer, also where the live bytes of a split do not
// show it: epochs change with it, and queues read for several steps. So the module is planned with the copies moved. In
// a dry run no copy moves. The plan that assign has compared with the limits is then the one that remains here if the
// limits are exceeded.
func mayOverlap(c *pass.Context, m *ir.Module) (bool, error) {
	if c.Dry != nil || !c.Enabled(pass.RuleOrderOverlap) {
		return false, nil
	}
	spaces := c.Targets.Spaces()
	limits := pass.SpaceLimits(c, spaces)
	if !slices.ContainsFunc(limits, func(n int64) bool { return n >= 0 }) {
		return true, nil
	}
	quiet := *c
	quiet.Stats, quiet.Fuel = &pass.PassStats{}, pass.NewFuel(-1)
	moved := m.Clone()
	if orderFuncs(&quiet, moved, true) == 0 {
		return true, nil
	}
	moved.Props |= c.Pass.Gives
	moved.Last = c.Pass.Name
	if err := c.TryPlan(moved, pass.CopySet{}); err != nil {
		return false, err
	}
	c.Count("dry-runs", 1)
	need := flow.SpaceBytes(moved.Plan)
	for i, limit := range limits {
		if limit >= 0 && need[spaces[i].Name] > limit {
			c.Count("overlap.in-vain", 1)
			return false, nil
		}
	}
	return true, nil
}
