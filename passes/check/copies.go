package check

import "github.com/ggmlc/ggmlc/ir"

// Claim: the result of every copy has the elements of its source, in dense bytes. A value that is passed to the body of
// a repeat or back keeps its type and its space, as nothing is moved there. (That no copy is missing is the claim of
// reach.go.)
//
// A copy of experts moves only the experts that its indices name; the bytes of the others are undefined. So
//
//	%e = copy_experts %w, %i         the experts that %i names
//	%y = experts_matmul %x, %e, %j   the experts that %j names
//
// fails: nothing proves that %j names no others than %i.

// copies checks the claim above for one node.
func (c *checker) copies(n *ir.Node) {
	switch n.Op {
	case ir.OpCopy:
		from, to := n.Args[0].Type, n.Result().Type
		if from.DType != to.DType || from.Layout != to.Layout || !ir.EqualDims(from.Shape, to.Shape) || !to.Dense() {
			c.fail(RuleCopy, n, "copies %v into %v", from, to)
		}
	case ir.OpCopyExperts:
		c.copiesExperts(n)
	case ir.OpRepeat:
		c.passed(n)
	}
	for i, a := range n.Args {
		if a != nil {
			c.readsExperts(n, i, a)
		}
	}
}

// copiesExperts claims: a copy of experts has room for all of them, and its indices are in the space of the experts,
// where the copying backend can read them.
func (c *checker) copiesExperts(n *ir.Node) {
	from, idx, to := n.Args[0].Type, n.Args[1].Type, n.Result().Type
	if !from.SameData(to) || !to.Dense() {
		c.fail(RuleCopy, n, "copies experts %v into %v", from, to)
	}
	if spaceName(idx) != spaceName(from) {
		c.fail(RuleCopy, n, "its indices %v are in %s, the experts in %s", n.Args[1], spaceName(idx), spaceName(from))
	}
}

// readsExperts claims: if operand i of n is a copy of experts, n reads only copied experts: it is experts_matmul with
// the same indices, or with a copy of them.
func (c *checker) readsExperts(n *ir.Node, i int, a *ir.Value) {
	def := unviewed(a).Def
	if def == nil || def.Op != ir.OpCopyExperts {
		return
	}
	switch {
	case n.Is(ir.View): // the readers of the view are checked
	case n.Op != ir.OpExpertsMatMul || i != 1 || a != def.Result():
		c.fail(RuleCopy, n, "reads %v, of which only some experts are copied", a)
	case original(n.Args[2]) != original(def.Args[1]):
		c.fail(RuleCopy, n, "reads the experts of %v that %v names, and those that %v names are copied",
			a, n.Args[2], def.Args[1])
	}
}

// resultsOfExperts claims: no copy of experts is a result of its function.
func (c *checker) resultsOfExperts(f *ir.Func) {
	for _, r := range f.Results {
		if def := unviewed(r).Def; def != nil && def.Op == ir.OpCopyExperts {
			c.fail(RuleCopy, def, "is a result of @%s, and only some experts of it are copied", f.Name)
		}
	}
}

// original returns the value that v is a copy or another shape of.
func original(v *ir.Value) *ir.Value {
	for v.Def != nil && (v.Def.Op == ir.OpCopy || v.Def.Op == ir.OpReshape) {
		v = v.Def.Args[0]
	}
	return v
}

// unviewed returns the value that v is a view of.
func unviewed(v *ir.Value) *ir.Value {
	for v.Def != nil && v.Def.Is(ir.View) {
		v = v.Def.Args[0]
	}
	return v
}

// passed claims: the operands of a repeat are passed as the parameters of its body, and the body's results as those of
// the next iteration and of the repeat, without a change of type, space or beginning.
func (c *checker) passed(n *ir.Node) {
	a := n.Attr.(*ir.RepeatAttr)
	pass := func(from, to *ir.Value) {
		if !from.Type.SameData(to.Type) || spaceName(from.Type) != spaceName(to.Type) {
			c.fail(RuleCopy, n, "%v is %v, and is passed as %v, which is %v", from, from.Type, to, to.Type)
		}
		if !startsAtRoot(from) {
			c.fail(RuleCopy, n, "%v is passed as %v, and is a part of other bytes", from, to)
		}
	}
	for i, v := range n.Args {
		pass(v, n.Body.Params[paramOf(a, i)])
	}
	for i, r := range n.Body.Results {
		pass(r, n.Body.Params[i])
		pass(r, n.Results[i])
	}
}

// paramOf returns the parameter of the body that operand i of a repeat is for, as ir.RepeatAttr defines it. With two
// carried values, one invariant, two tables and three iterations, operands 0 to 2 are for parameters 0 to 2, operands 3
// to 5 for parameter 3, and operands 6 to 8 for parameter 4.
func paramOf(a *ir.RepeatAttr, i int) int {
	fixed := a.Carried + a.Invariant
	if i < fixed {
		return i
	}
	return fixed + (i-fixed)/int(a.Count)
}

// operandOf returns the operand of a repeat for parameter i of the body in an iteration. That of a carried value is the
// one of the first iteration.
func operandOf(n *ir.Node, i int, iteration int64) *ir.Value {
	a := n.Attr.(*ir.RepeatAttr)
	if fixed := a.Carried + a.Invariant; i >= fixed {
		i = fixed + (i-fixed)*int(a.Count) + int(iteration)
	}
	return n.Args[i]
}
