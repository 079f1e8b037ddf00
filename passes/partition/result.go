package partition

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/rewrite"
)

// ownResults inserts copies so that each result of an entry point has bytes of its own. A result is copied if it is a
// parameter, a weight or a state, a part of a value, or the same value as an earlier result.
func ownResults(c *pass.Context, f *ir.Func) error {
	taken := make(map[*ir.Value]bool)
	for i, r := range f.Results {
		if flow.IsForeign(r) {
			continue
		}
		o := r.Root()
		if o.Def != nil && !o.Def.Is(ir.Leaf) && !taken[o] && flow.SameBytes(o, r) {
			taken[o] = true
			continue
		}
		n := rewrite.CopyNodeOn(c, f, r, copier(c, r))
		n.Split = flow.SplitAtEnd(f, n.Backend)
		f.Append(n)
		c.Cause(n, pass.RulePartitionResult, r.String())
		f.Results[i] = n.Result()
	}
	return nil
}

// copier returns the backend that copies a result: the one that made it, or the last target if that backend has no
// kernel for copies and the last target addresses its memory.
func copier(c *pass.Context, r *ir.Value) string {
	d, last := c.Targets.Get(rewrite.CopiesOn(c, r)), c.Targets.Last()
	if d.Has(ir.OpCopy) || !last.Addresses(d.Home()) {
		return d.Name
	}
	return last.Name
}
