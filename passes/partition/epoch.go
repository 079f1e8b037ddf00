package partition

import (
	"slices"
	"strconv"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/rewrite"
)

// region is what runs between two barriers: its accesses, by buffer, and the nodes that are divided.
type region struct {
	p     *partitioner
	uses  map[int32][]*flow.Access // by the number of the buffer, in order
	nodes []*ir.Node               // those that are divided, in order
}

func newRegion(p *partitioner) *region { return &region{p: p, uses: make(map[int32][]*flow.Access)} }

// clear makes the region an empty one.
func (r *region) clear() {
	clear(r.uses)
	r.nodes = r.nodes[:0]
}

func (r *region) add(list []flow.Access) {
	for _, a := range list {
		id := r.p.bufs.Get(a.Value)
		r.uses[id] = append(r.uses[id], &a)
	}
}

// clashes calls yield for each pair of an access in the region and one of the list that
// concern the same buffer, one of them writing.
func (r *region) clashes(list []flow.Access, yield func(before, now *flow.Access) bool) {
	for i := range list {
		now := &list[i]
		for _, before := range r.uses[r.p.bufs.Get(now.Value)] {
			if (before.Write || now.Write) && !yield(before, now) {
				return
			}
		}
	}
}

// conflict returns the first pair of accesses with different owners.
func (r *region) conflict(list []flow.Access) (pair clash, found bool) {
	r.clashes(list, func(before, now *flow.Access) bool {
		if found = !flow.SameOwner(*before, *now); found {
			pair = clash{before, now}
		}
		return !found
	})
	return pair, found
}

// clash is two accesses that concern the same buffer, one of them writing.
type clash struct{ before, now *flow.Access }

// trial is a node divided in a region where that is not decided yet.
type trial struct {
	region *region
	own    *class   // of the node by itself
	class  *class   // of the node
	joins  []*class // of the region, which class is made of, besides the node
	clash  clash    // the first pair that was joined
}

// try returns a trial of a node whose class by itself is own.
func (r *region) try(own *class) *trial {
	return &trial{region: r, own: own, class: own}
}

// apart returns the trial in which the node is divided as its kernel wants it.
func (t *trial) apart() *trial { return t.region.try(t.own) }

// joined reports whether the node's units follow those of others.
func (t *trial) joined() bool { return t.clash.before != nil }

// join tries to divide n along ax so that every worker touches only what it owns already.
// Where that is not possible, against is a pair of accesses that stands against it.
func (r *region) join(n *ir.Node, ax *ir.Axis, list []flow.Access) (t *trial, against clash, ok bool) {
	t, ok = r.try(aloneClass(n, ax)), true
	r.clashes(list, func(before, now *flow.Access) bool {
		if !t.link(before, now) {
			against, ok = clash{before, now}, false
		} else if !t.joined() {
			t.clash = clash{before, now}
		}
		return ok
	})
	return t, against, ok
}

// link makes both accesses have the same owner; now is that of the trial's node.
func (t *trial) link(before, now *flow.Access) bool {
	if before.Granule != 0 || before.By != flow.Owners || now.By != flow.Owners || !before.Span.Period.Equal(now.Span.Period) {
		return false
	}
	strides, ok := flow.DimRatio(before.Span.Stride, now.Span.Stride)
	if !ok {
		return false
	}
	// granule*num/den*stride is the same on both sides.
	by := strides.Times(flow.Rational{Num: before.Span.Num, Den: before.Span.Den}).Times(flow.Rational{Num: now.Span.Den, Den: now.Span.Num})
	other := t.region.p.known(before.Node).class
	if !slices.Contains(t.joins, other) {
		if len(other.members)+len(t.class.members) > maxMembers {
			return false
		}
		t.joins = append(t.joins, other)
		theirs := other.need(before.Node, before.Span.Multiple())
		own := t.class.need(now.Node, now.Span.Multiple())
		t.class, _ = joinClasses(theirs, before.Node, own, now.Node, by)
		return true
	}
	t.class = t.class.need(before.Node, before.Span.Multiple()).need(now.Node, now.Span.Multiple())
	_, ok = joinClasses(t.class, before.Node, t.class, now.Node, by)
	return ok
}

// adopt makes the changes of a trial.
func (r *region) adopt(t *trial) {
	r.nodes = append(r.nodes, t.own.members[0].node)
	for i := range t.class.members {
		r.p.known(t.class.members[i].node).class = t.class
	}
}

