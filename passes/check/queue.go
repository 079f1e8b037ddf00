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

// mainQueue returns the name of a target's first queue, as docs/explanation/queues.md says; empty if it
// has none.
func mainQueue(d *target.Descriptor) string {
	if d.Queues > 0 {
		return d.Name
	}
	return ""
}

// copyQueue returns the name of a target's queue for copies into its spaces: its second
// queue, or the only one.
func copyQueue(d *target.Descriptor) string {
	if d.Queues > 1 {
		return d.Name + ".in"
	}
	return mainQueue(d)
}

// queuesOf returns the queues of all targets, by name.
func queuesOf(targets *target.List) map[string]queue {
	list := make(map[string]queue)
	for _, d := range targets.All() {
		if d.Queues > 0 {
			list[mainQueue(d)] = queue{of: d}
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
// it, and instances of its result are bytes of its own. At a repeat the host may wait.
func (c *checker) submission(n *ir.Node) {
	switch s := n.Submit; {
	case n.Op == ir.OpRepeat:
		if s != nil && (s.Queue != "" || s.Slots > 1 || s.Event != 0) {
			c.fail(RuleQueue, n, "is submitted, and does no work of its own")
		}
	case !works(n):
		if s != nil && !isSlotsOnly(n) {
			c.fail(RuleQueue, n, "is submitted, and does no work")
		}
	case c.backend(n) == nil: // reach says so
	case s == nil && c.m.Props&ir.PropQueued == 0: // nobody has asked for queues: the host waits for each node
	default:
		c.submitted(n)
	}
}

func (c *checker) submitted(n *ir.Node) {
	if !c.mayQueue(n) {
		c.fail(RuleQueue, n, "is on %s, and belongs on %s", onQueue(n.Queue()), onQueue(c.queuesFor(n)[0]))
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

// route is between which spaces a target copies.
type route struct{ backend, from, to string }

// mayQueue reports whether a node is on one of the queues for it.
func (c *checker) mayQueue(n *ir.Node) bool {
	if !transfers(n) {
		return n.Queue() == mainQueue(c.backend(n))
	}
	r := route{n.Backend, n.Args[0].Type.Space, n.Result().Type.Space}
	queues, known := c.routes[r]
	if !known {
		queues = c.queuesFor(n)
		c.routes[r] = queues
	}
	return slices.Contains(queues, n.Queue())
}

// queuesFor returns the queues that may run a node. A copy between spaces is for a target
// that has its source. Out of the host's memory it is for the target that wants it, or else
// for one that has its destination.
func (c *checker) queuesFor(n *ir.Node) []string {
	d := c.backend(n)
	if !transfers(n) {
		return []string{mainQueue(d)}
	}
	from, to := spaceName(n.Args[0].Type), spaceName(n.Result().Type)
	switch {
	case !c.isHost(from):
		return c.keepers(from, mainQueue)
	case d.Queues == 0 && !c.isHost(to):
		return c.keepers(to, copyQueue)
	}
	return []string{copyQueue(d)}
}

// isHost reports whether a space is the host's memory: a target without queues addresses
// it, whose nodes the host runs.
func (c *checker) isHost(space string) bool {
	return slices.ContainsFunc(c.targets.All(), func(d *target.Descriptor) bool { return d.Queues == 0 && d.Addresses(space) })
}

// keepers returns the queues of those whose results go into a space, or if there are none,
// of all targets that address it.
func (c *checker) keepers(space string, queue func(*target.Descriptor) string) []string {
	var home, all []string
	for _, d := range c.targets.All() {
		if !d.Addresses(space) {
			continue
		}
		if all = append(all, queue(d)); d.Home() == space {
			home = append(home, queue(d))
		}
	}
	if home != nil {
		return home
	}
	return append(all, "")
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
		room := a.Chunks[v.Place.Chunk] - v.Place.Offset - v.Place.Bytes
		if more := int64(v.Slots() - 1); a.Stride(v.Place) > 0 && more > room/a.Stride(v.Place) {
			c.fail(RuleQueue, n, "there are %d instances of %v, %d bytes apart, and %d bytes behind the first", v.Slots(), v, a.Stride(v.Place), room)
		}
	}
}

// events claims: every event of an entry point is recorded by one node, and every wait
// names one of them.
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
			}
		}
	})
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
