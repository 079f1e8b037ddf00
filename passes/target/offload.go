package target

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
)

// Offload is an op that a backend takes from the last target although its weights are stored there. To copy the weights
// is worth the time if they are used for many rows.
//
// Example: with offload=matmul offloadrows=32, a product with a result of 512 rows by 4096 runs on the backend, and one
// with a result of 1 row by 4096 does not.
type Offload struct {
	Op   ir.Op
	Name string // of a foreign op; empty is any
	Axis int    // of the result, counted from the innermost, whose extent is the number of rows
}

// rowsAxis is the default of Offload.Axis.
const rowsAxis = 1

// Offers reports whether the backend takes the node from the last target.
func (d *Descriptor) Offers(n *ir.Node) bool {
	return slices.ContainsFunc(d.Offload, func(o Offload) bool {
		row := Row{Op: o.Op, Name: o.Name}
		return row.names(n) && rows(n, o.Axis) >= int64(d.OffloadRows)
	})
}

// rows returns the upper bound of the extent of an axis of the node's result.
func rows(n *ir.Node, axis int) int64 {
	shape := n.Result().Type.Shape
	if axis >= len(shape) {
		return 1
	}
	return shape[len(shape)-1-axis].Upper()
}

// HostReads reports whether the processor can read the bytes of the space: the last target addresses it, and no target
// lists it as opaque.
func (l *List) HostReads(space string) bool {
	return l.Last().Addresses(space) && !slices.ContainsFunc(l.targets, func(d *Descriptor) bool {
		return slices.Contains(d.Opaque, space)
	})
}

// Direct reports whether one copy moves bytes from a space to another one: the processor reads one of them, or some
// target addresses both, or no target whose home is one of them is staged.
func (l *List) Direct(from, to string) bool {
	if from == to || l.HostReads(from) || l.HostReads(to) {
		return true
	}
	staged := false
	for _, d := range l.targets {
		if d.Addresses(from) && d.Addresses(to) {
			return true
		}
		staged = staged || d.Staged && (d.Home() == from || d.Home() == to)
	}
	return !staged
}

// Best returns the first target that addresses the space and runs the node, or nil. Every target runs a nil node.
func (l *List) Best(space string, n *ir.Node) *Descriptor {
	for _, d := range l.targets {
		if !d.Addresses(space) {
			continue
		}
		if n == nil {
			return d
		}
		if ok, _ := d.Supports(n); ok {
			return d
		}
	}
	return nil
}

// opName returns the name of the node's op.
func opName(n *ir.Node) string { return listed(n.Op, foreignName(n)) }

// listed returns the name of an op in the field ops; foreign is the name of a foreign op, or empty.
func listed(op ir.Op, foreign string) string {
	if foreign == "" {
		return op.String()
	}
	return foreignPrefix + foreign
}

// setOffload reads a list of NAME or NAME@AXIS.
func setOffload(d *Descriptor, value string) error {
	d.Offload = nil
	for item := range strings.SplitSeq(value, ",") {
		name, axis, given := strings.Cut(item, "@")
		op, foreign, err := parseOp(name)
		if err != nil {
			return err
		}
		o := Offload{Op: op, Name: foreign, Axis: rowsAxis}
		if given {
			a, err := strconv.ParseUint(axis, 10, 4)
			if err != nil {
				return fmt.Errorf("%s: %q is not an axis", item, axis)
			}
			o.Axis = int(a)
		}
		d.Offload = append(d.Offload, o)
	}
	return nil
}

// offloadText returns the text that setOffload reads.
func offloadText(d *Descriptor) string {
	items := make([]string, len(d.Offload))
	for i, o := range d.Offload {
		items[i] = listed(o.Op, o.Name)
		if o.Axis != rowsAxis {
			items[i] += "@" + strconv.Itoa(o.Axis)
		}
	}
	return strings.Join(items, ",")
}
