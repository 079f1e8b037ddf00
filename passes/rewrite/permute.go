package rewrite

import (
	"math/rand/v2"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
)

// Permute puts the nodes of f into a random order that data flow allows: operands are defined before their readers, and
// the readers of a version of a state come before the node that writes the next one. A pass whose result depends on
// anything else has a bug; --debug check=all finds it.
func Permute(f *ir.Func, r *rand.Rand) {
	after, waits := dependences(f)
	var ready, order []*ir.Node
	for _, n := range f.Nodes {
		if waits[n.ID] == 0 {
			ready = append(ready, n)
		}
	}
	for len(ready) > 0 {
		i := r.IntN(len(ready))
		n := ready[i]
		ready[i] = ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		order = append(order, n)
		for _, next := range after[n.ID] {
			if waits[next.ID]--; waits[next.ID] == 0 {
				ready = append(ready, next)
			}
		}
	}
	f.Nodes = order
}

// dependences returns, by node id, the nodes that have to come after each node, and the number of nodes that have to
// come before it.
func dependences(f *ir.Func) (after [][]*ir.Node, waits []int) {
	after, waits = make([][]*ir.Node, f.NumNodes()), make([]int, f.NumNodes())
	edge := func(before, n *ir.Node) {
		after[before.ID] = append(after[before.ID], n)
		waits[n.ID]++
	}
	readers := make([][]*ir.Node, f.NumValues()) // by the id of the value whose bytes they read, up to the next write
	for _, n := range f.Nodes {
		for i, a := range n.Args {
			if a == nil {
				continue
			}
			if a.Def != nil {
				edge(a.Def, n)
			}
			v := flow.ViewedValue(a)
			if n.Is(ir.Alias) && i == n.Op.Info().AliasArg {
				for _, reader := range readers[v.ID] {
					if reader != n {
						edge(reader, n)
					}
				}
			}
			readers[v.ID] = append(readers[v.ID], n)
		}
	}
	return after, waits
}
