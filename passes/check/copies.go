package check

import "github.com/ggmlc/ggmlc/ir"

// copies claims: the result of every copy has the elements of its source, in dense bytes; of
// a copy of experts nobody reads but who reads the experts that were copied; and passing a value to the body of a repeat or back changes neither its type nor its
// space, as nothing is moved there. What keeps copies from being left out is reach.
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

// copiesExperts claims: a copy of experts has the size of them all, and its indices lie where
// the experts lie, whoever moves these has them at hand.
func (c *checker) copiesExperts(n *ir.Node) {
	from, idx, to := n.Args[0].Type, n.Args[1].Type, n.Result().Type
	if !from.SameData(to) || !to.Dense() {
		c.fail(RuleCopy, n, "copies experts %v into %v", from, to)
	}
	if spaceName(idx) != spaceName(from) {
		c.fail(RuleCopy, n, "its indices %v lie in %s, the experts in %s", n.Args[1], spaceName(idx), spaceName(from))
	}
}

// readsExperts claims: what a copy of experts leaves undefined is not read. Its readers are
// experts_matmul with the same indices, or a copy of them: they read no other experts.
func (c *checker) readsExperts(n *ir.Node, i int, a *ir.Value) {
	def := behindViews(a).Def
	if def == nil || def.Op != ir.OpCopyExperts {
		return
	}
	switch {
	case n.Is(ir.View): // its readers are looked at
	case n.Op != ir.OpExpertsMatMul || i != 1 || a != def.Result():
		c.fail(RuleCopy, n, "reads %v, of which only some experts are copied", a)
	case original(n.Args[2]) != original(def.Args[1]):
		c.fail(RuleCopy, n, "reads the experts that %v names of %v, and those that %v names are copied", n.Args[2], a, def.Args[1])
	}
}

// resultsOfExperts claims: no copy of experts leaves its function.
func (c *checker) resultsOfExperts(f *ir.Func) {
	for _, r := range f.Results {
		if def := behindViews(r).Def; def != nil && def.Op == ir.OpCopyExperts {
			c.fail(RuleCopy, def, "is a result of @%s, and only some experts of it are copied", f.Name)
		}
	}
}

// original returns the value that v is a copy of, or another shape.
func original(v *ir.Value) *ir.Value {
	for v.Def != nil && (v.Def.Op == ir.OpCopy || v.Def.Op == ir.OpReshape) {
		v = v.Def.Args[0]
	}
	return v
}

// behindViews returns the value that v is a view of.
func behindViews(v *ir.Value) *ir.Value {
	for v.Def != nil && v.Def.Is(ir.View) {
		v = v.Def.Args[0]
	}
	return v
}

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

// paramOf returns which parameter of the body operand i of a repeat is for, as
// ir.RepeatAttr says.
func paramOf(a *ir.RepeatAttr, i int) int {
	fixed := a.Carried + a.Invariant
	if i < fixed {
		return i
	}
	return fixed + (i-fixed)/int(a.Count)
}
