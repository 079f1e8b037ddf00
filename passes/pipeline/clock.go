package pipeline

import (
	"cmp"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Clock has for each queue the last place whose node has ended for certain. Nodes of the queue before it have ended
// too, because a queue works in order. It is none for a queue of which nothing is known.
type Clock []int

// none is the place of no node.
const none = -1

// join adds what d knows.
func (c Clock) join(d Clock) {
	for q, at := range d {
		c[q] = max(c[q], at)
	}
}

// Clocks are the clocks of an entry point, and the waits that they show to be needed.
//
// When a node begins, its queue knows what the host knew when it submitted the node, what the nodes of the queue before
// it knew, and what the queue has waited for. A node waits for another one only if its queue does not know yet that the
// other has ended. If a node needs several others, it waits for the last one first, because that may imply the rest.
//
// An example with a device and its queue for copies. Each line has the clocks after the place, as gpu.in/gpu:
//
//	place  queue   node                      waits for   host   gpu.in   gpu
//	0      gpu.in  %i = copy %x              -           -/-    0/-      -/-
//	1      gpu     %a = silu %i              0           -/-    0/-      0/1
//	2      gpu     %b = gelu %i              -           -/-    0/-      0/2
//	3      host    %y = neg %b               2           0/2    0/-      0/2
//	4      gpu.in  %j = copy %z, over %i     -           0/2    4/2      0/2
//
// Place 2 does not wait, because its queue already knows that 0 has ended. Place 4 overwrites what 1 and 2 read, but it
// does not wait either, because the host has waited for 2 before it submits 4.
type Clocks struct {
	layout *Layout
	queues []queueState
	ended  []Clock            // by place, see Ended
	last   []map[*ir.Node]int // by step: the last place so far of each node that runs on a queue
	waits  map[*ir.Node][]wait
}

// queueState is the state of a queue during the walk.
type queueState struct {
	hasEvents bool
	knows     Clock // when its next node begins
	last      int   // its last place so far
}

// wait is a wait of a node, or of the host before a node, for the end of another one.
type wait struct {
	demand
	prev bool // for the node in the step before
}

// demand is a place that has to end before another one begins, and why.
type demand struct {
	at   int
	rule pass.RuleName
	by   *ir.Node // of the place that begins
}

// Demands are places that have to end before a node, or a run of nodes of the host, begins. Of each queue the last such
// place is enough.
type Demands struct {
	places []Place
	list   []demand // at most one for each queue
}

// add demands that place before ends before place at begins. Places of one queue are in order anyway. Nothing waits for
// the host either: it submits a node after it has run those before.
func (d *Demands) add(before int, rule pass.RuleName, at int) {
	begins, q := &d.places[at], d.places[before].Queue
	if q == host || q == begins.Queue {
		return
	}
	now := demand{before, rule, begins.Node}
	for i := range d.list {
		if old := &d.list[i]; d.places[old.at].Queue == q {
			if old.at < before {
				*old = now
			}
			return
		}
	}
	d.list = append(d.list, now)
}

// Bytes knows which bytes nodes touch, and who touched them before.
type Bytes interface {
	// Touch adds to d every place that the node at place at has to follow: it touched some of the same bytes, and one
	// of the two writes. Then it records what the node at this place touches. Places come in order.
	Touch(at int, d *Demands)
}

// Walk walks a layout in order and finds the waits that the bytes demand. A node of a queue waits by itself. The nodes
// of the host wait together, at the place where their run begins.
func Walk(targets *target.List, l *Layout, bytes Bytes) *Clocks {
	c := &Clocks{layout: l, ended: make([]Clock, len(l.Places)), waits: make(map[*ir.Node][]wait)}
	for i, name := range l.Queues {
		q := queueState{hasEvents: i == host || HasEvents(targets, name), last: none}
		q.knows = slices.Repeat(Clock{none}, len(l.Queues))
		c.queues = append(c.queues, q)
	}
	for range l.steps {
		c.last = append(c.last, make(map[*ir.Node]int))
	}
	for at := 0; at < len(l.Places); {
		if l.Places[at].Queue == host {
			at = c.runHost(at, bytes)
			continue
		}
		needs := &Demands{places: l.Places}
		bytes.Touch(at, needs)
		c.await(l.Places[at].Node, at, needs)
		c.submit(at)
		at++
	}
	return c
}

// Queues returns how many queues there are, the host included.
func (c *Clocks) Queues() int { return len(c.queues) }

// Ended returns what is known to have ended when the node at a place has ended; for a node of the host, when it begins.
func (c *Clocks) Ended(at int) Clock { return c.ended[at] }

// runHost runs the nodes of the host from a place on, up to the next place where it may wait, and returns that.
func (c *Clocks) runHost(from int, bytes Bytes) int {
	places := c.layout.Places
	needs := &Demands{places: places}
	to := from
	for to == from || to < len(places) && places[to].Queue == host && places[to].waits == nil {
		bytes.Touch(to, needs)
		to++
	}
	c.await(places[from].waits, from, needs)
	knows := slices.Clone(c.queues[host].knows)
	for at := from; at < to; at++ {
		c.ended[at] = knows
	}
	return to
}

// submit puts the node at a place on its queue.
func (c *Clocks) submit(at int) {
	p := &c.layout.Places[at]
	q := &c.queues[p.Queue]
	q.last, q.knows[p.Queue] = at, at // it has ended when the next node of the queue begins
	c.ended[at] = slices.Clone(q.knows)
	c.last[p.step][p.Node] = at
}

// await makes the queue of a place wait for what it needs and does not know yet. n is the node that has the waits. If
// this is a later iteration, or the second step, n may have waits already. The queue waits for these first.
func (c *Clocks) await(n *ir.Node, at int, needs *Demands) {
	places := c.layout.Places
	knows := c.queues[places[at].Queue].knows
	knows.join(c.queues[host].knows)
	for _, w := range c.waits[n] {
		c.carryOut(w, at)
	}
	slices.SortFunc(needs.list, func(a, b demand) int { return cmp.Compare(b.at, a.at) })
	for _, d := range needs.list {
		if knows[places[d.at].Queue] >= d.at {
			continue
		}
		w := wait{d, places[d.at].step != places[at].step}
		c.waits[n] = append(c.waits[n], w)
		c.carryOut(w, at)
	}
}

// carryOut adds what the queue of a place knows after a wait. If one of the two queues has no events, the host waits
// instead, before it submits the node.
func (c *Clocks) carryOut(w wait, at int) {
	step := c.layout.Places[at].step
	if w.prev {
		step--
	}
	if step < 0 {
		return // there was no step before: nothing was recorded
	}
	ended := c.recorded(c.layout.Places[w.at].Node, step)
	waiter, awaited := &c.queues[c.layout.Places[at].Queue], &c.queues[c.layout.Places[w.at].Queue]
	waiter.knows.join(ended)
	if !waiter.hasEvents || !awaited.hasEvents {
		c.queues[host].knows.join(ended)
	}
}

// recorded returns what is known after the last record of a node's event in a step; nil if there is none yet. A queue
// without events is waited for until it is empty.
func (c *Clocks) recorded(n *ir.Node, step int) Clock {
	at, found := c.last[step][n]
	if !found {
		return nil
	}
	if q := &c.queues[c.layout.Places[at].Queue]; !q.hasEvents {
		at = q.last
	}
	return c.ended[at]
}