// close writes the granules into the nodes: a barrier follows.
func (r *region) close(c *pass.Context) {
	for _, n := range r.nodes {
		cl := r.p.known(n).class
		n.Part.Granule = cl.granule(n)
		if len(cl.members) == 1 {
			c.Cause(n, pass.RulePartitionSplit)
			continue
		}
		other := cl.members[0].node
		if other == n {
			other = cl.members[1].node
		}
		own := ownGranule(n, cl.member(n).axis)
		c.CauseChange(n, pass.RulePartitionOwn, strconv.FormatInt(own, 10), strconv.FormatInt(n.Part.Granule, 10), other.String())
		c.Count("owned", 1)
	}
}

// repeat partitions the body, and decides on barriers at the head of its rounds and before
// the repeat.
func (w *walker) repeat(n *ir.Node) {
	w.p.walk(n.Body)
	queued := lastQueued(n.Body)
	e := w.p.edges(n.Body)
	if edge, found := w.backEdge(e); found {
		n.Body.HeadBarrier = true
		w.p.c.Cause(n, pass.RulePartitionHead, edge.now.Value.String(), edge.before.Node.String())
		w.cut()
	} else if queued != nil && beginsWithHost(n.Body) {
		n.Body.HeadBarrier = true
		w.p.c.Cause(n, pass.RulePartitionWait, queued.String())
		w.cut()
	} else if queued == nil && w.behind != nil {
		w.meet(n)
	} else if pair, found := w.open.conflict(e.head); found {
		w.barrier(n, pair)
	}
	if e.cut {
		w.cut()
	}
	w.open.add(e.tail)
	w.behind = queued
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

// beginsWithHost reports whether the host runs the first node of a body itself. A repeat of
// nodes with queues sees to its own rounds.
func beginsWithHost(f *ir.Func) bool {
	for _, n := range f.Nodes {
		if flow.DoesWork(n) {
			return n.Queue() == "" && (n.Body == nil || lastQueued(n.Body) == nil)
		}
	}
	return false
}

// backEdge returns a pair of accesses, of the end of a round and the beginning of the next
// one, that conflict. Entries of a table are other bytes in every round.
func (w *walker) backEdge(e edges) (clash, bool) {
	end := newRegion(w.p)
	for _, a := range e.tail {
		if kind, _ := flow.ParamKind(a.Value); kind != flow.ParamTable {
			end.add([]flow.Access{a})
		}
	}
	return end.conflict(e.head)
}

// edges is what a function does before its first and after its last barrier.
type edges struct {
	head, tail []flow.Access
	cut        bool // there is a barrier between them; otherwise head and tail are equal
}

// edges returns those of a function that has been partitioned.
func (p *partitioner) edges(f *ir.Func) edges {
	var e edges
	var now []flow.Access
	barrier := func() {
		if !e.cut {
			e.head, e.cut = now, true
		}
		now = nil
	}
	epoch := 0
	for _, n := range f.Nodes {
		if n.Is(ir.Leaf) || n.Is(ir.View) {
			continue
		}
		if n.Epoch > epoch {
			epoch = n.Epoch
			barrier()
		}
		if n.Op != ir.OpRepeat {
			now = p.touches.AppendFinal(now, n)
			continue
		}
		if n.Body.HeadBarrier {
			barrier()
		}
		inner := p.edges(n.Body)
		now = append(now, inner.head...)
		if inner.cut {
			barrier()
			now = append(now, inner.tail...)
		}
	}
	if e.tail = now; !e.cut {
		e.head = now
	}
	return e
}

// Barriers returns how many barriers a call of f runs, those of repeats counted as often
// as they run.
func Barriers(f *ir.Func) int64 {
	sum := int64(max(f.Epochs-1, 0))
	if f.HeadBarrier {
		sum++
	}
	for _, n := range f.Nodes {
		if n.Body != nil {
			sum += flow.Iterations(n) * Barriers(n.Body)
		}
	}
	return sum
}

// ownResults inserts copies so that every result of an entry point is a value of its own
// that owns its bytes: not a parameter, a weight, a state, a part of a value or a value
// that is a result already.
func ownResults(c *pass.Context, f *ir.Func) error {
	taken := make(map[*ir.Value]bool)
	for i, r := range f.Results {
		o := r.Root()
		if flow.IsForeign(r) {
			continue
		}
		if o.Def != nil && !o.Def.Is(ir.Leaf) && !taken[o] && flow.SameBytes(o, r) {
			taken[o] = true
			continue
		}
		n := rewrite.CopyNode(c, f, r)
		n.Split = flow.SplitAtEnd(f, n.Backend)
		f.Append(n)
		c.Cause(n, pass.RulePartitionResult, r.String())
		f.Results[i] = n.Result()
	}
	return nil
}
