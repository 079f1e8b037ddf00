package flow

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// IsTransfer reports whether n copies bytes from one space to another.
func IsTransfer(n *ir.Node) bool {
	return (n.Op == ir.OpCopy || n.Op == ir.OpCopyExperts) && n.Args[0].Type.Space != n.Result().Type.Space
}

// IsSplitInput reports whether the copy pass made n, a copy for the inputs of a split. With the rules ggml-2024 it may
// be a copy within a space.
func IsSplitInput(n *ir.Node) bool {
	return n.Op == ir.OpCopy && n.HasCause(string(pass.RuleCopyIn))
}

// IsCallCopy reports whether n is among the copies of a call: one to another space, or one for the inputs of a split.
func IsCallCopy(n *ir.Node) bool { return IsTransfer(n) || IsSplitInput(n) }

// MovedBytes returns the bytes that a copy moves, at the upper bounds of symbols. Of experts it moves only the chosen
// ones.
func MovedBytes(n *ir.Node) int64 { return n.Op.Info().Cost(n).Written.Upper() }

// StaysApart reports whether a limit of memory keeps n, a copy, besides an earlier one of the same value.
func StaysApart(n *ir.Node) bool {
	return n.HasCause(string(pass.RuleCopyApart))
}

// CopyBase returns the value that is copied for v: v without the reshapes and permutes, which show all of their
// operand.
func CopyBase(v *ir.Value) *ir.Value {
	for v.Def != nil && (v.Def.Op == ir.OpReshape || v.Def.Op == ir.OpPermute) {
		v = v.Def.Args[0]
	}
	return v
}

// ApartSeconds predicts the time that a step of m spends on the copies that [StaysApart] reports. Functions count by
// StepWeights.
func ApartSeconds(c *pass.Context, m *ir.Module) (sum float64) {
	weights := StepWeights(m.AllFuncs())
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			if StaysApart(n) {
				from := TargetOf(c, n.Args[0].Type.Space)
				sum += weights[f] * c.Target(n).TransferSeconds(from, float64(n.Result().Type.MaxBytes()))
			}
		}
	}
	return sum
}

// TargetOf returns the first target whose results go into the space; nil if there is none.
func TargetOf(c *pass.Context, space string) *target.Descriptor {
	for _, t := range c.Targets.All() {
		if t.Home() == space {
			return t
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
