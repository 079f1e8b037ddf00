package partition

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// walker is the state of the walk over one function.
type walker struct {
	*entry
	epoch int
	open  *region // what has been placed since the last barrier

	// queued is the last node that runs on a queue, until a node of the host follows. There the host may wait for the
	// queue, and a barrier tells the other workers what worker 0 has waited for.
	queued *ir.Node
}

// walk partitions f and the bodies in it.
func (e *entry) walk(f *ir.Func) {
	w := &walker{entry: e, open: newRegion(e.buffers)}
	if f.Owner == nil && e.c.Options.Pipeline > 1 {
		w.queued = lastQueued(f) // the step before may still run
	}
	for _, n := range f.Nodes {
		switch {
		case !flow.DoesWork(n):
		case n.Op == ir.OpRepeat:
			w.repeat(n)
		default:
			w.place(n)
		}
		n.Epoch = w.epoch
	}
	w.open.close(e.c)
	f.Epochs = w.epoch + 1
}

// place chooses how the work of n is shared, and whether a barrier comes before it.
func (w *walker) place(n *ir.Node) {
	if n.Queue() != "" {
		w.queued = n
	} else if w.queued != nil {
		w.waitForQueue(n)
	}
	serial := isSerial(w.c.Target(n), n)
	var chosen option
	if serial {
		chosen = w.undivided(n, pass.RulePartitionOne, ir.PartOne)
	} else {
		chosen = cheapest(w.options(n))
	}
	if chosen.rule != pass.RulePartitionOne && !w.c.Allow(chosen.rule, n) {
		chosen = w.undivided(n, pass.RulePartitionOne, ir.PartOne)
	}
	w.take(n, chosen)
	if chosen.mode != ir.PartSplit && !serial { // causes of divided nodes follow when the epoch closes
		w.c.Cause(n, chosen.rule)
	}
}

// take carries an option out: n becomes a part of the open epoch, or of a new one.
func (w *walker) take(n *ir.Node, o option) {
	if o.barrier {
		w.barrier(n, o.hazard)
	}
	n.Part = ir.Partition{Mode: o.mode}
	switch o.mode {
	case ir.PartSplit:
		n.Part.Axis, n.Part.N = o.axis.Axis, n.Result().Type.Shape[o.axis.Axis]
		w.open.divide(n, o.class)
	case ir.PartReplicated:
		for _, r := range n.Results {
			w.private[r] = true
		}
	}
	w.open.add(o.accesses)
}

// barrier places a barrier before n because of a hazard.
func (w *walker) barrier(n *ir.Node, h hazard) {
	w.beginRegion()
	w.epoch++
	w.c.Cause(n, h.rule(), h.now.Value.String(), h.before.Node.String())
}

// waitForQueue places a barrier before n, a node of the host, where worker 0 may wait for a queue.
func (w *walker) waitForQueue(n *ir.Node) {
	w.beginRegion()
	w.epoch++
	w.c.Cause(n, pass.RulePartitionWait, w.queued.String())
	w.queued = nil
}

// beginRegion closes the open region at a barrier and opens an empty one.
func (w *walker) beginRegion() {
	w.open.close(w.c)
	w.open = newRegion(w.buffers)
}

// repeat partitions the body of a repeat, and decides whether its iterations begin with a barrier, and whether one
// comes before the repeat.
//
// The region before the repeat, the body and the region after it meet at four places. Here B is a barrier inside the
// body:
//
//	before | begin B end | begin B end | after
//
// If the end of an iteration conflicts with the beginning of the next one, each iteration begins with a barrier, the
// first one included: so the nodes before the repeat are separate from the body too. Otherwise the nodes before the
// repeat may conflict with the beginning, and a barrier comes before the repeat. The nodes after it meet the end.
func (w *walker) repeat(n *ir.Node) {
	w.walk(n.Body)
	queued := lastQueued(n.Body)
	body := w.edges(n.Body)
	if h, found := w.backEdge(body); found {
		n.Body.HeadBarrier = true
		w.c.Cause(n, pass.RulePartitionHead, h.now.Value.String(), h.before.Node.String())
		w.beginRegion()
	} else if queued != nil && beginsWithHost(n.Body) {
		n.Body.HeadBarrier = true
		w.c.Cause(n, pass.RulePartitionWait, queued.String())
		w.beginRegion()
	} else if queued == nil && w.queued != nil {
		w.waitForQueue(n)
	} else if h, found := w.open.conflict(body.begin); found {
		w.barrier(n, h)
	}
	if body.barrier {
		w.beginRegion()
	}
	w.open.add(body.end)
	w.queued = queued
}

// backEdge returns a hazard between the end of an iteration and the beginning of the next one. Entries of tables cannot
// be part of one: they are other bytes in each iteration.
func (w *walker) backEdge(body edges) (hazard, bool) {
	end := newRegion(w.buffers)
	end.add(slices.DeleteFunc(slices.Clone(body.end), func(a flow.Access) bool {
		kind, _ := flow.ParamKind(a.Value)
		return kind == flow.ParamTable
	}))
	return end.conflict(body.begin)
}

// edges is what a function touches before its first barrier and after its last one.
type edges struct {
	begin, end []flow.Access
	barrier    bool // there is a barrier between them; otherwise they are equal
}

// edges returns those of a function that is partitioned.
func (e *entry) edges(f *ir.Func) edges {
	var all edges
	var region []flow.Access // since the last barrier
	barrier := func() {
		if !all.barrier {
			all.begin, all.barrier = region, true
		}
		region = nil
	}
	epoch := 0
	for _, n := range f.Nodes {
		if !flow.DoesWork(n) {
			continue
		}
		if n.Epoch > epoch {
			epoch = n.Epoch
			barrier()
		}
		if n.Op != ir.OpRepeat {
			region = append(region, e.finalAccesses(n)...)
			continue
		}
		if n.Body.HeadBarrier {
			barrier()
		}
		inner := e.edges(n.Body)
		region = append(region, inner.begin...)
		if inner.barrier {
			barrier()
			region = append(region, inner.end...)
		}
	}
	all.end = region
	if !all.barrier {
		all.begin = region
	}
	return all
}

// lastQueued returns the last node of f, or of a body in it, that runs on a queue, or nil.
func lastQueued(f *ir.Func) *ir.Node {
	for _, n := range slices.Backward(f.Nodes) {
		if n.Queue() != "" {
			return n
		}
		if n.Body == nil {
			continue
		}
		if q := lastQueued(n.Body); q != nil {
			return q
		}
	}
	return nil
}

// beginsWithHost reports whether the host runs the first node of a body itself. A repeat that has nodes with queues
// does not count: its own iterations begin with a barrier if they need one.
func beginsWithHost(f *ir.Func) bool {
	for _, n := range f.Nodes {
		if flow.DoesWork(n) {
			return n.Queue() == "" && (n.Body == nil || lastQueued(n.Body) == nil)
		}
	}
	return false
}
