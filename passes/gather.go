package passes

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/abreast"
)

// gather lays the nodes of f and their results, those of its bodies included, into memory in the order
// in which they stand. Passes that add and move nodes scatter them, and walks over a hundred thousand
// nodes mostly wait for memory: behind this they take a third to a half less time.
//
// Nodes and values are others afterwards, of the same ids, names and all else. Whoever holds some from
// before holds what no longer belongs to f.
func gather(f *ir.Func) {
	g := &gathering{f: f, values: make([]*ir.Value, f.NumValues())}
	for _, p := range f.Params {
		g.values[p.ID] = p
	}
	g.each(g.move)
	g.each(g.link)
	for i, r := range f.Results {
		f.Results[i] = g.values[r.ID]
	}
}

// gathering is the work of gather.
type gathering struct {
	f      *ir.Func
	values []*ir.Value // by id: where they lie now
}

// gatherShare is how many nodes lie in one piece of memory, which is kept as long as any of them is.
const gatherShare = 512

// each does something with all nodes, a share at a time.
func (g *gathering) each(do func(nodes []*ir.Node)) {
	shares := (len(g.f.Nodes) + gatherShare - 1) / gatherShare
	abreast.Each(shares, func() struct{} { return struct{}{} }, func(_ struct{}, i int) {
		do(g.f.Nodes[i*gatherShare : min((i+1)*gatherShare, len(g.f.Nodes))])
	})
}

// move lays nodes and their results into new memory.
func (g *gathering) move(nodes []*ir.Node) {
	results := 0
	for _, n := range nodes {
		results += len(n.Results)
	}
	room, lists, values := make([]ir.Node, len(nodes)), make([]*ir.Value, results), make([]ir.Value, results)
	for i, old := range nodes {
		n := &room[i]
		*n, nodes[i] = *old, n
		n.Results, lists = lists[:len(old.Results):len(old.Results)], lists[len(old.Results):]
		for j, r := range old.Results {
			v := &values[j]
			*v = *r
			v.Def = n
			n.Results[j], g.values[v.ID] = v, v
		}
		values = values[len(old.Results):]
		if n.Body != nil {
			n.Body.Owner = n
			gather(n.Body)
		}
	}
}

// link makes nodes read values where they lie now.
func (g *gathering) link(nodes []*ir.Node) {
	args := 0
	for _, n := range nodes {
		args += len(n.Args)
	}
	lists := make([]*ir.Value, args)
	for _, n := range nodes {
		from := n.Args
		n.Args, lists = lists[:len(from):len(from)], lists[len(from):]
		for i, a := range from {
			if a != nil {
				n.Args[i] = g.values[a.ID]
			}
		}
	}
}
