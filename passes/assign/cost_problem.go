package assign

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/placement"
	"github.com/ggmlc/ggmlc/passes/target"
)

// costProblem is the problem that a module is, and what its variables stand for.
type costProblem struct {
	a       *assigner
	targets []*target.Descriptor
	spaces  []target.Space
	index   map[string]int // of spaces, by name
	home    int32          // the space where the last target's results go

	placement.Problem
	nodes  []*ir.Node         // of variables; nil for what reads the results of a function
	kind   []*nodeKind        // likewise
	time   []int32            // of variables: which of times they take
	times  [][]float64        // different Node.Seconds: nodes of one kind share them
	given  []bool             // of variables: it has a backend, or is no node
	timeOf map[*float64]int32 // numbers in times
	leaves []namedLeaf
	said   []string // by leaf: where it lies as far as the module says; empty where that is open
	kinds  *nodeKinds
	limits []int64 // by space: bytes of all that lies there; negative is no limit

	tried       []*assigner // what the rules of ggml's schedulers decide
	startNames  []string
	startLabels [][]int32
	firstUser   []int32 // by leaf; see firstUsers
	values      []int32 // of the function that is added, by id of what is copied; -1 is none yet
	at          []int32 // variables of the function that is added, by id of the node; -1 is none
	reads       []int32 // room for Node.Reads
	lacking     bool    // some node runs nowhere
}

func newCostProblem(a *assigner) *costProblem {
	p := &costProblem{a: a, targets: a.c.Targets.All(), spaces: a.c.Targets.Spaces(), index: make(map[string]int), timeOf: make(map[*float64]int32)}
	for i, s := range p.spaces {
		p.index[s.Name] = i
	}
	p.home = int32(p.index[a.c.Targets.Last().Home()])
	p.UnderWay = a.c.Options.Pipeline
	p.limit(pass.SpaceLimits(a.c, p.spaces))
	p.describeTargets()
	p.kinds = newNodeKinds(a.c)
	p.addLeaves()
	p.makeRoom()
	weights := flow.StepWeights(a.funcs)
	for _, f := range a.funcs {
		p.addFunc(f, weights[f])
	}
	for i := range p.Values {
		if v := &p.Values[i]; v.Owner < -1 {
			v.Owner = int32(len(p.Nodes)) - 2 - v.Owner
		}
	}
	return p
}

// makeRoom makes room for all nodes at once, and for about as many values as they will read: where
// lists grow, the pages that they leave behind cost more than what is written there.
func (p *costProblem) makeRoom() {
	nodes := 0
	for i := range p.a.sheets {
		for _, k := range p.a.sheets[i].facts {
			if k.has(doesWork) {
				nodes++
			}
		}
		nodes++ // the reader of the results
	}
	p.nodes = make([]*ir.Node, 0, nodes)
	p.given = make([]bool, 0, nodes)
	p.kind = make([]*nodeKind, 0, nodes)
	p.time = make([]int32, 0, nodes)
	p.Nodes = make([]placement.Node, 0, nodes)
	p.Values = make([]placement.Value, 0, nodes+len(p.leaves))
	p.reads = make([]int32, 0, 2*nodes)
}

// leafOwner stands for leaf i as the owner of a value until all nodes are there.
func leafOwner(i int32) int32 { return -2 - i }

