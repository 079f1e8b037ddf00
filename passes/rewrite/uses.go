package rewrite

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
)

// useCounts counts the reads of each value of a function. Only nodes that are needed count as readers: those with an
// effect, and those with a result that is read by a needed node or is a result of the function. A rewrite that removes
// the last read of a node also removes the reads of this node, and so on.
//
//	%a = neg %x     %a is read once, as %c is not needed
//	%b = exp %a     %b is read once, as a result
//	%c = exp %a     %c is not read
//	return %b
type useCounts struct {
	values []int32 // reads of the value, by id
	nodes  []int32 // reads of all results of the node, by id, and one for an effect
}

// countUses counts the reads in f. It walks backwards, so that it sees all readers of a node before the node.
func countUses(f *ir.Func) *useCounts {
	u := &useCounts{values: make([]int32, f.NumValues()), nodes: make([]int32, f.NumNodes())}
	for _, r := range f.Results {
		u.note(r)
	}
	for _, n := range slices.Backward(f.Nodes) {
		if flow.HasEffect(n) {
			u.nodes[n.ID]++
		}
		if u.nodes[n.ID] == 0 {
			continue
		}
		for _, a := range n.Args {
			if a != nil {
				u.note(a)
			}
		}
	}
	return u
}

// note counts a read of v. It leaves the operands of its node to countUses.
func (u *useCounts) note(v *ir.Value) {
	u.values[v.ID]++
	if v.Def != nil {
		u.nodes[v.Def.ID]++
	}
}

// of returns the number of reads of v.
func (u *useCounts) of(v *ir.Value) int32 { return *at(&u.values, v.ID) }

// live reports whether n is needed.
func (u *useCounts) live(n *ir.Node) bool { return *at(&u.nodes, n.ID) > 0 }

// change adds by to the reads of v.
func (u *useCounts) change(v *ir.Value, by int32) {
	*at(&u.values, v.ID) += by
	if v.Def != nil {
		u.changeNode(v.Def, by)
	}
}

// changeNode adds by to the reads of n. If n becomes needed, or no longer is, the reads of its operands change too.
func (u *useCounts) changeNode(n *ir.Node, by int32) {
	count := at(&u.nodes, n.ID)
	before := *count
	*count += by
	switch {
	case before == 0 && *count != 0:
		u.reads(n.Args, 1)
	case before != 0 && *count == 0:
		u.reads(n.Args, -1)
	}
}

// reads adds by to the reads of each operand.
func (u *useCounts) reads(args []*ir.Value, by int32) {
	for _, a := range args {
		if a != nil {
			u.change(a, by)
		}
	}
}

// at returns the element of that id, for which the table grows if necessary.
func at(table *[]int32, id int) *int32 {
	if id >= len(*table) {
		*table = WithIDs(*table, id+1)
	}
	return &(*table)[id]
}
