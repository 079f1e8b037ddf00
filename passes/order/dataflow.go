package order

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/target"
)

// dataflow is the constraints on an order of the nodes with work, and what its peak of live bytes depends on. Nodes are
// numbered as in work.
type dataflow struct {
	f     *ir.Func
	work  []*ir.Node // all nodes but leaves and views
	index []int32    // by node id: the number; none for leaves and views
	split []int32    // by node
	preds [][]int32  // by node: nodes that run before it, maybe with duplicates

	makes [][]int32 // by node: ids of the values with bytes of their own that it defines
	reads [][]int32 // by node: ids of the values whose bytes it reads
	takes [][]int32 // by node: those of reads whose bytes its result may take
	uses  []int32   // by value id: number of readers; being a result of the function counts as one
	bytes []int64   // by value id: the bytes that a value takes which a node makes
	space []int32   // by value id: the number of the space of these bytes

	targets *target.List
	spaces  []target.Space
}

func newDataflow(targets *target.List, f *ir.Func) *dataflow {
	g := &dataflow{f: f, targets: targets, index: make([]int32, f.NumNodes())}
	for _, n := range f.Nodes {
		g.index[n.ID] = flow.None
		if flow.DoesWork(n) {
			g.index[n.ID] = int32(len(g.work))
			g.work, g.split = append(g.work, n), append(g.split, int32(n.Split))
		}
	}
	g.findPredecessors()
	g.findBytes()
	return g
}

// findPredecessors finds for each node the nodes that have to run before it.
func (g *dataflow) findPredecessors() {
	g.preds = make([][]int32, len(g.work))
	for i, n := range g.work {
		for _, a := range n.Args {
			if a == nil {
				continue
			}
			if v := flow.ViewedValue(a); v.Def != nil && g.index[v.Def.ID] != flow.None {
				g.preds[i] = append(g.preds[i], g.index[v.Def.ID])
			}
		}
	}
	g.keepVersions()
	g.keepForeign()
	g.keepCarried()
}

// findBytes finds which bytes nodes make, read and may take.
func (g *dataflow) findBytes() {
	values := g.f.NumValues()
	g.uses, g.bytes, g.space = make([]int32, values), make([]int64, values), make([]int32, values)
	g.makes, g.reads, g.takes = make([][]int32, len(g.work)), make([][]int32, len(g.work)), make([][]int32, len(g.work))
	for i, n := range g.work {
		for _, a := range n.Args {
			if a == nil {
				continue
			}
			if r := a.Root(); r.Def != nil && !r.Def.Is(ir.Leaf) && !slices.Contains(g.reads[i], int32(r.ID)) {
				g.reads[i] = append(g.reads[i], int32(r.ID))
				g.uses[r.ID]++
			}
		}
		for _, r := range n.Results {
			if r.Source() == nil {
				g.size(r)
				g.makes[i] = append(g.makes[i], int32(r.ID))
			}
		}
		for _, arg := range n.InPlace() {
			if a := n.Arg(arg); a != nil && slices.Contains(g.reads[i], int32(a.Root().ID)) && mayTake(n, a) {
				g.takes[i] = append(g.takes[i], int32(a.Root().ID))
			}
		}
	}
	for _, r := range g.f.Results {
		g.uses[r.Root().ID]++
	}
}

// mayTake reports whether the result of n can have an operand's bytes if n is the last to read them.
func mayTake(n *ir.Node, operand *ir.Value) bool {
	r, result := operand.Root(), n.Result()
	return result.Source() == nil && flow.SameShape(operand, result) && flow.SpaceOf(&r.Type) == flow.SpaceOf(&result.Type) && max(r.Slots(), result.Slots()) <= 1
}

// size sets the bytes that v takes in its space. A value with several instances counts as 0 bytes: it takes its bytes
// at all times, in every order.
func (g *dataflow) size(v *ir.Value) {
	name := flow.SpaceOf(&v.Type)
	at := slices.IndexFunc(g.spaces, func(s target.Space) bool { return s.Name == name })
	if at < 0 {
		at = len(g.spaces)
		g.spaces = append(g.spaces, g.targets.Space(name))
	}
	g.space[v.ID] = int32(at)
	if v.Slots() <= 1 {
		g.bytes[v.ID] = g.spaces[at].Room(v.MaxBytes())
	}
}

// keepVersions makes the readers of a version run before the node that writes the next one:
//
//	%k1 = state_write %k, %x
//	%a = attention %q, %k1      before %k2, which overwrites %k1
//	%k2 = state_write %k1, %y
func (g *dataflow) keepVersions() {
	readers := make(map[any][]int) // by overwritten version
	for _, n := range g.work {
		for _, key := range flow.Overwrites(n) {
			readers[key] = nil
		}
	}
	if len(readers) == 0 {
		return
	}
	for i, n := range g.work {
		for _, key := range flow.Overwrites(n) {
			g.after(i, readers[key])
		}
		for _, a := range n.Args {
			if a == nil {
				continue
			}
			key := flow.VersionKey(flow.ViewedValue(a))
			if list, overwritten := readers[key]; overwritten {
				readers[key] = append(list, i)
			}
		}
	}
}

// keepForeign keeps the order of foreign nodes that change bytes in place, and of all nodes that read these bytes. Only
// the order determines what a reader finds.
func (g *dataflow) keepForeign() {
	if !slices.ContainsFunc(g.work, writesInPlace) {
		return
	}
	readers, writer := make(map[any][]int), make(map[any]int)
	for i, n := range g.work {
		for _, a := range n.Args {
			if a == nil {
				continue
			}
			key := flow.VersionKey(a.Root())
			if w, changed := writer[key]; changed {
				g.after(i, []int{w})
			}
			readers[key] = append(readers[key], i)
		}
		if writesInPlace(n) {
			key := flow.VersionKey(n.Result().Root())
			g.after(i, readers[key])
			readers[key], writer[key] = nil, i
		}
	}
}

// writesInPlace reports whether a foreign node changes an operand's bytes.
func writesInPlace(n *ir.Node) bool {
	a, ok := n.Attr.(*ir.ForeignAttr)
	return ok && a.InPlace
}

// after makes node i run after those of the others that are before it.
func (g *dataflow) after(i int, others []int) {
	for _, j := range others {
		if j < i {
			g.preds[i] = append(g.preds[i], int32(j))
		}
	}
}

// keepCarried makes the readers of a carried parameter run before the node that makes its next value, which takes its
// bytes.
func (g *dataflow) keepCarried() {
	for _, p := range g.f.Params {
		if kind, _ := flow.ParamKind(p); kind != flow.ParamCarried {
			continue
		}
		next := g.f.Results[p.Index].Root()
		if next.Def == nil || g.index[next.Def.ID] == flow.None {
			continue
		}
		var readers []int
		for i, n := range g.work {
			if slices.ContainsFunc(n.Args, func(a *ir.Value) bool { return a != nil && a.Root() == p }) {
				readers = append(readers, i)
			}
		}
		g.after(int(g.index[next.Def.ID]), readers)
	}
}
