package flow

import "github.com/ggmlc/ggmlc/ir"

// WithinAxis returns the axis along which the threads of a group divide a node that is on its queue; nil if one of them
// computes it.
func WithinAxis(n *ir.Node) *ir.Axis {
	if n.Submit == nil || n.Submit.Within.Mode != ir.PartSplit {
		return nil
	}
	axes := NodeAxes(n)
	for i := range axes {
		if axes[i].Axis == n.Submit.Within.Axis {
			return &axes[i]
		}
	}
	return nil
}

// OwnUnitsWithin reports whether each thread of a group reads only those bytes of operand arg of n that it writes in
// the result, if the result has the operand's bytes. A node that one thread computes has nothing to divide.
//
// For example, with threads that divide the columns, an add reads the columns that it writes, and a softmax reads all
// columns for each that it writes.
func OwnUnitsWithin(n *ir.Node, arg int) bool {
	ax := WithinAxis(n)
	if ax == nil {
		return true
	}
	var t Touches
	read := Access{Node: n, Value: Origin(n.Args[arg]), Arg: arg, Granule: n.Submit.Within.Granule}
	write := Access{Node: n, Value: Origin(n.Result()), Arg: -1, Write: true, Granule: n.Submit.Within.Granule}
	t.Read(&read, ir.PartSplit, ax)
	t.Write(&write, 0, ir.PartSplit, ax)
	return SameOwner(read, write)
}
