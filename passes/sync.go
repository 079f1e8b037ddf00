package passes

import (
	"cmp"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
)

// syncPass orders what runs on different queues, and on the host, where bytes demand it.
//
// Before: every value has an address, every node its queue. After: wherever two nodes of
// different queues touch common bytes, one of them writing, the second begins when the
// first has ended, in every round of a repeat and in steps that are under way together.
//
// Not earlier: memory that is used again orders nodes as data flow does. Not later: the
// proof needs the events.
//
// Each entry point is laid out as it is submitted (sync_layout.go) and walked once. A clock
// per queue says which nodes of each other queue have ended for certain: what the host had
// waited for when it submitted, and what the queue waited for itself. A node waits for
// another one only where its clock does not say so already; where it needs several, those
// that another one implies are left out. Events are recorded only where they are waited
// for.
//
// Cost: O(nodes * (queues + log of the ranges)). docs/queues.md has the model.
var syncPass = Pass{
	Name:     "sync",
	Doc:      "order queues by events",
	Run:      synchronize,
	Required: true,
	Needs:    ir.PropQueued | ir.PropPartitioned | ir.PropPlaced,
	Gives:    ir.PropSynced,
	Rules: []Rule{
		{ruleRAW, "it reads what a node on another queue writes: it waits for that one"},
		{ruleWAR, "it overwrites what a node on another queue reads: it waits for that one"},
		{ruleWAW, "it overwrites what a node on another queue writes: it waits for that one"},
	},
}

const (
	ruleRAW = "q.raw"
	ruleWAR = "q.war"
	ruleWAW = "q.waw"
)

func synchronize(c *Context, m *ir.Module) error {
	for _, f := range m.Funcs {
		if !hasQueues(f) {
			continue
		}
		forget(f)
		w := newClockwork(c.Targets, f, m.Plan.Pipeline > 1)
		w.touched = newPlacedBytes(m, w.layout)
		w.walk()
		w.write(c)
	}
	return nil
}

// forget removes the events and waits of f and the bodies in it: a text that is read may have
// some already.
func forget(f *ir.Func) {
	for _, n := range f.Nodes {
		if n.Submit != nil {
			n.Submit.Event, n.Submit.Waits = 0, nil
		}
		if n.Body != nil {
			forget(n.Body)
		}
	}
}

// hasQueues reports whether some node of f, or of a body in it, runs on a queue.
func hasQueues(f *ir.Func) bool {
	return slices.ContainsFunc(f.Nodes, func(n *ir.Node) bool {
		return n.Queue() != "" || n.Body != nil && hasQueues(n.Body)
	})
}

// clockwork finds out which nodes have to wait for which.
type clockwork struct {
	targets *target.List
	layout  *layout
	queues  []queue // 0 is the host
	touched toucher

	clocks []clock // by queue: which nodes have ended when its next one begins
	ended  []clock // by place: those that have when this one has; for the host's, when it begins
	last   map[*ir.Node][2]int32
	waits  map[*ir.Node][]waitFor // in the order in which they were found
}

// queue is a queue, or, as the first of all, the host.
type queue struct {
	name   string
	events bool
	last   int32 // the last place that was submitted; none
}

// none is the place of no node.
const none = int32(-1)

// clock says for each queue the last place whose node has ended; those before it have too.
type clock []int32

// join adds what d knows.
func (c clock) join(d clock) {
	for q, at := range d {
		c[q] = max(c[q], at)
	}
}

// waitFor is a wait for the end of a node, of this step or of the one before.
type waitFor struct {
	node *ir.Node
	prev bool
	why  demand
}

// demand is a place that has to have ended before another one begins, and why.
type demand struct {
	at   int32
	rule string
	by   *ir.Node
}

// toucher knows the bytes that nodes touch.
type toucher interface {
	// touch calls found for every place that touched bytes which the node at a place
	// touches, one of them writing, and notes what this one touches.
	touch(at int32, found func(before int32, rule string))
}

func newClockwork(targets *target.List, f *ir.Func, twice bool) *clockwork {
	w := &clockwork{targets: targets, last: make(map[*ir.Node][2]int32), waits: make(map[*ir.Node][]waitFor)}
	w.queues = append(w.queues, queue{last: none, events: true})
	w.layout = newLayout(f, twice)
	w.number()
	for range w.queues {
		w.clocks = append(w.clocks, slices.Repeat(clock{none}, len(w.queues)))
	}
	w.ended = make([]clock, len(w.layout.places))
	return w
}

// number gives queues their numbers, in the order of their first nodes.
func (w *clockwork) number() {
	index := map[string]int32{"": 0}
	for i := range w.layout.places {
		p := &w.layout.places[i]
		q, known := index[p.node.Queue()]
		if !known {
			q = int32(len(w.queues))
			index[p.node.Queue()] = q
			w.queues = append(w.queues, queue{name: p.node.Queue(), events: hasEvents(w.targets, p.node.Queue()), last: none})
		}
		p.queue = q
	}
}

