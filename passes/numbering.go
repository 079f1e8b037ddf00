package passes

import "github.com/ggmlc/ggmlc/ir"

// numbering gives the values and the nodes of an entry point and of the bodies in it numbers,
// for tables: ids are dense in one function only.
type numbering struct {
	entry   *ir.Func
	first   map[*ir.Func]numbers // by body: those with id 0
	values  int                  // all numbers of values are below
	nodes   int                  // likewise
	all     int                  // how many nodes there are
	working int                  // how many of them do work
	used    int                  // how many operands and results nodes have
}

type numbers struct{ value, node int }

func newNumbering(f *ir.Func) *numbering {
	x := &numbering{entry: f, first: make(map[*ir.Func]numbers), values: f.NumValues(), nodes: f.NumNodes()}
	x.addBodies(f)
	return x
}

func (x *numbering) addBodies(f *ir.Func) {
	for _, n := range f.Nodes {
		if works(n) {
			x.working++
		}
		x.all++
		x.used += len(n.Args) + len(n.Results)
		if n.Op == ir.OpRepeat {
			x.first[n.Body] = numbers{x.values, x.nodes}
			x.values += n.Body.NumValues()
			x.nodes += n.Body.NumNodes()
			x.addBodies(n.Body)
		}
	}
}

// value returns the number of v.
func (x *numbering) value(v *ir.Value) int {
	if v.Func == x.entry {
		return v.ID
	}
	return x.first[v.Func].value + v.ID
}

// node returns the number of n.
func (x *numbering) node(n *ir.Node) int {
	if n.Func == x.entry {
		return n.ID
	}
	return x.first[n.Func].node + n.ID
}
