package check

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Claim: every node that computes something is on the queue that can run it, and one worker submits it
// (docs/explanation/queues.md).
//
// A target with two queues, gpu, computes on queue "gpu" and copies into its memory on queue "gpu.in". In
//
//	%up = copy %a  : f32[2,64] @dev  on gpu  part=one  queue=gpu
//	%c  = silu %up : f32[2,64] @dev  on gpu  part=replicated queue=gpu
//
// the copy belongs on gpu.in, and each worker would submit %c.

// queue is a queue of a target. The queue for copies takes nothing else, and only into the target's spaces.
type queue struct {
	of       *target.Descriptor
	copiesIn bool
}

// mainQueue returns the name of a target's first queue; empty if it has none.
func mainQueue(d *target.Descriptor) string {
	if d.Queues > 0 {
		return d.Name
	}
	return ""
}

// copyQueue returns the name of a target's queue for copies into its spaces: its second queue, or the only one.
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

// submission checks the claim above for one node. A repeat is not submitted, but the host may wait before it.
func (c *checker) submission(n *ir.Node) {
	switch s := n.Submit; {
	case n.Op == ir.OpRepeat:
		if s != nil && (s.Queue != "" || s.Slots > 1 || s.Event != 0) {
			c.fail(RuleQueue, n, "is submitted, and does no work of its own")
		}
	case !works(n):
		if s != nil && !hasOnlyInstances(n) {
			c.fail(RuleQueue, n, "is submitted, and does no work")
		}
	case c.backend(n) == nil: // reach reports it
	case s == nil && c.m.Props&ir.PropQueued == 0: // a plan without queues: the host waits for each node
	default:
		c.submitted(n)
	}
}

// hasOnlyInstances reports whether n is an input of a foreign graph of which there are several instances, and is not
// submitted.
func hasOnlyInstances(n *ir.Node) bool {
	return n.Op == ir.OpForeign && n.Is(ir.Leaf) && n.Queue() == "" && len(n.Submit.Waits) == 0 && n.Submit.Event == 0
}

// submitted checks a node that computes something on a target that exists.
func (c *checker) submitted(n *ir.Node) {
	if queues := c.queuesFor(n); !slices.Contains(queues, n.Queue()) {
		c.fail(RuleQueue, n, "is on %s, and belongs on %s", onQueue(n.Queue()), onQueue(queues[0]))
	}
	if n.Queue() != "" && n.Part.Mode != ir.PartOne && n.Part.Mode != ir.PartNone {
		c.fail(RuleQueue, n, "is on queue %s, and has the partition %v", n.Queue(), n.Part.Mode)
	}
	if n.Submit != nil && n.Submit.Slots > 1 {
		c.instancesFit(n)
	}
}

// onQueue describes a queue in a message.
func onQueue(name string) string {
	if name == "" {
		return "no queue"
	}
	return "queue " + name
}

// queuesFor returns the queues that may run a node. A copy between spaces is for a target that has its source. Out of
// the host's memory it is for the target that reads the copy, or else for one that has its destination. If one of two
// devices is staged, neither copies out of the other's memory: if the one with the source has no queue, the host waits.
func (c *checker) queuesFor(n *ir.Node) []string {
	d := c.backend(n)
	if !transfers(n) {
		return []string{mainQueue(d)}
	}
	from, to := spaceName(n.Args[0].Type), spaceName(n.Result().Type)
	switch {
	case !c.targets.HostReads(from) && slices.ContainsFunc(c.targets.All(), func(t *target.Descriptor) bool {
		return t.Home() == from && t.Queues == 0 && (t.Staged || d.Staged)
	}):
		return []string{""}
	case !c.isHost(from):
		return c.queuesAt(from, mainQueue)
	case d.Queues == 0 && !c.isHost(to):
		return c.queuesAt(to, copyQueue)
	}
	return []string{copyQueue(d)}
}

// isHost reports whether a space is the host's memory: a target without queues, whose nodes the host runs, addresses
// it.
func (c *checker) isHost(space string) bool {
	return slices.ContainsFunc(c.targets.All(), func(d *target.Descriptor) bool {
		return d.Queues == 0 && d.Addresses(space)
	})
}

// queuesAt returns the queues of the targets whose results are in a space. If there are none, it returns those of all
// targets that address it, and the host.
func (c *checker) queuesAt(space string, queue func(*target.Descriptor) string) []string {
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

// instancesFit claims: a value with several instances owns its bytes, among the activations, and all instances are
// inside of its chunk.
func (c *checker) instancesFit(n *ir.Node) {
	for _, v := range n.Results {
		if v.Source() != nil || v.Place == nil || c.class(*v.Place) != ir.ClassActivations {
			c.fail(RuleQueue, n, "%v has %d instances, and is no value of its own among the activations", v, n.Submit.Slots)
			return
		}
		a := &c.m.Plan.Arenas[v.Place.Arena]
		room, stride := a.Chunks[v.Place.Chunk]-v.Place.Offset-v.Place.Bytes, a.Stride(v.Place)
		if stride > 0 && int64(v.Slots()-1) > room/stride {
			c.fail(RuleQueue, n, "there are %d instances of %v, %d bytes apart, and %d bytes after the first",
				v.Slots(), v, stride, room)
		}
	}
}

// Claim: every event of an entry point is recorded by one node, and every wait names an event that is recorded. (That
// the waits are the right ones is the claim of race.go.)
//
// In
//
//	%up = copy %a  queue=gpu.in event=1
//	%c  = silu %up queue=gpu    wait=[2]
//
// nothing records event 2. If %c recorded event 1 as well, a wait for it would be ambiguous.

// events checks the claim above for an entry point and its bodies.
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

// eachSubmitted calls do for the nodes of f and its bodies that record how they are submitted.
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
