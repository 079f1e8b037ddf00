package flow

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// NodeAxes returns the axes along which a node can be divided, without those of extent 1.
func NodeAxes(n *ir.Node) []ir.Axis {
	info := n.Op.Info()
	if info.Axes == nil || len(n.Results) == 0 {
		return nil
	}
	shape := n.Result().Type.Shape
	return slices.DeleteFunc(info.Axes(n), func(ax ir.Axis) bool { return shape[ax.Axis].Is(1) })
}

// ChosenAxis returns the axis that the node's partition follows; nil if the node is not divided.
func ChosenAxis(n *ir.Node) *ir.Axis {
	if n.Part.Mode != ir.PartSplit {
		return nil
	}
	return chosenOf(n, NodeAxes(n))
}

// chosenOf returns the one of the axes that the node's partition follows.
func chosenOf(n *ir.Node, axes []ir.Axis) *ir.Axis {
	for i := range axes {
		if axes[i].Axis == n.Part.Axis {
			return &axes[i]
		}
	}
	return nil
}

// IsUnread reports whether a node that is divided along ax does not read an operand. A nil axis is of a node that is
// not divided, which reads all of them.
func IsUnread(ax *ir.Axis, arg int) bool {
	return ax != nil && arg < len(ax.Reads) && ax.Reads[arg].Kind == ir.ReadNone
}
