package simplify

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/rewrite"
)

// Narrow computes only the rows that are read.
//
// Before: types are known. After: where all readers of a result need the same rows of it, and its op makes each row of
// the matching rows of operands, the result has these rows only. A row is what one index of the outermost dimension has.
//
// Not earlier: to dce, a reader is one that is needed, and cse leaves one value where there were two with a reader each.
// Not later: canonicalize joins slices, and fuse joins what is left.
//
// Cost: a walk backwards and one forwards, O(nodes + operands).
//
// Backwards, each reader states which rows it needs: a slice those that it takes, a node that is made narrow the matching
// ones, any other all. This is the analysis of demanded elements of LLVM's InstCombine, with rows in place of lanes.
// Forwards, nodes become narrow, and what they read of a wider value is sliced:
//
//	%q = matmul %h, %wq : [tokens,64]         %h.rows = slice %h {axis=0, start=tokens-1, len=1}
//	                                          %q = matmul %h.rows, %wq : [1,64]
//	%k = matmul %h, %wk : [tokens,64]         as before: a state needs all rows
//	%y = add %q, %h                           %y = add %q, %h.rows : [1,64]
//	%z = slice %y {axis=0, start=tokens-1, len=1}    replaced by %y
//
// So a prompt runs most of its last layer for the last token only, after which its logits are.
var Narrow = pass.Pass{
	Name:   "narrow",
	Doc:    "compute only the rows that are read",
	Run:    narrowRows,
	Needs:  ir.PropShaped,
	Breaks: pass.FromPacked,
	Rules:  []pass.Rule{{Name: pass.RuleNarrowRows, Doc: "no other rows of the result are read"}},
}

func narrowRows(c *pass.Context, m *ir.Module) error {
	for _, f := range m.AllFuncs() {
		w := &narrower{c: c, demands: make([]demand, f.NumValues()), reads: make(map[*ir.Node][]*demand)}
		w.choose(f)
		if len(w.reads) > 0 {
			w.apply(f)
		}
	}
	c.Unchanged = c.NoneCounted()
	return nil
}

// rowRange is the rows from start on of a value, so many of them.
type rowRange struct{ start, len ir.Dim }

func (r rowRange) equal(o rowRange) bool { return r.start.Equal(o.start) && r.len.Equal(o.len) }

func (r rowRange) attr() *ir.SliceAttr { return &ir.SliceAttr{Start: r.start, Len: r.len} }

// rowsTaken returns the rows that n takes, if it is a slice that leaves some out.
func rowsTaken(n *ir.Node) (rowRange, bool) {
	a, ok := n.Attr.(*ir.SliceAttr)
	if !ok || a.Axis != 0 || a.Len.Equal(n.Args[0].Type.Shape[0]) {
		return rowRange{}, false
	}
	return rowRange{a.Start, a.Len}, true
}

// demand is which rows of a value its readers need.
type demand struct {
	kind demandKind
	rows rowRange // for someRows
}

type demandKind uint8

const (
	noRows   demandKind = iota // no reader has been met
	someRows                   // all readers need the same rows
	allRows
)

// narrower makes nodes of one function narrow.
type narrower struct {
	c       *pass.Context
	demands []demand               // by value id
	reads   map[*ir.Node][]*demand // of each node that becomes narrow, the rows that it needs of its operands
	sliced  map[rowsOf]*ir.Value   // the slices that were added
}

// rowsOf names rows of a value.
type rowsOf struct {
	v    *ir.Value
	rows string
}

// choose finds the nodes to make narrow.
func (w *narrower) choose(f *ir.Func) {
	for _, r := range f.Results {
		w.demands[r.ID].kind = allRows
	}
	for _, n := range slices.Backward(f.Nodes) {
		if rows, ok := rowsTaken(n); ok {
			w.need(n.Args[0], demand{someRows, rows})
			continue
		}
		reads := w.chosen(n)
		for i, a := range n.Args {
			switch {
			case a == nil:
			case reads != nil:
				w.need(a, *reads[i])
			default:
				w.need(a, demand{kind: allRows})
			}
		}
	}
}

