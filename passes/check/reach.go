package check

import (
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Claim: every node that computes something runs on a target that exists, that addresses the memory of all operands and
// results, and that has a kernel for operands just as they are. A copy needs no kernel. It may read memory of any
// space, unless that would take two copies (target.List.Direct).
//
// With the targets
//
//	target gpu space=dev  ops=silu
//	target cpu space=host ops=*
//
// the plan
//
//	%a = silu %x : f32[2,64] @dev  on gpu      %x is in host
//	%y = exp %a  : f32[2,64] @dev  on gpu
//
// fails twice: a copy of %x into dev is missing, and gpu has no kernel for exp.

// reach checks the claim above for one node.
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
	if transfers(n) && !c.targets.Direct(spaceName(n.Args[0].Type), spaceName(n.Result().Type)) {
		c.fail(RuleReach, n, "copies from %s to %s, and between these two copies go by way of the processor's memory",
			spaceName(n.Args[0].Type), spaceName(n.Result().Type))
	}
	if unread(n, d) {
		c.fail(RuleKernel, n, "%s has no kernel for %v that reads these operands as they are", d.Name, n.Op)
	}
	if !d.Workers {
		c.reachScratch(n)
	}
}

// reachScratch claims: a node of a backend without workers reads no replicated value, as only workers have scratch.
func (c *checker) reachScratch(n *ir.Node) {
	for _, a := range n.Args {
		if a == nil {
			continue
		}
		if def := a.Root().Def; def != nil && def.Part.Mode == ir.PartReplicated {
			c.fail(RuleReach, n, "%s reads %v, which every thread has for itself", n.Backend, a)
		}
	}
}

// transfers reports whether n moves bytes from one space to another.
func transfers(n *ir.Node) bool {
	return isCopy(n) && spaceName(n.Args[0].Type) != spaceName(n.Result().Type)
}

// isCopy reports whether n may read what its backend cannot address.
func isCopy(n *ir.Node) bool { return n.Op == ir.OpCopy || n.Op == ir.OpCopyExperts }

// Unreached is memory that the backend of a node cannot address: that of an operand, or with Operand -1 that of a
// result.
type Unreached struct {
	Node    *ir.Node
	Operand int
}

// Unreachable returns the memory that nodes of m use without being able to address it, function by function, in order.
func Unreachable(m *ir.Module, targets *target.List) []Unreached {
	var found []Unreached
	eachOnTarget(m, targets, func(n *ir.Node, d *target.Descriptor) { found = append(found, unreached(n, d)...) })
	return found
}

// Unread returns the nodes of m whose backend has no kernel that reads their operands as they are, function by
// function, in order.
func Unread(m *ir.Module, targets *target.List) []*ir.Node {
	var found []*ir.Node
	eachOnTarget(m, targets, func(n *ir.Node, d *target.Descriptor) {
		if unread(n, d) {
			found = append(found, n)
		}
	})
	return found
}

// eachOnTarget calls do for the nodes that compute something on a target that exists.
func eachOnTarget(m *ir.Module, targets *target.List, do func(n *ir.Node, d *target.Descriptor)) {
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			if d := targets.Get(n.Backend); works(n) && n.Op != ir.OpRepeat && d != nil {
				do(n, d)
			}
		}
	}
}

// unreached returns the operands of n, and the first result, that d cannot address.
func unreached(n *ir.Node, d *target.Descriptor) []Unreached {
	var found []Unreached
	for i, a := range n.Sources() {
		if a != nil && !isCopy(n) && !d.Addresses(spaceName(a.Type)) {
			found = append(found, Unreached{n, i})
		}
	}
	for _, r := range n.Results {
		if !d.Addresses(spaceName(r.Type)) {
			return append(found, Unreached{n, -1})
		}
	}
	return found
}

// unread reports whether d has no kernel for n. Moving bytes between spaces needs none.
func unread(n *ir.Node, d *target.Descriptor) bool { return !transfers(n) && !d.Reads(n) }

// violation describes what cannot be addressed.
func (u Unreached) violation(d *target.Descriptor) *Violation {
	v, what, missing := u.Node.Result(), "its result", ""
	if u.Operand >= 0 {
		v, what, missing = u.Node.Args[u.Operand], "its operand", ": a copy is missing"
	}
	return &Violation{
		Rule: RuleReach, Func: u.Node.Func.Name, Nodes: []string{u.Node.String()}, Unreached: &u,
		What: fmt.Sprintf("%s cannot address %s, the space of %s %v%s", d.Name, spaceName(v.Type), what, v, missing),
	}
}
