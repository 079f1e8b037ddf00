package partition

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// demand is what the readers of values need. Its keys are origins: the values that own the bytes.
//
// For
//
//	%n = rms_norm %x
//	%q = matmul %n, %w   divided along columns, each unit reads all of %n
//	return %q
//
// %n is whole, and %q is common: the caller reads it.
type demand struct {
	// common has the values that a device or worker 0 alone reads, the caller gets, or an iteration leaves to the next
	// one, and the operands that nodes overwrite. Each of them has one set of bytes, so workers cannot have copies of
	// their own.
	common ir.ValueTable[bool]

	// whole has the values of which some node reads all for each unit. If workers divide such a value, its reader needs
	// a barrier.
	whole ir.ValueTable[bool]
}

// newDemand finds the demand in an entry point and the bodies in it.
func newDemand(c *pass.Context, f *ir.Func) *demand {
	d := new(demand)
	d.addFunc(c, f)
	return d
}

// addFunc adds the demand of f, whose results are read by the caller or by the next iteration.
func (d *demand) addFunc(c *pass.Context, f *ir.Func) {
	d.addCommon(f.Results...)
	for _, n := range f.Nodes {
		switch {
		case !flow.DoesWork(n):
		case n.Op == ir.OpRepeat:
			d.addCommon(n.Args[:n.Attr.(*ir.RepeatAttr).Carried]...)
			d.addFunc(c, n.Body)
		case isSerial(c.Target(n), n):
			d.addCommon(n.Args...)
		default:
			d.addShared(n)
		}
	}
}

// addShared adds the demand of a node that workers may divide.
func (d *demand) addShared(n *ir.Node) {
	axes := flow.NodeAxes(n)
	for i, a := range n.Args {
		if a != nil && readsAll(axes, i) {
			*d.whole.At(flow.Origin(a)) = true
		}
	}
	if n.Is(ir.Alias) { // its result is a new version of the operand's bytes
		d.addCommon(n.Args[n.Op.Info().AliasArg])
	}
}

// readsAll reports whether each unit along the preferred axis, the first one, may read any part of an operand.
func readsAll(axes []ir.Axis, arg int) bool {
	if len(axes) == 0 || arg >= len(axes[0].Reads) {
		return true
	}
	kind := axes[0].Reads[arg].Kind
	return kind == ir.ReadAll || kind == ir.ReadParts
}

// addCommon adds values that are common.
func (d *demand) addCommon(values ...*ir.Value) {
	for _, v := range values {
		if v != nil {
			*d.common.At(flow.Origin(v)) = true
		}
	}
}

// isSerial reports whether worker 0 handles n, which runs on t, by itself: it submits n to a queue, waits while a
// device without a queue runs it, or moves bytes that workers cannot address.
func isSerial(t *target.Descriptor, n *ir.Node) bool {
	return n.Queue() != "" || !t.Workers || flow.IsTransfer(n) && !t.Addresses(n.Args[0].Type.Space)
}