// need notes that a reader of v needs these rows.
func (w *narrower) need(v *ir.Value, d demand) {
	switch old := &w.demands[v.ID]; {
	case old.kind == noRows:
		*old = d
	case d.kind == allRows || old.kind == someRows && !old.rows.equal(d.rows):
		old.kind = allRows
	}
}

// chosen returns what n needs of its operands if it becomes narrow; else nil.
func (w *narrower) chosen(n *ir.Node) []*demand {
	if len(n.Results) != 1 || w.demands[n.Result().ID].kind != someRows {
		return nil
	}
	rows := w.demands[n.Result().ID].rows
	reads := operandRows(n, rows)
	if reads == nil || !fits(n, rows, reads) || !w.c.Allow(pass.RuleNarrowRows, n) {
		return nil
	}
	w.reads[n] = reads
	return reads
}

// operandRows returns what is needed of each operand of n to make these rows of its result. It returns nil where that
// is all of every operand, or not known.
func operandRows(n *ir.Node, rows rowRange) []*demand {
	if flow.HasEffect(n) || n.Body != nil || n.Is(ir.Alias) || n.Result().Type.Rank() == 0 {
		return nil
	}
	reads, ok := make([]*demand, len(n.Args)), false
	for i := range reads {
		reads[i] = &demand{kind: allRows}
	}
	if n.Is(ir.View) {
		ok = viewedRows(n, rows, reads[0])
	} else {
		ok = matchingRows(n, rows, reads)
	}
	if !ok || !slices.ContainsFunc(reads, func(d *demand) bool { return d.kind == someRows }) {
		return nil
	}
	return reads
}

// viewedRows sets the rows of the operand that rows of a view show, and reports whether there are such.
func viewedRows(n *ir.Node, rows rowRange, read *demand) bool {
	x := n.Args[0].Type
	if x.Rank() == 0 {
		return false
	}
	ok := false
	switch a := n.Attr.(type) {
	case *ir.ReshapeAttr:
		rows, ok = reshapedRows(rows, elemsOfRow(n.Result().Type), elemsOfRow(x))
	case *ir.PermuteAttr:
		ok = a.Perm[0] == 0
	case *ir.SliceAttr:
		ok = a.Axis != 0
	}
	*read = demand{someRows, rows}
	return ok
}

// elemsOfRow returns the elements of a row.
func elemsOfRow(t ir.Type) ir.Dim {
	n := ir.Const(1)
	for _, d := range t.Shape[1:] {
		n = n.Mul(d)
	}
	return n
}

// reshapedRows returns the rows of to elements that have the elements of these rows of from elements, if they are whole.
func reshapedRows(rows rowRange, from, to ir.Dim) (rowRange, bool) {
	if from.Equal(to) {
		return rows, true
	}
	f, ok1 := from.IsConst()
	t, ok2 := to.IsConst()
	switch {
	case !ok1 || !ok2 || f == 0 || t == 0:
	case f%t == 0:
		by := ir.Const(f / t)
		return rowRange{rows.start.Mul(by), rows.len.Mul(by)}, true
	case t%f == 0 && rows.start.DivisibleBy(t/f) && rows.len.DivisibleBy(t/f):
		by := ir.Const(t / f)
		return rowRange{rows.start.FloorDiv(by), rows.len.FloorDiv(by)}, true
	}
	return rowRange{}, false
}

// matchingRows sets which operands are read row by row, and reports whether the others are read whole.
func matchingRows(n *ir.Node, rows rowRange, reads []*demand) bool {
	info := n.Op.Info()
	if info.Axes == nil || len(ir.AttrDims(n.Attr)) > 0 { // a size of its own may be that of the rows
		return false
	}
	axes := info.Axes(n)
	i := slices.IndexFunc(axes, func(a ir.Axis) bool { return a.Axis == 0 && a.Granule == 1 })
	if i < 0 {
		return false
	}
	for j, read := range axes[i].Reads {
		switch read.Kind {
		case ir.ReadAll, ir.ReadNone:
		case ir.ReadRange:
			if read.Axis != 0 || read.Num != read.Den || !n.Args[j].Type.Shape[0].Equal(n.Result().Type.Shape[0]) {
				return false
			}
			*reads[j] = demand{someRows, rows}
		default:
			return false
		}
	}
	return true
}

