package ir

// What the properties from assigned on promise. Which backend can address which space,
// and which formats kernels read, is checked with the targets at hand, in passes/check.

// plan checks the decisions that the properties of the module say have been made.
func (v *verifier) plan() {
	for _, f := range v.m.AllFuncs() {
		v.decided(f)
	}
	v.f, v.node = nil, nil
	for _, f := range v.m.Funcs {
		v.queues(appendSubmitted(nil, f))
	}
	v.placed()
}

// decided checks what was decided about each node of f.
func (v *verifier) decided(f *Func) {
	v.f, v.node = f, nil
	v.params()
	v.epochs()
	at := progress{split: -1}
	for _, n := range f.Nodes {
		v.node = n
		v.chosen(n)
		v.follows(n, &at)
	}
}

// progress is how far a walk over a function has come.
type progress struct {
	split   int // of the last node that works; -1 before the first
	backend string
	epoch   int
}

// chosen checks what was decided of a node without regard to others.
func (v *verifier) chosen(n *Node) {
	if v.m.Props&PropAssigned != 0 {
		v.assigned(n)
	}
	if v.m.Props&PropPartitioned != 0 {
		v.partitioned(n)
	}
}

// follows checks that splits and epochs follow those of the nodes before.
func (v *verifier) follows(n *Node, at *progress) {
	if v.m.Props&PropSplit != 0 {
		v.split(n, at)
	}
	if v.m.Props&PropPartitioned != 0 {
		v.epoch(n, at)
	}
}

// epochs checks that the current function has not more of them than its nodes: barriers are
// counted by them.
func (v *verifier) epochs() {
	if v.m.Props&PropPartitioned == 0 {
		return
	}
	last := 0
	for _, n := range v.f.Nodes {
		if works(n) {
			last = max(last, n.Epoch)
		}
	}
	v.must(v.f.Epochs <= last+1, "epoch", "%d epochs, and the last node is of epoch %d, counted from 0", v.f.Epochs, last)
}

// works reports whether a node does work on a backend: views and leaves do none.
func works(n *Node) bool { return n.Traits()&(View|Leaf) == 0 }

// params checks that the parameters of the current function are in some space.
func (v *verifier) params() {
	if v.m.Props&PropAssigned == 0 {
		return
	}
	for _, p := range v.f.Params {
		v.node = p
		v.must(p.Type.Space != "", "assigned", "%v is in no space: write @host after its type", p)
	}
	v.node = nil
}

func (v *verifier) assigned(n *Node) {
	v.must(!works(n) || n.Backend != "", "assigned", "%v has no backend", n.Op)
	for _, r := range n.Results {
		v.must(r.Type.Space != "", "assigned", "%v lies in no space", r)
	}
}

// split checks that splits are numbered in order from 0, each on one backend. Those of a
// body begin with the number of the node that holds it; what follows that node is numbered on.
func (v *verifier) split(n *Node, at *progress) {
	if !works(n) {
		return
	}
	if first := at.split == -1; first && n.Func.Owner != nil {
		at.split, at.backend = n.Func.Owner.Split, n.Backend
	}
	switch {
	case n.Split < 0:
		v.fail("split", "%v belongs to no split", n.Op)
		return
	case n.Split == at.split:
		if n.Backend != at.backend {
			v.fail("split", "split %d is on %s and on %s", at.split, at.backend, n.Backend)
		}
	case n.Split != at.split+1:
		v.fail("split", "split %d follows split %d", n.Split, at.split)
	}
	at.pass(n)
}

// pass takes note of the split of a node that works.
func (at *progress) pass(n *Node) {
	at.split, at.backend = n.Split, n.Backend
	if n.Body == nil {
		return
	}
	if last := lastSplit(n.Body); last > n.Split { // whatever follows begins a split
		at.split, at.backend = last, ""
	}
}

// lastSplit returns the last split of a function, bodies included. What holds itself in some way
// is not followed.
func lastSplit(f *Func) int {
	last := -1
	for _, n := range f.Nodes {
		last = max(last, n.Split)
		if n.Body != nil && n.Func == f && n.Body.Owner == n {
			last = max(last, lastSplit(n.Body))
		}
	}
	return last
}

