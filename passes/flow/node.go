package flow

import (
	"github.com/ggmlc/ggmlc/ir"
)

// DoesWork reports whether a node needs a backend: it is neither a leaf nor a view.
func DoesWork(n *ir.Node) bool { return n.Traits()&(ir.Leaf|ir.View) == 0 }

// IsLeafNode reports whether a node is a weight, state or constant. A foreign leaf is none: its bytes are where its
// backend keeps them.
func IsLeafNode(n *ir.Node) bool { return n.Op.Info().Traits&ir.Leaf != 0 }

// IsForeign reports whether a foreign node defines v.
func IsForeign(v *ir.Value) bool { return v.Def != nil && v.Def.Op == ir.OpForeign }

// RunsFunction reports whether the work of n is that of a function's nodes.
func RunsFunction(n *ir.Node) bool { return n.Is(ir.HasBody) || n.Op == ir.OpCall }

// HasEffect reports whether n does something besides defining its results: it writes a state, has a body that does, or
// is of an op whose effects are not known.
func HasEffect(n *ir.Node) bool {
	if n.Body != nil {
		for _, inner := range n.Body.Nodes {
			if HasEffect(inner) {
				return true
			}
		}
		return false
	}
	return n.Is(ir.WritesState) || !n.Is(ir.Pure) && !n.Is(ir.Leaf)
}