// fits reports whether n has a result of these rows if its operands have only those that it needs.
func fits(n *ir.Node, rows rowRange, reads []*demand) bool {
	trial := &ir.Node{Op: n.Op, Attr: narrowAttr(n, rows), Args: slices.Clone(n.Args)}
	for i, a := range n.Args {
		if reads[i].kind == someRows {
			t, ok := sliceType(a, reads[i].rows)
			if !ok {
				return false
			}
			trial.Args[i] = &ir.Value{Type: t}
		}
	}
	types, err := ir.Infer(trial)
	want, ok := sliceType(n.Result(), rows)
	return err == nil && ok && types[0].SameData(want)
}

// sliceType returns the type of these rows of v.
func sliceType(v *ir.Value, rows rowRange) (ir.Type, bool) {
	types, err := ir.Infer(&ir.Node{Op: ir.OpSlice, Attr: rows.attr(), Args: []*ir.Value{v}})
	if err != nil {
		return ir.Type{}, false
	}
	return types[0], true
}

// narrowAttr returns the attributes of n with a result of these rows.
func narrowAttr(n *ir.Node, rows rowRange) any {
	if a, ok := n.Attr.(*ir.ReshapeAttr); ok {
		return &ir.ReshapeAttr{Shape: append([]ir.Dim{rows.len}, a.Shape[1:]...)}
	}
	return n.Attr
}

// apply makes the chosen nodes narrow.
func (w *narrower) apply(f *ir.Func) {
	w.sliced = make(map[rowsOf]*ir.Value)
	e := rewrite.NewEdit(w.c, f)
	for _, n := range f.Nodes {
		switch {
		case w.reads[n] != nil:
			w.narrow(e, n)
		case n.Op == ir.OpSlice && w.isNarrow(n.Args[0]): // of the rows that are left
			e.Replace(n.Result(), e.Now(n.Args[0]))
			continue
		default:
			e.Update(n)
		}
		e.Append(n)
	}
	e.Done()
}

// isNarrow reports whether v is the result of a node that became narrow.
func (w *narrower) isNarrow(v *ir.Value) bool { return v.Def != nil && w.reads[v.Def] != nil }

// narrow makes n narrow.
func (w *narrower) narrow(e *rewrite.Edit, n *ir.Node) {
	rows := w.demands[n.Result().ID].rows
	for i, a := range n.Args {
		if a == nil {
			continue
		}
		n.Args[i] = e.Now(a)
		if read := w.reads[n][i]; read.kind == someRows && !w.isNarrow(a) {
			n.Args[i] = w.slice(e, n.Args[i], read.rows)
		}
	}
	before := n.Result().Type
	n.Attr = narrowAttr(n, rows)
	after := rewrite.Inferred(n)[0]
	after.Space = before.Space
	n.Result().Type = after
	w.c.CauseChange(n, pass.RuleNarrowRows, fmt.Sprintf("rows [0,%v)", before.Shape[0]), fmt.Sprintf("[%v,%v)", rows.start, rows.start.Add(rows.len)))
	w.c.Count(string(pass.RuleNarrowRows), 1)
}

// slice returns these rows of v. They are of the place in the model that v is of, so that what is pinned there includes them.
func (w *narrower) slice(e *rewrite.Edit, v *ir.Value, rows rowRange) *ir.Value {
	key := rowsOf{v, fmt.Sprint(rows.start, " ", rows.len)}
	if w.sliced[key] == nil {
		w.sliced[key] = e.Add(v.Def, ir.OpSlice, rows.attr(), v.Name()+".rows", v).Result()
	}
	return w.sliced[key]
}
