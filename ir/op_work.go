package ir

import "slices"

// Cost and division of work of several families.

// noWork is the cost of views and leaves.
func noWork(*Node) Cost { return Cost{} }

// moved is the cost of reading every operand and writing every result once.
func moved(n *Node) Cost {
	var c Cost
	for _, a := range n.Args {
		if a != nil {
			c.Read = c.Read.Add(a.Type.Bytes())
		}
	}
	for _, r := range n.Results {
		c.Written = c.Written.Add(r.Type.Bytes())
	}
	return c
}

// perElement returns the cost function of an op with that work for each element of its result.
func perElement(flops int64) func(*Node) Cost {
	return func(n *Node) Cost {
		c := moved(n)
		c.FLOPs = n.Result().Type.Elems().Mul(Const(flops))
		return c
	}
}

// vectorElems is the granule along an innermost dimension of f32: a cache line and the widest vector.
// No two workers write to the same cache line then, and the result of a vector does not depend on where
// a range begins.
const vectorElems = 16

// sameRange reads the operand's range [lo,hi) of an axis for the result's range [lo,hi).
func sameRange(axis int) Read { return Read{Kind: ReadRange, Axis: axis, Num: 1, Den: 1} }

// elementwiseAxes divides along each axis with more than one element, the innermost first. Operands are
// aligned at the innermost dimension.
func elementwiseAxes(n *Node) []Axis {
	y := n.Result().Type
	axes := make([]Axis, 0, len(y.Shape))
	reads := make([]Read, 0, len(y.Shape)*len(n.Args)) // of all axes
	for axis, d := range slices.Backward(y.Shape) {
		if d.Is(1) {
			continue
		}
		a := Axis{Axis: axis, Granule: 1}
		if axis == y.Rank()-1 {
			a.Granule = innerGranule(n)
		}
		first := len(reads)
		for _, arg := range n.Args {
			reads = append(reads, alignedRead(arg.Type, axis-y.Rank()+arg.Type.Rank()))
		}
		a.Reads = slices.Clip(reads[first:])
		axes = append(axes, a)
	}
	return axes
}

// alignedRead reads the same range of the axis, or all of an operand that is repeated along it.
func alignedRead(t Type, axis int) Read {
	if axis < 0 || t.Shape[axis].Is(1) {
		return Read{Kind: ReadAll}
	}
	return sameRange(axis)
}

// innerGranule is a multiple of the block lengths of the result and the operands.
func innerGranule(n *Node) int64 {
	granule := max(vectorElems, int64(n.Result().Type.DType.BlockElems()))
	for _, a := range n.Args {
		granule = max(granule, int64(a.Type.DType.BlockElems()))
	}
	return granule
}

// rowAxes divides along all axes except the innermost, the outermost first. Operands other than the
// first are read whole.
func rowAxes(n *Node) []Axis {
	y := n.Result().Type
	var axes []Axis
	for axis := range y.Rank() - 1 {
		if y.Shape[axis].Is(1) {
			continue
		}
		reads := make([]Read, len(n.Args))
		reads[0] = sameRange(axis)
		axes = append(axes, Axis{Axis: axis, Granule: 1, Reads: reads})
	}
	return axes
}
