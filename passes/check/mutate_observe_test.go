package check_test

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// handOver drops a hand-over, makes it twice, and changes its names or what it hands out.
func (g *mutator) handOver(fi, ni int, n *ir.Node) {
	if n.Op != ir.OpObserve {
		return
	}
	at := func(m *ir.Module) (*ir.Func, *ir.Node) { f := m.AllFuncs()[fi]; return f, f.Nodes[ni] }
	what := fmt.Sprintf("@%s %v", n.Func.Name, n)
	g.add("hand-over dropped", what, true, func(m *ir.Module) {
		f, _ := at(m)
		f.Nodes = slices.Delete(f.Nodes, ni, ni+1)
	})
	g.add("hand-over twice", what, true, func(m *ir.Module) {
		f, n := at(m)
		again := f.NewNode(n.Op, ir.CloneAttr(n.Op, n.Attr), n.Args, "")
		again.Backend, again.Split, again.Epoch, again.Part, again.Submit = n.Backend, n.Split, n.Epoch, n.Part, n.Submit
		f.Nodes = slices.Insert(f.Nodes, ni, again)
	})
	g.add("hand-over by every worker", what, true, func(m *ir.Module) {
		_, n := at(m)
		n.Part.Mode = ir.PartReplicated
	})
	g.add("hand-over of a name less", what, true, func(m *ir.Module) {
		_, n := at(m)
		a := n.Attr.(*ir.ObserveAttr)
		a.Names = a.Names[1:]
	})
	g.add("hand-over under another name", what, true, func(m *ir.Module) {
		f, n := at(m)
		for f.Owner != nil {
			f = f.Owner.Func
		}
		n.Attr.(*ir.ObserveAttr).Names[0] = "other"
		f.Observed[slices.Index(f.Observed, g.m.AllFuncs()[fi].Nodes[ni].Attr.(*ir.ObserveAttr).Names[0])] = "other"
	})
	for i, o := range n.Func.Nodes[:ni] {
		if o.Op == ir.OpObserve && o.Args[0] != n.Args[0] {
			g.add("hand-over of another value", what+" for "+o.String(), true, func(m *ir.Module) {
				f, n := at(m)
				n.Args = f.Nodes[i].Args
			})
			return
		}
	}
}
