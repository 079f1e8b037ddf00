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
		n := rewrite.CopyNode(c, f, r)
		n.Split = flow.SplitAtEnd(f, n.Backend)
		f.Append(n)
		c.Cause(n, pass.RulePartitionResult, r.String())
		f.Results[i] = n.Result()
	}
	return nil
}
