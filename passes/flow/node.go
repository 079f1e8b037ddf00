// Package flow answers what several passes ask of a graph: which value owns the bytes that another one names,
// which nodes touch them and in which units, which version of a state a node reads, what a node costs, how often
// a body runs, and which nodes make up a split. It reads graphs; all it writes are numbers of splits.
package flow

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/target"
)

// DoesWork reports whether a node needs a backend: it is neither a leaf nor a view.
func DoesWork(n *ir.Node) bool { return n.Traits()&(ir.Leaf|ir.View) == 0 }

// IsLeafNode reports whether a node is a weight, state or constant. A foreign leaf lies
// where its backend keeps its bytes.
func IsLeafNode(n *ir.Node) bool { return n.Op.Info().Traits&ir.Leaf != 0 }

func AppendType(b []byte, t ir.Type) []byte {
	b = append(b, byte(t.DType), byte(t.Layout), byte(len(t.Shape)))
	b = appendDims(b, t.Shape)
	if t.Strides != nil {
		b = appendDims(append(b, 's'), t.Strides)
	}
	return b
}

func appendDims(b []byte, dims []ir.Dim) []byte {
	for _, d := range dims {
		if n, ok := d.IsConst(); ok {
			b = binary.AppendVarint(append(b, 0), n)
		} else {
			b = append(append(append(b, 1), d.String()...), 0)
		}
	}
	return b
}

// RunsFunction reports whether the work of n is that of a function's nodes.
func RunsFunction(n *ir.Node) bool { return n.Is(ir.HasBody) || n.Op == ir.OpCall }

// CopyBase returns what is copied for v: the value behind views that show all of it.
func CopyBase(v *ir.Value) *ir.Value {
	for v.Def != nil && (v.Def.Op == ir.OpReshape || v.Def.Op == ir.OpPermute) {
		v = v.Def.Args[0]
	}
	return v
}

// HasEffect reports whether n does something besides defining its results: it writes a
// state, holds a function that does, or is not known.
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

// SameShape reports whether the operand names all bytes of its origin and element i of
// the result fills exactly those of its element i.
func SameShape(operand, result *ir.Value) bool {
	a, b := operand.Type, result.Type
	return a.Layout == dtype.Plain && b.Layout == dtype.Plain &&
		a.DType.BlockBytes() == b.DType.BlockBytes() && a.DType.BlockElems() == b.DType.BlockElems() &&
		ir.EqualDims(a.Shape, b.Shape) && a.Dense() && b.Dense() && SameBytes(Origin(operand), operand)
}

// SameBytes reports whether v names all bytes of o, in order.
func SameBytes(o, v *ir.Value) bool {
	return v == o || v.Type.Dense() && o.Type.Dense() && v.Type.Bytes().Equal(o.Type.Bytes())
}

func IsForeign(v *ir.Value) bool { return v.Def != nil && v.Def.Op == ir.OpForeign }

// SpaceOf returns the space of a type; the host's where none was chosen.
func SpaceOf(t *ir.Type) string { return cmp.Or(t.Space, target.Host) }

// StillRead returns a node that reads v, from the one on that makes made, but for an operand that
// this one may overwrite; nil for none.
func StillRead(nodes []*ir.Node, v, made *ir.Value) *ir.Node {
	for _, n := range nodes[slices.Index(nodes, made.Def):] {
		for arg, a := range n.Args {
			if a == nil || a.Root() != v || n.Is(ir.View) {
				continue
			}
			if n != made.Def || !slices.Contains(n.Op.Info().InPlace, arg) || !SameShape(a, made) {
				return n
			}
		}
	}
	return nil
}

// transferred returns the bytes that a transfer writes, at the symbols' upper bounds.
func transferred(n *ir.Node) int64 {
	if n.Op == ir.OpCopy {
		return n.Result().Type.MaxBytes()
	}
	return n.Op.Info().Cost(n).Written.Upper()
}

// IsTransfer reports whether n copies bytes from one space to another.
func IsTransfer(n *ir.Node) bool {
	return (n.Op == ir.OpCopy || n.Op == ir.OpCopyExperts) && n.Args[0].Type.Space != n.Result().Type.Space
}
