package flow

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// NoneOf returns a table of n entries that are not there.
func NoneOf(n int) []int32 { return slices.Repeat([]int32{-1}, n) }

// Numbering gives the values and the nodes of an entry point and of the bodies in it numbers,
// for tables: ids are dense in one function only.
type Numbering struct {
	entry   *ir.Func
	first   map[*ir.Func]numbers // by body: those with id 0
	Values  int                  // all numbers of values are below
	Nodes   int                  // likewise
	all     int                  // how many nodes there are
	Working int                  // how many of them do work
	used    int                  // how many operands and results nodes have
}

type numbers struct{ value, node int }

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
		x.all++
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

// None is the place of no node, and the id of an operand that a node does without.
const None = int32(-1)
