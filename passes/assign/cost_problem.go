package assign

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/placement"
	"github.com/ggmlc/ggmlc/passes/target"
)

// problem is a module as a problem for package placement, with what its numbers represent.
//
// For example, the variables of this function are three nodes and a leaf:
//
//	func @f(%x) -> (%b) {
//	  %w = weight "w"       leaf 0, variable 3
//	  %v = reshape %x       none: views do no work
//	  %a = matmul %v, %w    node 0; reads the values x and w
//	  %b = neg %a           node 1; reads the value a
//	  return %b             node 2, the caller; reads the value b
//	}
type problem struct {
	placement.Problem
	machine
	c      *pass.Context
	nodes  []variable  // what Nodes represent
	leaves []namedLeaf // what Leaves represent
	stated []string    // by leaf: the space that the module states; empty where it is open
}

// machine is the targets and memory spaces of a problem.
type machine struct {
	backends []*target.Descriptor // what Targets represent
	spaces   []target.Space
	index    map[string]int // numbers of spaces, by name
}

// variable is what a node of a problem represents.
type variable struct {
	node  *ir.Node  // nil for the caller, who reads the results of a function
	kind  *nodeKind // nil for the caller
	given bool      // there is nothing to decide: the node has a backend already, or it is the caller
}

// builder turns the functions of a module into a problem.
type builder struct {
	*problem
	kinds     *nodeKinds
	table     *leafTable
	firstLeaf int32 // the variable of leaf 0
	home      int   // space of the last target's results
	runnable  bool  // each node so far runs on some target
}

// funcBuilder adds one function to a problem.
type funcBuilder struct {
	*builder
	step   int32
	values []int32 // numbers of values, by id of what is copied; -1 is none yet
	at     []int32 // variables, by id of the node; -1 is none
}

// buildProblem returns the module of a as a problem. runnable is false if some node runs on no target.
func buildProblem(a *assigner) (p *problem, runnable bool) {
	p = &problem{c: a.c, machine: newMachine(a.c.Targets), leaves: a.leaves.list}
	p.UnderWay = a.c.Options.Pipeline
	p.describeTargets()
	p.addLeaves()
	b := &builder{problem: p, kinds: newNodeKinds(a.c), table: a.leaves, home: p.homeOf(a.c.Targets.Last()), runnable: true}
	for range variables(a.funcs) {
		b.firstLeaf++
	}
	weights := flow.StepWeights(a.funcs)
	for _, f := range a.funcs {
		b.addFunc(f, weights[f])
	}
	return p, b.runnable
}

func newMachine(l *target.List) machine {
	m := machine{backends: l.All(), spaces: l.Spaces(), index: make(map[string]int)}
	for i, s := range m.spaces {
		m.index[s.Name] = i
	}
	return m
}

// homeOf returns the number of the home space of a target.
func (m *machine) homeOf(t *target.Descriptor) int { return m.index[t.Home()] }

func (p *problem) describeTargets() {
	owner := make([]*target.Descriptor, len(p.spaces)) // the first target whose home a space is
	for _, d := range p.backends {
		t := placement.Target{Home: p.homeOf(d), Addresses: make([]bool, len(p.spaces)), Queues: d.Queues, Events: d.Events}
		for _, s := range d.Spaces {
			t.Addresses[p.index[s]] = true
		}
		p.Targets = append(p.Targets, t)
		if owner[t.Home] == nil {
			owner[t.Home] = d
		}
	}
	for from := range p.spaces {
		row := make([]placement.Link, len(p.spaces))
		for to, d := range owner {
			if d != nil {
				row[to] = linkOf(owner[from], d)
			}
		}
		p.Links = append(p.Links, row)
	}
}

// linkOf returns the line through two predictions of the time of a copy.
func linkOf(from, to *target.Descriptor) placement.Link {
	const far = 1 << 30
	delay := to.TransferSeconds(from, 0)
	return placement.Link{Delay: delay, PerByte: (to.TransferSeconds(from, far) - delay) / far}
}

// addLeaves adds the leaves with the spaces in which they may be stored: the one that the module states, or else each
// home space of a target that has an allocation large enough.
func (p *problem) addLeaves() {
	for i := range p.leaves {
		stated, bytes := p.leaves[i].space(), p.leaves[i].typ().MaxBytes()
		may := make([]bool, len(p.spaces))
		for _, t := range p.Targets {
			home := &p.spaces[t.Home]
			if stated == "" && fitsInto(home.Room(bytes), home.MaxAlloc) {
				may[t.Home] = true
			}
		}
		if s, ok := p.index[stated]; ok {
			may[s] = true
		}
		p.stated = append(p.stated, stated)
		p.Leaves = append(p.Leaves, placement.Leaf{Bytes: p.spaces[0].Room(bytes), Spaces: may})
	}
}

// fitsInto reports whether bytes are at most a limit, where 0 is no limit.
func fitsInto(bytes, limit int64) bool { return limit == 0 || bytes <= limit }