// partitioned checks that a divided axis exists and is divided as long as it is.
func (v *verifier) partitioned(n *Node) {
	if n.Part.Mode != PartSplit {
		return
	}
	if !v.must(len(n.Results) > 0, "partition", "there is no result to divide") {
		return
	}
	shape := n.Results[0].Type.Shape
	if !v.must(n.Part.Axis >= 0 && n.Part.Axis < len(shape), "partition", "axis %d is outside rank %d", n.Part.Axis, len(shape)) {
		return
	}
	if !n.Part.N.Equal(shape[n.Part.Axis]) {
		v.fail("partition", "%v elements of axis %d are divided, it has %v", n.Part.N, n.Part.Axis, shape[n.Part.Axis])
	}
	if n.Part.Granule <= 0 || n.Part.Granule > maxGranule {
		v.fail("partition", "the granule %d is outside 1 to %d", n.Part.Granule, maxGranule)
	}
}

// maxGranule is more elements than any memory holds. Programs add the granule to the length of an axis:
// if that overflowed, nobody would own anything.
const maxGranule int64 = 1 << 48

// epoch checks that epochs follow the order, and that each but the first has a node at its
// beginning.
func (v *verifier) epoch(n *Node, at *progress) {
	if n.Epoch < 0 || n.Epoch >= max(v.f.Epochs, 1) {
		v.fail("epoch", "epoch %d is outside the function's %d", n.Epoch, v.f.Epochs)
	}
	if n.Part.Mode == PartNone {
		return
	}
	if n.Epoch < at.epoch {
		v.fail("epoch", "epoch %d follows epoch %d", n.Epoch, at.epoch)
	}
	at.epoch = max(at.epoch, n.Epoch)
}

// placed checks that whatever owns bytes has an address in an arena of its space.
func (v *verifier) placed() {
	if v.m.Props&PropPlaced == 0 {
		return
	}
	if !v.hasPlan() {
		return
	}
	v.arenas()
	for _, w := range v.m.Weights {
		v.node = w
		v.member(w.Type, w.Place, ClassWeights)
	}
	v.statesPlaced()
	for _, f := range v.m.AllFuncs() {
		v.f = f
		v.paramsPlaced()
		for _, n := range f.Nodes {
			v.results(n)
		}
	}
	v.f, v.node = nil, nil
	v.funcPlans()
}

func (v *verifier) hasPlan() bool {
	return v.must(v.m.Plan != nil, "placed", "there is no plan")
}

func (v *verifier) statesPlaced() {
	for _, s := range v.m.States {
		v.node = s
		v.member(s.Type, s.Place, ClassState)
	}
}

func (v *verifier) arenas() {
	n, steps := v.m.Plan.Threads, v.m.Plan.Pipeline
	v.node = "plan"
	v.must(0 <= steps && steps <= MaxPipeline, "plan", "pipeline=%d: at most %d steps may be under way", steps, MaxPipeline)
	v.must(0 <= n && n <= MaxThreads, "plan", "threads=%d: a program has at most %d workers", n, MaxThreads)
	for i := range v.m.Plan.Arenas {
		a := &v.m.Plan.Arenas[i]
		v.node = a
		v.must(a.Align > 0, "arena", "the alignment %d is not positive", a.Align)
		v.must(a.Bound <= a.Bytes(), "arena", "%d bytes are below the bound %d", a.Bytes(), a.Bound)
		for _, c := range a.Chunks {
			v.must(c >= 0, "arena", "a chunk of %d bytes", c)
		}
	}
}

// member checks the address of a weight or state.
func (v *verifier) member(t Type, p *Place, class Class) {
	if !v.must(p != nil, "placed", "has no address") || !v.within(t, p) {
		return
	}
	got := v.m.Plan.Arenas[p.Arena].Class
	v.must(got == class, "placed", "lies among the %v, not the %v", got, class)
}

// paramsPlaced checks the addresses of the current function's parameters. Those of a body lie
// where the operands of the node lie that holds it.
func (v *verifier) paramsPlaced() {
	for _, p := range v.f.Params {
		v.node = p
		if p.Place != nil || v.f.Owner == nil {
			v.owned(p)
		}
	}
}

// results checks the addresses of a node's results.
func (v *verifier) results(n *Node) {
	for _, r := range n.Results {
		v.node = r
		switch {
		case n.Op == OpWeight, n.Op == OpState, r.Source() != nil:
			v.must(r.Place == nil, "placed", "has an address of its own, but not bytes of its own")
		default:
			v.owned(r)
		}
	}
}

