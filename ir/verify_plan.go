package ir

// Checks of the decisions that the properties from assigned on promise. Checks that need the targets are in
// passes/check: which backend can address which space, and which formats kernels read.

// plan checks the queues, and the addresses of a module that is placed.
func (v *verifier) plan() {
	submitted := make(map[*Func][]*Node)
	for _, n := range v.submitted {
		f := n.Func.Entry()
		submitted[f] = append(submitted[f], n)
	}
	for _, f := range v.m.Funcs {
		v.queues(submitted[f])
	}
	if v.m.Props&PropPlaced != 0 && v.must(v.m.Plan != nil, "placed", "there is no plan") {
		v.placed()
		v.funcPlans()
	}
}

// progress is the split and the epoch of the nodes before the current one.
type progress struct {
	split   int // of the last node that works; -1 before the first
	backend string
	epoch   int
}

// decided checks the decisions about a node; at is advanced.
func (v *verifier) decided(n *Node, at *progress) {
	if v.m.Props&PropAssigned != 0 {
		v.assigned(n)
	}
	if v.m.Props&PropSplit != 0 && works(n) {
		v.split(n, at)
	}
	if v.m.Props&PropPartitioned != 0 {
		v.partitioned(n)
		v.epoch(n, at)
	}
}

// works reports whether a node does work on a backend: views and leaves do none.
func works(n *Node) bool { return n.Traits()&(View|Leaf) == 0 }

// spaces checks that the parameters of the current function have a space.
func (v *verifier) spaces() {
	if v.m.Props&PropAssigned == 0 {
		return
	}
	for _, p := range v.f.Params {
		v.node = p
		v.must(p.Type.Space != "", "assigned", "%v is in no space: write @host after its type", p)
	}
	v.node = nil
}

// assigned checks that a node has a backend and its results have a space.
func (v *verifier) assigned(n *Node) {
	v.must(!works(n) || n.Backend != "", "assigned", "%v has no backend", n.Op)
	for _, r := range n.Results {
		v.must(r.Type.Space != "", "assigned", "%v is in no space", r)
	}
}

// split checks that splits are numbered in order, each on one backend, and advances at. Those of an
// entry point begin with 0. The splits of a body begin with the number of the node that holds it, and
// the numbers after that node continue those of the body:
//
//	%a = add …               split 0
//	%r = repeat …            split 1
//	body { %b … } { %c … }   splits 1 and 2
//	%d = add …               split 3
func (v *verifier) split(n *Node, at *progress) {
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
	at.split, at.backend = n.Split, n.Backend
	if n.Body == nil {
		return
	}
	if last := lastSplit(n.Body); last > n.Split {
		at.split, at.backend = last, "" // the next node begins a split
	}
}

// lastSplit returns the last split of a function and its bodies.
func lastSplit(f *Func) int {
	last := -1
	for _, n := range f.Nodes {
		last = max(last, n.Split)
		if n.Body != nil {
			last = max(last, lastSplit(n.Body))
		}
	}
	return last
}

// partitioned checks the divisions of a node: that of the host's workers, and that of its queue's threads.
func (v *verifier) partitioned(n *Node) {
	v.partition(n, &n.Part)
	if n.Submit == nil || n.Submit.Within.Mode == PartNone {
		return
	}
	v.must(n.Submit.Queue != "", "partition", "it is divided within a queue, and runs on none")
	v.must(n.Submit.Within.Mode != PartReplicated && !n.Submit.Within.Dynamic, "partition", "within a queue a node is divided, or one thread computes it")
	v.partition(n, &n.Submit.Within)
}

// partition checks that a divided axis exists, that its length is the recorded one, and the granule.
func (v *verifier) partition(n *Node, p *Partition) {
	if p.Mode != PartSplit {
		return
	}
	if !v.must(len(n.Results) > 0, "partition", "there is no result to divide") {
		return
	}
	shape := n.Results[0].Type.Shape
	if !v.must(p.Axis >= 0 && p.Axis < len(shape), "partition", "axis %d is outside rank %d", p.Axis, len(shape)) {
		return
	}
	if !p.N.Equal(shape[p.Axis]) {
		v.fail("partition", "%v elements of axis %d are divided, it has %v", p.N, p.Axis, shape[p.Axis])
	}
	if p.Granule <= 0 || p.Granule > maxGranule {
		v.fail("partition", "the granule %d is outside 1 to %d", p.Granule, maxGranule)
	}
}

// maxGranule is more elements than any memory holds. Programs add the granule to the length of an axis:
// if the sum overflowed, no worker would compute anything.
const maxGranule int64 = 1 << 48

// epochs checks that the last epoch of the current function has a node. Barriers are counted by epochs.
func (v *verifier) epochs() {
	if v.m.Props&PropPartitioned == 0 {
		return
	}
	last := 0
	v.node = nil
	for _, n := range v.f.Nodes {
		if works(n) {
			last = max(last, n.Epoch)
		}
	}
	v.must(v.f.Epochs <= last+1, "epoch", "%d epochs, and the last node is of epoch %d, counted from 0", v.f.Epochs, last)
}

// epoch checks that the epochs of partitioned nodes never decrease, and advances at.
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

// funcPlans checks that there is a plan for each entry point, with its splits and figures.
func (v *verifier) funcPlans() {
	plans, funcs := len(v.m.Plan.Funcs), len(v.m.Funcs)
	if !v.must(plans == funcs, "plan", "%d plans for %d functions", plans, funcs) {
		return
	}
	for i, f := range v.m.Funcs {
		plan := &v.m.Plan.Funcs[i]
		v.f, v.node = f, nil
		v.must(plan.Func == f.Name, "plan", "the plan is of @%s", plan.Func)
		nodes, barriers := runs(f)
		v.must(plan.Nodes == nodes, "plan", "nodes=%d, and a call runs %d", plan.Nodes, nodes)
		v.must(plan.Barriers == barriers, "plan", "barriers=%d, and a call runs %d", plan.Barriers, barriers)
		for _, n := range f.Nodes {
			v.node = n
			v.plannedSplit(n, plan)
		}
	}
	v.f, v.node = nil, nil
}

// runs returns how many working nodes and how many barriers a call of f runs. Those in a body count once
// for each iteration.
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

// plannedSplit checks that the plan of an entry point has the split of a node, on its backend.
func (v *verifier) plannedSplit(n *Node, plan *FuncPlan) {
	if v.m.Props&PropSplit == 0 || !works(n) || n.Body != nil || n.Split < 0 { // split reports negative ones
		return
	}
	if n.Split >= len(plan.Splits) || plan.Splits[n.Split].Backend != n.Backend {
		v.fail("plan", "the plan has no split %d on %s", n.Split, n.Backend)
	}
}