// walk goes through the places in order: a node of a queue by itself, nodes of the host
// from one point where it may wait to the next.
func (w *clockwork) walk() {
	for at := 0; at < len(w.layout.places); {
		p := &w.layout.places[at]
		if p.queue == 0 {
			at = w.hostRun(at)
			continue
		}
		needs := make([]demand, len(w.queues))
		w.collect(int32(at), needs)
		w.await(p.node, int32(at), needs)
		w.submit(int32(at))
		at++
	}
}

// hostRun deals with the nodes of the host from a place on, up to the next point where it
// may wait, and returns that.
func (w *clockwork) hostRun(from int) int {
	places := w.layout.places
	to := from
	needs := make([]demand, len(w.queues))
	for to == from || to < len(places) && places[to].queue == 0 && places[to].waits == nil {
		w.collect(int32(to), needs)
		to++
	}
	w.await(places[from].waits, int32(from), needs)
	known := slices.Clone(w.clocks[0])
	for at := from; at < to; at++ {
		w.ended[at] = known
	}
	return to
}

// collect adds to needs, by queue, the last place that the one at a place has to follow.
func (w *clockwork) collect(at int32, needs []demand) {
	p := &w.layout.places[at]
	w.touched.touch(at, func(before int32, rule string) {
		q := w.layout.places[before].queue
		if q == 0 || q == p.queue {
			return // the host submits in order, and a queue works in order
		}
		if needs[q].by == nil || needs[q].at < before {
			needs[q] = demand{before, rule, p.node}
		}
	})
}

// await lets the node at a place, or the host before it, wait for what is needed, as far as
// it does not do so already. The last ones come first: they may imply others.
func (w *clockwork) await(n *ir.Node, at int32, needs []demand) {
	waiter := w.layout.places[at].queue
	now := w.clocks[waiter]
	now.join(w.clocks[0])
	for _, wait := range w.waits[n] {
		w.pass(wait, at)
	}
	open := slices.DeleteFunc(needs, func(d demand) bool { return d.by == nil })
	slices.SortFunc(open, func(a, b demand) int { return cmp.Compare(b.at, a.at) })
	for _, d := range open {
		before := &w.layout.places[d.at]
		if now[before.queue] >= d.at {
			continue
		}
		wait := waitFor{before.node, before.step != w.layout.places[at].step, d}
		w.waits[n] = append(w.waits[n], wait)
		w.pass(wait, at)
	}
}

// pass joins what is known once the node at a place has waited.
func (w *clockwork) pass(wait waitFor, at int32) {
	step := w.layout.places[at].step
	if wait.prev {
		step--
	}
	if step < 0 {
		return // it was never recorded
	}
	ended := w.recorded(wait.node, step)
	if ended == nil {
		return
	}
	waiter := w.layout.places[at].queue
	w.clocks[waiter].join(ended)
	if !w.queues[waiter].events || !w.queues[w.queueOf(wait.node)].events {
		w.clocks[0].join(ended)
	}
}

// recorded returns what is known once the last record of a node's event in a step has
// happened: where its queue has no events, that the queue is empty.
func (w *clockwork) recorded(n *ir.Node, step int) clock {
	places, ok := w.last[n]
	if !ok || places[step] == 0 {
		return nil
	}
	at := places[step] - 1
	if q := &w.queues[w.layout.places[at].queue]; !q.events {
		at = q.last
	}
	return w.ended[at]
}

// queueOf returns the number of the queue that runs n.
func (w *clockwork) queueOf(n *ir.Node) int32 {
	places := w.last[n]
	return w.layout.places[max(places[0], places[1])-1].queue
}

// submit notes that the node at a place is on its queue.
func (w *clockwork) submit(at int32) {
	p := &w.layout.places[at]
	w.queues[p.queue].last = at
	w.clocks[p.queue][p.queue] = at
	w.ended[at] = slices.Clone(w.clocks[p.queue])
	places := w.last[p.node]
	places[p.step] = at + 1
	w.last[p.node] = places
}

// write numbers the events in the order in which they are recorded and writes them and the
// waits into the nodes.
func (w *clockwork) write(c *Context) {
	awaited := make(map[*ir.Node]bool)
	for _, waits := range w.waits {
		for _, wait := range waits {
			awaited[wait.node] = true
		}
	}
	events := 0
	for i := range w.layout.places {
		if n := w.layout.places[i].node; awaited[n] {
			delete(awaited, n)
			events++
			n.Submitted().Event = events
		}
	}
	for n, waits := range w.waits {
		for _, wait := range waits {
			n.Submitted().Waits = append(n.Submitted().Waits, ir.Wait{Event: wait.node.Submit.Event, Prev: wait.prev})
			c.Cause(n, wait.why.rule, wait.node.String(), wait.why.by.String())
		}
		slices.SortFunc(n.Submit.Waits, func(a, b ir.Wait) int {
			return cmp.Or(boolInt(a.Prev)-boolInt(b.Prev), a.Event-b.Event)
		})
		c.Count("waits", int64(len(waits)))
	}
	c.Count("events", int64(events))
}
