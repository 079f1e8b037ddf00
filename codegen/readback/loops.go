package readback

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// shareLoop is a loop over the pieces that a worker takes of n.
type shareLoop struct {
	n       ir.Dim
	granule int64
}

// rangeStmt runs a loop over the iterations of a repeat, one after the other, or over the calls
// of one kernel.
func (x *runner) rangeStmt(s scope, st *ast.RangeStmt) {
	id, ok := st.Key.(*ast.Ident)
	n := x.eval(s, st.X)
	if !ok || st.Value != nil || st.Tok != token.DEFINE || n.kind != number {
		x.unknown(st, "loop")
	}
	in := inner(s)
	if x.oneKernel(s, st.Body) {
		if x.times != nil {
			x.unknown(st, "loop")
		}
		in[id.Name], x.times = num(index), &n.n
		x.block(in, st.Body, plainBlock)
		x.times = nil
		return
	}
	count, known := n.n.IsConst()
	if !known || x.first || x.share != nil {
		x.unknown(st, "loop")
	}
	x.emit(event{kind: iterationsEvent, count: count}, st)
	run := x.c.iterations(count, x.depth)
	x.depth++
	for _, l := range run {
		iteration := inner(in)
		iteration[id.Name] = num(l)
		x.block(iteration, st.Body, iterationBlock)
	}
	x.depth--
}

// oneKernel reports whether a block is the call of one kernel.
func (x *runner) oneKernel(s scope, b *ast.BlockStmt) bool {
	if len(b.List) != 1 {
		return false
	}
	st, ok := b.List[0].(*ast.ExprStmt)
	if !ok {
		return false
	}
	e, ok := st.X.(*ast.CallExpr)
	if !ok {
		return false
	}
	pkg, _ := cut(x.callee(s, e))
	return pkg == "cpu"
}

// iterations returns the iterations of a repeat that are run. They are all iterations where a repeat of
// that count has tables, as entries of tables are at any offset. Otherwise they are the first three and
// one whose number is a symbol, which is each of the others:
//
//	0, 1, 2, "iteration 0 of 40"
//
// An iteration reads what the one before it has written. The places of carried values differ in the
// first iterations only.
func (c *checker) iterations(count int64, depth int) []ir.Dim {
	const some = 3
	var list []ir.Dim
	for l := range count {
		if l == some && !c.full[count] {
			return append(list, symbol(fmt.Sprintf("iteration %d of %d", depth, count), count-1))
		}
		list = append(list, ir.Const(l))
	}
	return list
}

// tabled returns the numbers of iterations of the repeats that have tables.
func (c *checker) tabled() map[int64]bool {
	counts := make(map[int64]bool)
	for _, f := range c.m.AllFuncs() {
		for _, n := range f.Nodes {
			if a, ok := n.Attr.(*ir.RepeatAttr); ok {
				tables, _ := a.Tables(len(n.Args))
				counts[a.Count] = counts[a.Count] || tables > 0
			}
		}
	}
	return counts
}

// shareStmt runs a loop over the pieces of a share: for u := w.Share(n, granule); u.Next(); {…}.
func (x *runner) shareStmt(s scope, st *ast.ForStmt) {
	init, ok := st.Init.(*ast.AssignStmt)
	if !ok || init.Tok != token.DEFINE || len(init.Lhs) != 1 || len(init.Rhs) != 1 || st.Post != nil || x.share != nil || x.first || x.times != nil {
		x.unknown(st, "loop")
	}
	u, isIdent := init.Lhs[0].(*ast.Ident)
	from, isCall := init.Rhs[0].(*ast.CallExpr)
	if !isIdent || !isCall || x.callee(s, from) != objWorker+".Share" || len(from.Args) != 2 {
		x.unknown(st, "loop")
	}
	n, granule := x.eval(s, from.Args[0]), x.eval(s, from.Args[1])
	g, known := granule.n.IsConst()
	if n.kind != number || granule.kind != number || !known {
		x.unknown(st, "loop")
	}
	in := inner(s)
	in[u.Name] = value{kind: object, text: objShare, n: n.n}
	next, ok := st.Cond.(*ast.CallExpr)
	if !ok || x.callee(in, next) != objShare+".Next" || len(next.Args) != 0 {
		x.unknown(st, "loop")
	}
	x.share = &shareLoop{n.n, g}
	before := len(x.events)
	x.block(in, st.Body, plainBlock)
	x.share = nil
	if !slices.ContainsFunc(x.events[before:], func(e event) bool { return e.kind == kernelEvent }) {
		fail("%s: a loop over shares that computes nothing takes them from others", x.p.at(st.Pos()))
	}
}