func (b *builder) addFunc(f *ir.Func, weight float64) {
	fb := &funcBuilder{builder: b, step: int32(len(b.Steps)), values: flow.NoneOf(f.NumValues()), at: flow.NoneOf(f.NumNodes())}
	first := len(b.Nodes)
	for _, n := range f.Nodes {
		if flow.DoesWork(n) {
			fb.addNode(n)
		}
	}
	if len(f.Results) > 0 {
		fb.addCaller(f)
	}
	b.Steps = append(b.Steps, placement.Step{Weight: weight, First: first, End: len(b.Nodes)})
}

func (b *funcBuilder) addNode(n *ir.Node) {
	b.at[n.ID] = int32(len(b.Nodes))
	k := b.kinds.of(n)
	v := placement.Node{Step: b.step, Seconds: b.secondsOf(n, k), Reads: b.readsOf(n.Sources()), Writes: -1}
	b.chosenOnly(n)
	if written := writtenBy(n); written != nil {
		v.Writes = b.value(written)
		v.Reads = including(v.Reads, v.Writes)
	}
	b.nodes = append(b.nodes, variable{node: n, kind: k, given: !isOpen(n)})
	b.Nodes = append(b.Nodes, v)
}

// chosenOnly reduces the bytes of the matrices of a mixture to the experts that may be chosen: no more are copied.
func (b *funcBuilder) chosenOnly(n *ir.Node) {
	if n.Op != ir.OpExpertsMatMul {
		return
	}
	w, idx := n.Args[1], n.Args[2]
	if experts := w.Type.Shape[0].Upper(); experts > 0 && flow.IsLeaf(w, ir.OpWeight) {
		part := min(1, float64(idx.Type.Elems().Upper())/float64(experts))
		b.Values[b.values[w.ID]].Bytes = part * float64(w.Type.MaxBytes())
	}
}

// writtenBy returns the value whose bytes n changes where they are; nil for none.
func writtenBy(n *ir.Node) *ir.Value {
	if r := n.Result(); r != nil {
		return r.Source()
	}
	return nil
}

// readsOf returns the values that a reader of operands has to address or copy.
func (b *funcBuilder) readsOf(operands []*ir.Value) []int32 {
	var reads []int32
	for _, a := range operands {
		if a != nil {
			reads = including(reads, b.value(a))
		}
	}
	return reads
}

// including returns the list with x in it.
func including(list []int32, x int32) []int32 {
	if slices.Contains(list, x) {
		return list
	}
	return append(list, x)
}

// addCaller adds the reader of what f returns: the caller, who belongs to the last target.
func (b *funcBuilder) addCaller(f *ir.Func) {
	seconds := slices.Repeat([]float64{placement.Never}, len(b.backends))
	seconds[len(seconds)-1] = 0
	b.nodes = append(b.nodes, variable{given: true})
	b.Nodes = append(b.Nodes, placement.Node{Step: b.step, Seconds: seconds, Reads: b.readsOf(f.Results), Writes: -1, Caller: true})
}

// value returns the value of the problem that a reader of v reads: the one that pass copy would copy for it.
func (b *funcBuilder) value(v *ir.Value) int32 {
	base := flow.CopyBase(v)
	if i := b.values[base.ID]; i >= 0 {
		return i
	}
	val := placement.Value{Step: b.step, Owner: -1, Maker: -1, Bytes: float64(base.Type.MaxBytes()), Space: int32(b.home)}
	if m := makerOf(base); m != nil {
		val.Maker = b.at[m.ID]
	}
	root := base.Root()
	if leaf, ok := b.table.leafOf(root); ok {
		val.Owner = b.firstLeaf + int32(leaf)
	} else if root.Def != nil {
		val.Owner = b.at[root.Def.ID]
	} else if i, ok := b.index[root.Type.Space]; ok {
		val.Space = int32(i)
	}
	b.values[base.ID] = int32(len(b.Values))
	b.Values = append(b.Values, val)
	return b.values[base.ID]
}

// makerOf returns the node that computes the value which v is or views; nil for none.
func makerOf(v *ir.Value) *ir.Node {
	for v.Def != nil && v.Def.Is(ir.View) && v.Source() != nil {
		v = v.Source()
	}
	return v.Def
}

// secondsOf returns the time of a node of a kind on each target that may run it. A node that has a backend already
// may run only there.
func (b *builder) secondsOf(n *ir.Node, k *nodeKind) []float64 {
	switch {
	case !isOpen(n):
		seconds := slices.Repeat([]float64{placement.Never}, len(b.backends))
		for i, t := range b.backends {
			if t.Name == n.Backend {
				seconds[i] = k.time(b.c, t)
			}
		}
		return seconds
	case k.choices == 0:
		b.runnable = false
	case n.Func.Owner != nil:
		return b.inBody(k)
	}
	return k.seconds
}

// inBody leaves out the targets that do not address the memory of the values which a body shares with the function
// around it, unless no other target runs the node.
func (b *builder) inBody(k *nodeKind) []float64 {
	seconds := slices.Repeat([]float64{placement.Never}, len(b.backends))
	some := false
	for i := range b.Targets {
		if b.Targets[i].Addresses[b.home] && k.seconds[i] < placement.Never {
			seconds[i], some = k.seconds[i], true
		}
	}
	if !some {
		return k.seconds
	}
	return seconds
}
