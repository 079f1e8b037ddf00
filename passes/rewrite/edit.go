package rewrite

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Edit rebuilds a function's list of nodes in one walk, in time linear in nodes and operands. A pass calls Update for
// each node and then Keep, or not, to drop it. Add emits new nodes in between, and Replace names a value that takes the
// place of another one in all later operands. Update applies the replacements, so a pass sees operands as they will be.
//
// Example: a pass that replaces neg(neg(x)) by x.
//
//	e := NewEdit(c, f)
//	for _, n := range f.Nodes {
//		e.Update(n)
//		if n.Op == ir.OpNeg && n.Args[0].Def != nil && n.Args[0].Def.Op == ir.OpNeg {
//			e.Replace(n.Result(), n.Args[0].Def.Args[0])
//			continue
//		}
//		e.Keep(n)
//	}
//	e.Done()
//
//	before         walk                              after
//	%a = neg %x    kept                              %a = neg %x   (dead)
//	%b = neg %a    dropped, %b replaced by %x
//	%c = exp %b    updated to exp %x, kept           %c = exp %x
//
// Until Done the function has its old list, with operands that are partly updated.
type Edit struct {
	F       *ir.Func
	Out     []*ir.Node // the new list
	targets *target.List
	instead []*ir.Value // by value id: what replaces it; nil or beyond the end if it stays
	pos     []int32     // by node id: the position in Out
}

// NewEdit begins an edit of f.
func NewEdit(c *pass.Context, f *ir.Func) *Edit {
	e := &Edit{F: f, targets: c.Targets}
	e.Out = make([]*ir.Node, 0, len(f.Nodes)+8)
	e.pos = WithIDs(e.pos, f.NumNodes())
	return e
}

// WithIDs returns the table with zero elements appended up to length n.
func WithIDs[T any](table []T, n int) []T {
	had := len(table)
	if n <= had {
		return table
	}
	if n > cap(table) {
		table = slices.Grow(table, n+n/8-had) // room for more, as most passes add a few nodes
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

// Now returns the value that replaces v; v itself if none does.
func (e *Edit) Now(v *ir.Value) *ir.Value {
	for v.ID < len(e.instead) && e.instead[v.ID] != nil {
		v = e.instead[v.ID]
	}
	return v
}

// Update applies the replacements to the operands of n.
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

// Keep updates n and appends it to the new list.
func (e *Edit) Keep(n *ir.Node) {
	e.Update(n)
	e.Append(n)
}

// Append appends n, whose operands are up to date, to the new list.
func (e *Edit) Append(n *ir.Node) {
	e.pos = WithIDs(e.pos, e.F.NumNodes())
	e.pos[n.ID] = int32(len(e.Out))
	e.Out = append(e.Out, n)
}

// Add appends a new node to the new list. It has the backend, split and source position of at, unless at is nil. The op
// infers the types of its results.
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

// Inferred returns the types of the results of a node that a pass has made. It panics if the op refuses the operands,
// which is a bug of the pass.
func Inferred(n *ir.Node) []ir.Type {
	types, err := ir.Infer(n)
	if err != nil {
		panic(fmt.Errorf("passes: internal error: a new node %v %v: %w", n.Op, n.Args, err))
	}
	return types
}

// ResultSpace returns the memory space of the results of n: that of the operand that a view or alias names, else the
// one where its backend puts results. It is empty for a node without a backend.
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

// Done makes the new list the function's, and updates the function's results.
func (e *Edit) Done() {
	for i, r := range e.F.Results {
		e.F.Results[i] = e.Now(r)
	}
	e.F.Nodes = e.Out
}

// Position returns the position of v's definition in the new list. Parameters have negative ones.
func (e *Edit) Position(v *ir.Value) int {
	if v.Def == nil {
		return v.Index - len(e.F.Params)
	}
	return int(e.pos[v.Def.ID])
}

// Drop removes n, the last node of the new list.
func (e *Edit) Drop(n *ir.Node) {
	last := len(e.Out) - 1
	if e.Out[last] != n {
		panic("passes: internal error: only the last node can be dropped")
	}
	e.Out = e.Out[:last]
}
