package check

import "github.com/ggmlc/ggmlc/ir"

// reach claims: every node with work runs on a target that exists, that can address all it
// reads and writes, and that has a kernel for operands just as they are. A copy reads from
// any space that some target addresses: it is what moves bytes between them, for which
// targets need no kernel.
func (c *checker) reach(n *ir.Node) {
	if !works(n) || n.Op == ir.OpRepeat {
		return
	}
	d := c.backend(n)
	if d == nil {
		c.fail(RuleReach, n, "there is no target %q: there are %s", n.Backend, c.targets.Names())
		return
	}
	for _, u := range unreached(n, d) {
		c.report("", u.violation(d))
	}
	if unread(n, d) {
		c.fail(RuleKernel, n, "%s has no kernel for %v that reads these operands as they are", d.Name, n.Op)
	}
	c.reachScratch(n, d.Workers)
}

// transfers reports whether n moves bytes from one space to another.
func transfers(n *ir.Node) bool {
	return isCopy(n) && spaceName(n.Args[0].Type) != spaceName(n.Result().Type)
}

// isCopy reports whether n may read what its backend cannot address.
func isCopy(n *ir.Node) bool { return n.Op == ir.OpCopy || n.Op == ir.OpCopyExperts }

// reachScratch claims: only workers, who have scratch of their own, read what each of them
// has computed for itself.
func (c *checker) reachScratch(n *ir.Node, workers bool) {
	for _, a := range n.Args {
		if a == nil || workers {
			continue
		}
		if def := a.Root().Def; def != nil && def.Part.Mode == ir.PartEach {
			c.fail(RuleReach, n, "%s reads %v, which every worker has for itself", n.Backend, a)
		}
	}
}
