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
	epoch int     // of the next node, unless it needs a barrier
	open  *region // what has been placed since the last barrier

	// queued is the last node that runs on a queue, until a node of the host follows. Before that node worker 0 may
	// wait for the queue. A barrier keeps the other workers from the node until worker 0 has waited.
	queued *ir.Node
}

// walk partitions f and the bodies in it.
func (e *entry) walk(f *ir.Func) {
	w := &walker{entry: e, open: newRegion(e.buffers)}
	if f.Owner == nil && e.c.Options.Pipeline > 1 {
		w.queued = lastQueued(f) // in the step before it may still run
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
	if isSerial(w.c.Target(n), n) {
		w.take(n, w.undivided(n, pass.RulePartitionOne, ir.PartOne))
		return // without a cause: there was no choice
	}
	chosen := cheapest(w.options(n))
	if chosen.rule != pass.RulePartitionOne && !w.c.Allow(chosen.rule, n) { // the fuel is spent
		chosen = w.undivided(n, pass.RulePartitionOne, ir.PartOne)
	}
	w.take(n, chosen)
	if chosen.mode != ir.PartSplit { // divided nodes get their causes with their granules, when the region closes
		w.c.Cause(n, chosen.rule)
	}
}

// take carries an option out: n becomes a part of the open epoch, or of a new one.
func (w *walker) take(n *ir.Node, o option) {
	if o.barrier {
		w.separate(n, o.hazard)
	}
	n.Part = ir.Partition{Mode: o.mode}
	switch o.mode {
	case ir.PartSplit:
		n.Part.Axis, n.Part.N = o.axis.Axis, n.Result().Type.Shape[o.axis.Axis]
		w.open.divide(n, o.class)
	case ir.PartReplicated:
		for _, r := range n.Results {
			*w.private.At(r) = true
		}
		w.privates += len(n.Results)
	}
	w.open.add(o.accesses)
}

// separate begins an epoch with n because of a hazard.
func (w *walker) separate(n *ir.Node, h hazard) {
	w.beginEpoch()
	w.c.Cause(n, h.rule(), h.now.Value.String(), h.before.Node.String())
}

// waitForQueue begins an epoch with n, a node of the host: before its barrier worker 0 may wait for a queue.
func (w *walker) waitForQueue(n *ir.Node) {
	w.beginEpoch()
	w.c.Cause(n, pass.RulePartitionWait, w.queued.String())
	w.queued = nil
}

// beginEpoch places a barrier before the next node.
func (w *walker) beginEpoch() {
	w.beginRegion()
	w.epoch++
}

// beginRegion closes the open region at a barrier and opens an empty one. A barrier in the body of a repeat begins a
// region, but no epoch in this function.
func (w *walker) beginRegion() {
	w.open.close(w.c)
	w.open = newRegion(w.buffers)
}

// repeat partitions the body of a repeat, and decides whether its iterations begin with a barrier, and whether one
// comes before the repeat.
//
// Nodes of the function and of the body run one after the other without a barrier at three places, marked by |. B is a
// barrier inside the body, if there is one:
//
//	before | begin B end | begin B end | after
//
// The one in the middle is decided first. If the end of an iteration conflicts with the beginning of the next one, each
// iteration begins with a barrier. This includes the first iteration, so the first place has a barrier too. Otherwise
// the nodes before the repeat are compared with the beginning, and a barrier comes before the repeat if they conflict.
// At the last place, the end of the body stays in the open region, and the next nodes are compared with it.
//
// Queues add two reasons. If the body has nodes on queues and begins with a node of the host, each iteration begins
// with a barrier, because worker 0 may wait for the iteration before. If only nodes before the repeat are on queues, a
// barrier comes before the repeat.
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
		w.separate(n, h)
	}
	if body.barrier { // it separates the nodes before the repeat from the end of the body
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

// edges is the accesses of a body that may conflict with nodes outside of it: those before its first barrier and those
// after its last one.
type edges struct {
	begin, end []flow.Access
	barrier    bool // there is a barrier between begin and end; otherwise they are equal
}

// edges returns the edges of a function that is partitioned.
func (e *entry) edges(f *ir.Func) edges {
	var found edges
	var region []flow.Access // since the last barrier
	barrier := func() {
		if !found.barrier {
			found.begin, found.barrier = region, true
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
	found.end = region
	if !found.barrier {
		found.begin = region
	}
	return found
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
