package rewrite

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Edit rebuilds the order of a function's nodes in one walk: a pass hands over the nodes
// one by one, with new ones between them and without those that it drops, and names values
// that take the place of others. Operands are brought up to date on the way, so a pass
// sees what earlier replacements have made. Time is linear in nodes and operands.
type Edit struct {
	F       *ir.Func
	targets *target.List
	Out     []*ir.Node
	instead []*ir.Value // of values, by id; nil for those that stay. Empty as long as all do
	pos     []int32     // of nodes in out, by id
}

func NewEdit(c *pass.Context, f *ir.Func) *Edit {
	e := &Edit{F: f, targets: c.Targets}
	e.Out = make([]*ir.Node, 0, len(f.Nodes)+8)
	e.pos = WithIDs(e.pos, f.NumNodes())
	return e
}

// WithIDs returns table with zero elements for ids below n, besides those that it has.
func WithIDs[T any](table []T, n int) []T {
	had := len(table)
	if n <= had {
		return table
	}
	if n > cap(table) {
		table = slices.Grow(table, n+n/8-had) // functions grow a little with most passes
	}
	table = table[:n]
	clear(table[had:])
	return table
}

// Replace makes later nodes read v where they read old.
func (e *Edit) Replace(old, v *ir.Value) {
	e.instead = WithIDs(e.instead, e.F.NumValues())
	e.instead[old.ID] = v
}

// Now returns the value that stands for v.
func (e *Edit) Now(v *ir.Value) *ir.Value {
	for v.ID < len(e.instead) && e.instead[v.ID] != nil {
		v = e.instead[v.ID]
	}
	return v
}

// Update brings the operands of n up to date.
func (e *Edit) Update(n *ir.Node) {
	if len(e.instead) == 0 {
		return
	}
	for i, a := range n.Args {
		if a != nil {
			n.Args[i] = e.Now(a)
		}
	}
}

// Keep puts n at the end of the new order.
func (e *Edit) Keep(n *ir.Node) {
	e.Update(n)
	e.Append(n)
}

func (e *Edit) Append(n *ir.Node) {
	e.pos = WithIDs(e.pos, e.F.NumNodes())
	e.pos[n.ID] = int32(len(e.Out))
	e.Out = append(e.Out, n)
}

// Add puts a new node at the end of the new order. It runs where at runs and comes from
// where at comes from; at may be nil. Types are what the op infers.
func (e *Edit) Add(at *ir.Node, op ir.Op, attr any, name string, args ...*ir.Value) *ir.Node {
	n := e.F.NewNode(op, attr, args, name)
	if at != nil {
		n.Backend, n.Split, n.Pos = at.Backend, at.Split, at.Pos
	}
	if op.Info().Traits&(ir.View|ir.Leaf) != 0 {
		n.Backend = ""
	}
	for i, t := range Inferred(n) {
		t.Space = ResultSpace(e.targets, n)
		r := e.F.NewValue(name, t)
		r.Def, r.Index = n, i
		n.Results = append(n.Results, r)
	}
	e.Append(n)
	return n
}

// Inferred returns the types of the results of a node that a pass made; that they cannot
// be inferred is a bug of the pass.
func Inferred(n *ir.Node) []ir.Type {
	types, err := ir.Infer(n)
	if err != nil {
		panic(fmt.Errorf("passes: internal error: a new node %v %v: %w", n.Op, n.Args, err))
	}
	return types
}

// ResultSpace returns the memory space where the results of n lie: that of the bytes a
// view or alias names, else the one that its backend prefers; empty before assign.
func ResultSpace(targets *target.List, n *ir.Node) string {
	info := n.Op.Info()
	switch {
	case info.Traits&ir.View != 0:
		return n.Args[0].Type.Space
	case info.Traits&ir.Alias != 0:
		return n.Args[info.AliasArg].Type.Space
	case n.Backend != "" && targets.Get(n.Backend) != nil:
		return targets.Get(n.Backend).Home()
	}
	return ""
}

// Done makes the new order the function's. Nobody may look at the old one any more.
func (e *Edit) Done() {
	for i, r := range e.F.Results {
		e.F.Results[i] = e.Now(r)
	}
	e.F.Nodes = e.Out
}

// Position returns where in the new order v is defined; parameters come before all nodes.
func (e *Edit) Position(v *ir.Value) int {
	if v.Def == nil {
		return v.Index - len(e.F.Params)
	}
	return int(e.pos[v.Def.ID])
}

// Drop takes back n, which was added last.
func (e *Edit) Drop(n *ir.Node) {
	last := len(e.Out) - 1
	if e.Out[last] != n {
		panic("passes: internal error: only the last node can be dropped")
	}
	e.Out = e.Out[:last]
}