func (p *costProblem) describeTargets() {
	owner := make([]*target.Descriptor, len(p.spaces)) // first whose home a space is
	for _, d := range p.targets {
		t := placement.Target{Home: p.index[d.Home()], Addresses: make([]bool, len(p.spaces)), Queues: d.Queues, Events: d.Events}
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

func (p *costProblem) addFunc(f *ir.Func, weight float64) {
	step, first := len(p.Steps), len(p.Nodes)
	p.values, p.at = flow.NoneOf(f.NumValues()), flow.NoneOf(f.NumNodes())
	for _, n := range f.Nodes {
		if flow.DoesWork(n) {
			p.at[n.ID] = int32(len(p.Nodes))
			p.addNode(n, step)
		}
	}
	p.addResults(f, step)
	p.Steps = append(p.Steps, placement.Step{Weight: weight, First: first, End: len(p.Nodes)})
}

func (p *costProblem) addNode(n *ir.Node, step int) {
	k := p.kinds.of(n)
	v := placement.Node{Step: int32(step), Seconds: p.secondsOf(n, k), Writes: -1}
	v.Reads = p.readsOf(n.Sources(), step)
	p.chosenOnly(n)
	if written := writtenBy(n); written != nil {
		v.Writes = p.value(written, step)
		v.Reads = including(v.Reads, v.Writes)
	}
	p.add(n, k, v)
}

// chosenOnly says that of the matrices of a mixture no more are copied than are chosen.
func (p *costProblem) chosenOnly(n *ir.Node) {
	if n.Op != ir.OpExpertsMatMul {
		return
	}
	w, idx := n.Args[1], n.Args[2]
	if experts := w.Type.Shape[0].Upper(); experts > 0 && flow.IsLeaf(w, ir.OpWeight) {
		part := min(1, float64(idx.Type.Elems().Upper())/float64(experts))
		p.Values[p.values[w.ID]].Bytes = part * float64(w.Type.MaxBytes())
	}
}

// writtenBy returns the value whose bytes n changes where they are; nil for none.
func writtenBy(n *ir.Node) *ir.Value {
	if r := n.Result(); r != nil {
		return r.Source()
	}
	return nil
}

// readsOf returns what has to be reachable for a reader of operands.
func (p *costProblem) readsOf(operands []*ir.Value, step int) []int32 {
	start := len(p.reads)
	for _, a := range operands {
		if a != nil {
			p.reads = append(p.reads[:start], including(p.reads[start:], p.value(a, step))...)
		}
	}
	return p.reads[start:len(p.reads):len(p.reads)]
}

// including returns the list with x in it.
func including(list []int32, x int32) []int32 {
	if slices.Contains(list, x) {
		return list
	}
	return append(list, x)
}

// addResults adds a reader of what f returns: the caller, who is with the last target.
func (p *costProblem) addResults(f *ir.Func, step int) {
	reads := p.readsOf(f.Results, step)
	if len(reads) == 0 {
		return
	}
	seconds := slices.Repeat([]float64{placement.Never}, len(p.targets))
	seconds[len(seconds)-1] = 0
	p.add(nil, nil, placement.Node{Step: int32(step), Seconds: seconds, Reads: reads, Writes: -1, Caller: true})
}

// add adds a variable and what it stands for.
func (p *costProblem) add(n *ir.Node, k *nodeKind, v placement.Node) {
	p.nodes = append(p.nodes, n)
	p.given = append(p.given, n == nil || n.Backend != "")
	p.kind = append(p.kind, k)
	p.Nodes = append(p.Nodes, v)
	time, known := p.timeOf[&v.Seconds[0]]
	if !known {
		time = int32(len(p.times))
		p.timeOf[&v.Seconds[0]] = time
		p.times = append(p.times, v.Seconds)
	}
	p.time = append(p.time, time)
}

// value returns what is copied for a reader of v, as pass copy has it.
func (p *costProblem) value(v *ir.Value, step int) int32 {
	base := flow.CopyBase(v)
	if i := p.values[base.ID]; i >= 0 {
		return i
	}
	val := placement.Value{Step: int32(step), Owner: -1, Maker: -1, Bytes: float64(base.Type.MaxBytes()), Space: p.home}
	if m := makerOf(base); m != nil {
		val.Maker = p.at[m.ID]
	}
	root := base.Root()
	switch {
	case root.Def == nil:
		if i, ok := p.index[root.Type.Space]; ok {
			val.Space = int32(i)
		}
	case flow.IsLeafNode(root.Def):
		val.Owner = leafOwner(p.a.leaves.number(root.Def))
	default:
		val.Owner = p.at[root.Def.ID]
	}
	p.values[base.ID] = int32(len(p.Values))
	p.Values = append(p.Values, val)
	return p.values[base.ID]
}

// makerOf returns the working node behind the views that v is; nil for none.
func makerOf(v *ir.Value) *ir.Node {
	for v.Def != nil && v.Def.Is(ir.View) && v.Source() != nil {
		v = v.Source()
	}
	return v.Def
}

// secondsOf returns the time of a node of a kind on each target that may run it. One that has a
// backend already stays there.
func (p *costProblem) secondsOf(n *ir.Node, k *nodeKind) []float64 {
	if n.Backend == "" {
		p.lacking = p.lacking || k.choices == 0
		if n.Func.Owner != nil {
			return p.inBody(k)
		}
		return k.seconds
	}
	if only := k.only[n.Backend]; only != nil {
		return only
	}
	seconds := slices.Repeat([]float64{placement.Never}, len(p.targets))
	for i, t := range p.targets {
		if t.Name == n.Backend {
			seconds[i] = k.time(p.a.c, t)
		}
	}
	k.only[n.Backend] = seconds
	return seconds
}

// inBody leaves out the targets that do not address the memory in which the values lie that
// a body shares with the function around it, unless no other runs the node.
func (p *costProblem) inBody(k *nodeKind) []float64 {
	if k.body != nil {
		return k.body
	}
	k.body = make([]float64, len(p.targets))
	some := false
	for i, t := range p.targets {
		k.body[i] = placement.Never
		if t.Addresses(p.a.c.Targets.Last().Home()) && k.seconds[i] < placement.Never {
			k.body[i], some = k.seconds[i], true
		}
	}
	if !some {
		k.body = k.seconds
	}
	return k.body
}

// addLeaves adds the leaves with the spaces in which they may lie.
func (p *costProblem) addLeaves() {
	p.leaves = p.a.leaves.list
	p.said = make([]string, len(p.leaves))
	p.Leaves = make([]placement.Leaf, len(p.leaves))
	may := make([]bool, len(p.leaves)*len(p.spaces))
	for i := range p.leaves {
		p.said[i] = p.leaves[i].space()
		bytes := p.leaves[i].typ().MaxBytes()
		spaces := may[i*len(p.spaces):][:len(p.spaces):len(p.spaces)]
		for _, t := range p.Targets {
			room := p.spaces[t.Home].Room(bytes)
			if p.said[i] == "" && fitsInto(room, p.spaces[t.Home].MaxAlloc) {
				spaces[t.Home] = true
			}
		}
		if s, ok := p.index[p.said[i]]; ok {
			spaces[s] = true
		}
		p.Leaves[i] = placement.Leaf{Bytes: p.spaces[0].Room(bytes), Spaces: spaces}
	}
}

func fitsInto(bytes, limit int64) bool { return limit == 0 || bytes <= limit }
