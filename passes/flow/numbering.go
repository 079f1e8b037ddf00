package flow

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// None is the number of a node or value that is absent.
const None = int32(-1)

// NoneOf returns a table of n numbers, all of them None.
func NoneOf(n int) []int32 { return slices.Repeat([]int32{None}, n) }

// Numbering gives numbers to the values and nodes of an entry point and of the bodies in it, so that tables can be
// indexed by them. Ids are dense in one function only: a number is the id plus the ids of the functions numbered
// before.
type Numbering struct {
	entry   *ir.Func
	first   map[*ir.Func]numbers // by body: the numbers of the value and the node with id 0
	Values  int                  // numbers of values are below it
	Nodes   int                  // numbers of nodes are below it
	Working int                  // number of nodes that do work
	used    int                  // number of operands and results of all nodes
}

type numbers struct{ value, node int }

// NewNumbering numbers the entry point f.
func NewNumbering(f *ir.Func) *Numbering {
	x := &Numbering{entry: f, first: make(map[*ir.Func]numbers), Values: f.NumValues(), Nodes: f.NumNodes()}
	x.addBodies(f)
	return x
}

func (x *Numbering) addBodies(f *ir.Func) {
	for _, n := range f.Nodes {
		if DoesWork(n) {
			x.Working++
		}
		x.used += len(n.Args) + len(n.Results)
		if n.Op == ir.OpRepeat {
			x.first[n.Body] = numbers{x.Values, x.Nodes}
			x.Values += n.Body.NumValues()
			x.Nodes += n.Body.NumNodes()
			x.addBodies(n.Body)
		}
	}
}

// Value returns the number of v.
func (x *Numbering) Value(v *ir.Value) int {
	if v.Func == x.entry {
		return v.ID
	}
	return x.first[v.Func].value + v.ID
}

// Node returns the number of n.
func (x *Numbering) Node(n *ir.Node) int {
	if n.Func == x.entry {
		return n.ID
	}
	return x.first[n.Func].node + n.ID
}
