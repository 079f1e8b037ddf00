package check

import "github.com/ggmlc/ggmlc/ir"

// copies claims: the result of every copy has the elements of its source, in dense bytes,
// and passing a value to the body of a repeat or back changes neither its type nor its
// space, as nothing is moved there. What keeps copies from being left out is reach.
func (c *checker) copies(n *ir.Node) {
	switch n.Op {
	case ir.OpCopy:
		from, to := n.Args[0].Type, n.Result().Type
		if from.DType != to.DType || from.Layout != to.Layout || !ir.EqualDims(from.Shape, to.Shape) || !to.Dense() {
			c.fail(RuleCopy, n, "copies %v into %v", from, to)
		}
	case ir.OpRepeat:
		c.passed(n)
	}
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