func (v *verifier) owned(val *Value) {
	if v.must(val.Place != nil, "placed", "has no address") && v.within(val.Type, val.Place) {
		v.slots(val)
	}
}

// slots checks that all instances of a value lie within its chunk.
func (v *verifier) slots(val *Value) {
	if n := int64(val.Slots()); n > 1 {
		a := &v.m.Plan.Arenas[val.Place.Arena]
		end := val.Place.Offset + (n-1)*a.Stride(val.Place) + val.Place.Bytes
		v.must(end <= a.Chunks[val.Place.Chunk], "placed", "%d instances at %v end outside their chunk", n, val.Place)
	}
}

// within checks that a value of type t at p lies within its chunk, aligned, in its space.
func (v *verifier) within(t Type, p *Place) bool {
	arenas := v.m.Plan.Arenas
	if p.Arena < 0 || p.Arena >= len(arenas) {
		v.fail("placed", "arena %d of %d", p.Arena, len(arenas))
		return false
	}
	a := &arenas[p.Arena]
	if p.Chunk < 0 || p.Chunk >= len(a.Chunks) {
		v.fail("placed", "chunk %d of %d", p.Chunk, len(a.Chunks))
		return false
	}
	size := a.Chunks[p.Chunk]
	if p.Bytes < t.MaxBytes() {
		v.fail("placed", "%d bytes for a value of up to %d", p.Bytes, t.MaxBytes())
	}
	if p.Offset < 0 || p.Bytes < 0 || p.Offset > size-p.Bytes {
		v.fail("placed", "%v is outside its chunk of %d bytes", p, size)
	}
	if p.Offset%max(a.Align, 1) != 0 {
		v.fail("placed", "offset %d is no multiple of %d", p.Offset, a.Align)
	}
	if a.Space != t.Space {
		v.fail("placed", "lies in space %q, its arena in %q", t.Space, a.Space)
	}
	return a.Space == t.Space
}

// funcPlans checks that there is a plan for each entry point, with each of its splits.
func (v *verifier) funcPlans() {
	if !v.numPlans() {
		return
	}
	for i, f := range v.m.Funcs {
		v.f = f
		plan := &v.m.Plan.Funcs[i]
		v.planOf(plan)
		for _, n := range f.Nodes {
			v.node = n
			v.planned(n, plan)
		}
		v.node = nil
	}
	v.f = nil
}

// numPlans checks that there are as many plans as entry points.
func (v *verifier) numPlans() bool {
	plans, funcs := len(v.m.Plan.Funcs), len(v.m.Funcs)
	return v.must(plans == funcs, "plan", "%d plans for %d functions", plans, funcs)
}

// planOf checks that the plan is that of the current function, with the figures of it.
func (v *verifier) planOf(plan *FuncPlan) {
	v.must(plan.Func == v.f.Name, "plan", "the plan is of @%s", plan.Func)
	nodes, barriers := runs(v.f)
	v.must(plan.Nodes == nodes, "plan", "nodes=%d, and a call runs %d", plan.Nodes, nodes)
	v.must(plan.Barriers == barriers, "plan", "barriers=%d, and a call runs %d", plan.Barriers, barriers)
}

// runs returns how many nodes that work and how many barriers a call of f runs, those in bodies
// once for each iteration.
func runs(f *Func) (nodes, barriers int64) {
	barriers = max(int64(f.Epochs)-1, 0)
	if f.HeadBarrier {
		barriers++
	}
	for _, n := range f.Nodes {
		if a, ok := n.Attr.(*RepeatAttr); ok && n.Body != nil {
			inNodes, inBarriers := runs(n.Body)
			nodes, barriers = nodes+a.Count*inNodes, barriers+a.Count*inBarriers
		} else if works(n) {
			nodes++
		}
	}
	return nodes, barriers
}

// planned checks that the plan of an entry point has the split of one of its nodes.
func (v *verifier) planned(n *Node, plan *FuncPlan) {
	if v.m.Props&PropSplit == 0 || !works(n) || n.Body != nil || n.Split < 0 { // which has been said
		return
	}
	if n.Split >= len(plan.Splits) || plan.Splits[n.Split].Backend != n.Backend {
		v.fail("plan", "the plan has no split %d on %s", n.Split, n.Backend)
	}
}
