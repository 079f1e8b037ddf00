package passes

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/abreast"
)

// gather moves the nodes of f and their results, those of its bodies included, within the memory that
// they have: afterwards they lie there in the order in which they stand. Passes that add and move nodes
// scatter them, and walks over a hundred thousand nodes mostly wait for memory: behind this they take
// a third to a half less time. In new memory it would be as much less, but the first run of a process
// waits for each page of that: for 57 MB of 100,000 nodes longer than it saves.
//
// Nodes and values keep their ids, names and all else, but whoever holds some from before holds others
// now.
func gather(f *ir.Func) {
	g := newGathering(f)
	abreast.Do(
		func() { moveTogether(f.Nodes, f.NumNodes(), func(n *ir.Node) int { return n.ID }) },
		func() { moveTogether(g.results, f.NumValues(), func(v *ir.Value) int { return v.ID }) },
	)
	g.link()
	for _, n := range f.Nodes {
		if n.Body != nil {
			n.Body.Owner = n
			gather(n.Body)
		}
	}
}

// gathering is the work of gather.
type gathering struct {
	f        *ir.Func
	results  []*ir.Value // of the nodes, in order
	operands []int32     // of the nodes, then what f returns: ids
}

// newGathering takes note of what will have to be linked again.
func newGathering(f *ir.Func) *gathering {
	results, operands := 0, len(f.Results)
	for _, n := range f.Nodes {
		results, operands = results+len(n.Results), operands+len(n.Args)
	}
	g := &gathering{f, make([]*ir.Value, 0, results), make([]int32, 0, operands)}
	for _, n := range f.Nodes {
		g.results = append(g.results, n.Results...)
		g.note(n.Args)
	}
	g.note(f.Results)
	return g
}

func (g *gathering) note(operands []*ir.Value) {
	for _, v := range operands {
		id := none
		if v != nil {
			id = int32(v.ID)
		}
		g.operands = append(g.operands, id)
	}
}

// link makes nodes and values point to each other where they lie now.
func (g *gathering) link() {
	values := make([]*ir.Value, g.f.NumValues()) // by id
	for _, v := range g.f.Params {
		values[v.ID] = v
	}
	for _, v := range g.results {
		values[v.ID] = v
	}
	results := g.results
	for _, n := range g.f.Nodes {
		n.Results, results = results[:len(n.Results):len(n.Results)], results[len(n.Results):]
		for _, r := range n.Results {
			r.Def = n
		}
		g.relink(n.Args, values)
	}
	g.relink(g.f.Results, values)
}

// relink puts values in the place of those that were noted next.
func (g *gathering) relink(operands, values []*ir.Value) {
	for i, id := range g.operands[:len(operands)] {
		if id != none {
			operands[i] = values[id]
		}
	}
	g.operands = g.operands[len(operands):]
}

// moveTogether moves what the list points to within the memory of all, in the order of the list, which
// points to it there then. Ids, of which there are so many at most, were given in the order in which
// the memory was.
func moveTogether[T any](list []*T, ids int, id func(*T) int) {
	places := make([]*T, ids)
	for _, x := range list {
		places[id(x)] = x
	}
	number := make([]int32, ids) // of the place, by id
	used := int32(0)
	for i, x := range places {
		if x != nil {
			places[used], number[i] = x, used
			used++
		}
	}
	from := make([]int32, len(list)) // number of the place where what belongs at a place is
	for i, x := range list {
		from[i] = number[id(x)]
	}
	for i := range list {
		rotate(places, from, int32(i))
	}
	copy(list, places)
}

// rotate brings to a place what belongs there, to the place where that was what belongs there, and so
// on, until there is a place for what was at the first.
func rotate[T any](places []*T, from []int32, first int32) {
	if from[first] == first {
		return
	}
	out, at := *places[first], first
	for from[at] != first {
		next := from[at]
		*places[at], from[at] = *places[next], at
		at = next
	}
	*places[at], from[at] = out, at
}
