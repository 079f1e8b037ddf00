package check

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
)

// queue is a queue of a target. The one for copies takes nothing else, and only into the
// target's spaces.
type queue struct {
	of       *target.Descriptor
	copiesIn bool
}

// copyQueue returns the name of a target's queue for copies into its spaces, as
// docs/queues.md says; the target's only queue where it has no second one.
func copyQueue(d *target.Descriptor) string {
	if d.Queues > 1 {
		return d.Name + ".in"
	}
	return d.Name
}

// queuesOf returns the queues of all targets, by name.
func queuesOf(targets *target.List) map[string]queue {
	list := make(map[string]queue)
	for _, d := range targets.All() {
		if d.Queues > 0 {
			list[d.Name] = queue{of: d}
		}
		if d.Queues > 1 {
			list[copyQueue(d)] = queue{of: d, copiesIn: true}
		}
	}
	return list
}

// isSlotsOnly reports whether n is an input of a foreign graph of which there are several
// instances, and is not submitted.
func isSlotsOnly(n *ir.Node) bool {
	return n.Op == ir.OpForeign && n.Is(ir.Leaf) && n.Queue() == "" && len(n.Submit.Waits) == 0 && n.Submit.Event == 0
}

// submission claims: a node with work is on the queue that can run it, one worker submits
// it, and instances of its result are bytes of its own.
func (c *checker) submission(n *ir.Node) {
	if n.Submit != nil && (!works(n) || n.Op == ir.OpRepeat) && !isSlotsOnly(n) {
		c.fail(RuleQueue, n, "is submitted, and does no work of its own")
		return
	}
	if !works(n) || n.Op == ir.OpRepeat || c.targets.Get(n.Backend) == nil {
		return
	}
	if c.m.Props&ir.PropQueued == 0 && n.Submit == nil {
		return // nobody has asked for queues: the host waits for each node
	}
	if may := c.queuesFor(n); !slices.Contains(may, n.Queue()) {
		c.fail(RuleQueue, n, "is on %s, and belongs on %s", onQueue(n.Queue()), onQueue(may[0]))
	}
	if n.Queue() != "" && n.Part.Mode != ir.PartOne && n.Part.Mode != ir.PartNone {
		c.fail(RuleQueue, n, "is on queue %s, and divided by %v", n.Queue(), n.Part.Mode)
	}
	if n.Submit != nil && n.Submit.Slots > 1 {
		c.slots(n)
	}
}

// onQueue describes where a node runs.
func onQueue(name string) string {
	if name == "" {
		return "no queue"
	}
	return "queue " + name
}

// queuesFor returns the queues that may run a node. A copy between spaces is for a target
// that has its source; from the host's memory, and from spaces whose targets have no
// queue, for one that has its destination.
func (c *checker) queuesFor(n *ir.Node) []string {
	d := c.targets.Get(n.Backend)
	switch {
	case !transfers(n) && d.Queues > 0:
		return []string{d.Name}
	case !transfers(n):
		return []string{""}
	}
	if from := c.keepers(spaceName(n.Args[0].Type), func(d *target.Descriptor) string { return d.Name }); from != nil {
		return from
	}
	if to := c.keepers(spaceName(n.Result().Type), copyQueue); to != nil {
		return to
	}
	return []string{""}
}

// keepers returns the queues of the targets whose results go into a space that is not the
// host's, or if there are none, of those that address it.
func (c *checker) keepers(space string, queue func(*target.Descriptor) string) (at []string) {
	var home []string
	for _, d := range c.targets.All() {
		switch {
		case space == target.Host || d.Queues == 0 || !d.Addresses(space):
		case d.Home() == space:
			home = append(home, queue(d))
		default:
			at = append(at, queue(d))
		}
	}
	if home != nil {
		return home
	}
	return at
}

// slots claims: a value with several instances owns its bytes, among the activations, all
// instances lie in its chunk, and there is a queue that could be late with it.
func (c *checker) slots(n *ir.Node) {
	for _, v := range n.Results {
		if v.Source() != nil || v.Place == nil || c.class(*v.Place) != ir.ClassActivations {
			c.fail(RuleQueue, n, "%v has %d instances, and is no value of its own among the activations", v, n.Submit.Slots)
			return
		}
		a := &c.m.Plan.Arenas[v.Place.Arena]
		last := v.Place.Offset + int64(v.Slots()-1)*a.Stride(v.Place)
		if end := last + v.Place.Bytes; end > a.Chunks[v.Place.Chunk] {
			c.fail(RuleQueue, n, "the last of %d instances of %v ends at %#x, its chunk at %#x", v.Slots(), v, end, a.Chunks[v.Place.Chunk])
		}
	}
}

// hostWaits claims: the host waits only where it takes over: before the first node that it
// runs of a split. That a barrier stands there too is checked where the calls are run.
func (c *checker) hostWaits(f *ir.Func) {
	last := -1 // the split of the host's node before
	for _, n := range f.Nodes {
		if !works(n) || n.Op == ir.OpRepeat {
			continue
		}
		if n.Queue() != "" {
			continue
		}
		if waits(n) && n.Split == last {
			c.fail(RuleQueue, n, "the host waits, in the middle of split %d", n.Split)
		}
		last = n.Split
	}
}

// waits reports whether a node waits for events.
func waits(n *ir.Node) bool { return n.Submit != nil && len(n.Submit.Waits) > 0 }

// events claims: every event of an entry point is recorded by one node, every wait names
// one of them, and only queues that can record and wait for events meet in one.
func (c *checker) events(f *ir.Func) {
	by := make(map[int]*ir.Node)
	eachSubmitted(f, func(n *ir.Node) {
		e := n.Submit.Event
		switch {
		case e == 0:
		case e < 0:
			c.fail(RuleQueue, n, "records event %d", e)
		case by[e] != nil:
			c.fail(RuleQueue, n, "records event %d, as %v does", e, by[e])
		default:
			by[e] = n
		}
	})
	eachSubmitted(f, func(n *ir.Node) {
		for _, w := range n.Submit.Waits {
			if by[w.Event] == nil {
				c.fail(RuleQueue, n, "waits for event %d, which nothing records", w.Event)
				continue
			}
			c.canWait(n, by[w.Event])
		}
	})
}

// canWait checks that the queue of a node can wait for that of the node before.
func (c *checker) canWait(n, before *ir.Node) {
	if n.Queue() == "" {
		return // the host waits for queues without events until they are empty
	}
	for _, end := range []*ir.Node{n, before} {
		if q, known := c.queues[end.Queue()]; known && !q.of.Events {
			c.fail(RuleQueue, n, "queue %s waits for %v on %s, and %s has no events: only the host can wait", n.Queue(), before, onQueue(before.Queue()), q.of.Name)
			return
		}
	}
}

// eachSubmitted calls do for the nodes of f and its bodies that say how they are submitted.
func eachSubmitted(f *ir.Func, do func(n *ir.Node)) {
	for _, n := range f.Nodes {
		if n.Submit != nil {
			do(n)
		}
		if n.Body != nil {
			eachSubmitted(n.Body, do)
		}
	}
}

// describe names a step of the trace and where it runs.
func (t *trace) describe(at int32) string {
	st := &t.steps[at]
	where := "host"
	if q := st.node.Queue(); q != "" {
		where = q
	}
	return fmt.Sprintf("%v of @%v (%s)", st.node, st.frame, where)
}
