package codegen

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/ggmlc/ggmlc/ir"
)

// observe returns the call that hands a value out: by the number of the node in its function's table, the iteration,
// and where the value is.
func (e *funcEmitter) observe(n *ir.Node) *jen.Statement {
	entry, iteration := e.f, jen.Lit(0)
	if e.f.Owner != nil {
		entry, iteration = e.f.Owner.Func, jen.Id("l")
	}
	return jen.Id("w").Dot("Observe").Call(jen.Id("a"), jen.Lit(e.g.observeNumber(entry, n)), iteration, e.ptr(n.Args[0]))
}

// observeNumber returns the index of a node in the table of its entry point.
func (g *generator) observeNumber(entry *ir.Func, n *ir.Node) int {
	if g.observes == nil {
		g.observes = make(map[*ir.Node]int)
	}
	if _, known := g.observes[n]; !known {
		for i, o := range observes(entry) {
			g.observes[o] = i
		}
	}
	return g.observes[n]
}

// observes returns the nodes of an entry point, bodies included, that hand values out, in order.
func observes(f *ir.Func) (list []*ir.Node) {
	for _, n := range f.Nodes {
		if n.Op == ir.OpObserve {
			list = append(list, n)
		}
		if n.Body != nil {
			list = append(list, observes(n.Body)...)
		}
	}
	return list
}

// observedTable emits the table of the values that a function hands out; nil if there are none.
func (g *generator) observedTable(f *ir.Func) jen.Code {
	var rows []jen.Code
	for _, n := range observes(f) {
		v := n.Args[0]
		dims, bad := g.linearDims(v)
		if bad != nil {
			panic(fmt.Sprintf("codegen: internal error: %v is observed, and has the dimension %v", v, bad))
		}
		var names []jen.Code
		for _, name := range n.Attr.(*ir.ObserveAttr).Names {
			names = append(names, jen.Lit(name))
		}
		rows = append(rows, jen.Values(jen.Dict{
			jen.Id("Names"): jen.Index().String().Values(names...),
			jen.Id("Type"):  jen.Qual(g.dtypePath(), dtypeNames[v.Type.DType]),
			jen.Id("Dims"):  g.dimList(dims),
		}))
	}
	if rows == nil {
		return nil
	}
	return jen.Index().Qual(g.runtimePath(), "Observed").Values(rows...)
}
