package target

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
)

// Offload is an op that a backend takes off the last target, where the op's weights lie:
// it is worth it to copy them where they serve many rows.
type Offload struct {
	Op   ir.Op
	Name string // of a foreign op; empty is any
	Axis int    // of the result, counted from the innermost, whose extent is the number of rows
}

// rowsAxis is the axis that Offload has unless it says otherwise.
const rowsAxis = 1

// Offers reports whether the backend offers to take the node off the last target.
func (d *Descriptor) Offers(n *ir.Node) bool {
	return slices.ContainsFunc(d.Offload, func(o Offload) bool {
		row := Row{Op: o.Op, Name: o.Name}
		return row.names(n) && rows(n, o.Axis) >= int64(d.OffloadRows)
	})
}

// rows returns the extent of an axis of the result at the symbols' bounds.
func rows(n *ir.Node, axis int) int64 {
	shape := n.Result().Type.Shape
	if axis >= len(shape) {
		return 1
	}
	return shape[len(shape)-1-axis].Upper()
}

// HostReads reports whether the processor reads bytes of the space as they are: the last
// target addresses it, and it is opaque to nobody.
func (l *List) HostReads(space string) bool {
	return l.Last().Addresses(space) && !slices.ContainsFunc(l.targets, func(d *Descriptor) bool {
		return slices.Contains(d.Opaque, space)
	})
}

// Best returns the first target that addresses the space and runs the node, or nil. A nil
// node is run by all.
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

// opName returns the name of the node's op for messages.
func opName(n *ir.Node) string { return listed(n.Op, foreignName(n)) }

// listed returns an op as lists of ops have it.
func listed(op ir.Op, foreign string) string {
	if foreign == "" {
		return op.String()
	}
	return foreignPrefix + foreign
}

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
				return fmt.Errorf("%s: %q is no axis", item, axis)
			}
			o.Axis = int(a)
		}
		d.Offload = append(d.Offload, o)
	}
	return nil
}

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
