package pipeline

import (
	"cmp"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Sync orders what runs on different queues, and on the host, where bytes demand it.
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
// Cost: O(nodes * (queues + log of the ranges)). docs/explanation/queues.md has the model.
var Sync = pass.Pass{
	Name:     "sync",
	Doc:      "order queues by events",
	Run:      synchronize,
	Required: true,
	Needs:    ir.PropQueued | ir.PropPartitioned | ir.PropPlaced,
	Gives:    ir.PropSynced,
	Breaks:   ir.PropChecked,
	Rules: []pass.Rule{
		{Name: pass.RuleSyncRAW, Doc: "it reads what a node on another queue writes: it waits for that one"},
		{Name: pass.RuleSyncWAR, Doc: "it overwrites what a node on another queue reads: it waits for that one"},
		{Name: pass.RuleSyncWAW, Doc: "it overwrites what a node on another queue writes: it waits for that one"},
	},
}

func synchronize(c *pass.Context, m *ir.Module) error {
	for _, f := range m.Funcs {
		if !HasQueues(f) {
			continue
		}
		w := NewClockwork(c.Targets, f, flow.NewNumbering(f), m.Plan.Pipeline > 1)
		w.Touched = newPlacedBytes(m, w.Layout)
		w.Walk()
		if w.Layout.again {
			forget(f)
		}
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

// HasQueues reports whether some node of f, or of a body in it, runs on a queue.
func HasQueues(f *ir.Func) bool {
	return slices.ContainsFunc(f.Nodes, func(n *ir.Node) bool {
		return n.Queue() != "" || n.Body != nil && HasQueues(n.Body)
	})
}

// Clockwork finds out which nodes have to wait for which.
type Clockwork struct {
	targets *target.List
	Layout  *layout
	Queues  []queue // 0 is the host
	Touched toucher

	clocks []clock     // by queue: which nodes have ended when its next one begins
	ended  []int32     // by place: the number of a clock that was kept, see end; 0 for none
	kept   [][]int32   // clocks, so many in a block
	many   int32       // how many were kept
	last   [][]int32   // by step and the number of the node: its last place, counted from 1
	waiter []int32     // by the number of the node: its list in waits, counted from 1; 0 for none
	waits  [][]waitFor // those of a node in the order in which they were found
	needs  Demands     // of what is about to begin
}

// perBlock is how many clocks are kept in a block.
const perBlock = 1024

// queue is a queue, or, as the first of all, the host.
type queue struct {
	name   string
	events bool
	last   int32 // the last place that was submitted; none
}

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
	demand
	prev bool
}

// demand is a place that has to have ended before another one begins, and why.
type demand struct {
	at   int32
	rule pass.RuleName
	by   *ir.Node
}

// Demands are the last place of each queue that has to have ended before others begin.
type Demands struct {
	places []Place
	list   []demand // one for each queue at most
}

// follow adds that the place at has to follow another one.
func (d *Demands) follow(before int32, rule pass.RuleName, at int32) {
	p, q := &d.places[at], d.places[before].Queue
	if q == 0 || q == p.Queue {
		return // the host submits in order, and a queue works in order
	}
	now := demand{before, rule, p.node}
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

// toucher knows the bytes that nodes touch.
type toucher interface {
	// touch adds to needs every place that touched bytes which the node at a place touches,
	// one of them writing, and notes what this one touches.
	Touch(at int32, needs *Demands)
}

func NewClockwork(targets *target.List, f *ir.Func, numbers *flow.Numbering, twice bool) *Clockwork {
	w := &Clockwork{targets: targets, Layout: newLayout(f, numbers, twice)}
	w.number()
	for range w.Queues {
		w.clocks = append(w.clocks, slices.Repeat(clock{flow.None}, len(w.Queues)))
	}
	w.ended = make([]int32, len(w.Layout.Places))
	for range 1 + flow.BoolInt(twice) {
		w.last = append(w.last, make([]int32, w.Layout.numbers.Nodes))
	}
	w.waiter = make([]int32, w.Layout.numbers.Nodes)
	w.needs.places = w.Layout.Places
	return w
}

// number makes the queues that were laid out.
func (w *Clockwork) number() {
	for _, name := range w.Layout.queues {
		w.Queues = append(w.Queues, queue{name: name, events: name == "" || HasEvents(w.targets, name), last: flow.None})
	}
}

// Walk goes through the places in order: a node of a queue by itself, nodes of the host
// from one point where it may wait to the next.
func (w *Clockwork) Walk() {
	for at := 0; at < len(w.Layout.Places); {
		p := &w.Layout.Places[at]
		w.needs.list = w.needs.list[:0]
		if p.Queue == 0 {
			at = w.hostRun(at)
			continue
		}
		w.Touched.Touch(int32(at), &w.needs)
		w.await(p.node, int32(at))
		w.submit(int32(at))
		at++
	}
}

// hostRun deals with the nodes of the host from a place on, up to the next point where it
// may wait, and returns that.
func (w *Clockwork) hostRun(from int) int {
	places := w.Layout.Places
	to := from
	for to == from || to < len(places) && places[to].Queue == 0 && places[to].waits == nil {
		w.Touched.Touch(int32(to), &w.needs)
		to++
	}
	w.await(places[from].waits, int32(from))
	known := w.keep(w.clocks[0])
	for at := from; at < to; at++ {
		w.ended[at] = known
	}
	return to
}

// await lets the node at a place, or the host before it, wait for what is needed, as far as
// it does not do so already. The last ones come first: they may imply others.
func (w *Clockwork) await(n *ir.Node, at int32) {
	places := w.Layout.Places
	now := w.clocks[places[at].Queue]
	now.join(w.clocks[0])
	id := w.Layout.numbers.Node(n)
	for _, wait := range w.waitsOf(id) {
		w.pass(wait, at)
	}
	open := w.needs.list
	slices.SortFunc(open, func(a, b demand) int { return cmp.Compare(b.at, a.at) })
	for _, d := range open {
		if now[places[d.at].Queue] >= d.at {
			continue
		}
		wait := waitFor{d, places[d.at].step != places[at].step}
		w.addWait(id, wait)
		w.pass(wait, at)
	}
}

// waitsOf returns what the node with a number waits for; most wait for nothing.
func (w *Clockwork) waitsOf(id int) []waitFor {
	if i := w.waiter[id]; i > 0 {
		return w.waits[i-1]
	}
	return nil
}

// addWait lets the node with a number wait.
func (w *Clockwork) addWait(id int, wait waitFor) {
	if w.waiter[id] == 0 {
		w.waits = append(w.waits, nil)
		w.waiter[id] = int32(len(w.waits))
	}
	list := &w.waits[w.waiter[id]-1]
	*list = append(*list, wait)
}

// pass joins what is known once the node at a place has waited.
func (w *Clockwork) pass(wait waitFor, at int32) {
	step := w.Layout.Places[at].step
	if wait.prev {
		step--
	}
	if step < 0 {
		return // it was never recorded
	}
	before := &w.Layout.Places[wait.at]
	ended := w.recorded(before.Id, step)
	if ended == nil {
		return
	}
	waiter := w.Layout.Places[at].Queue
	w.clocks[waiter].join(ended)
	if !w.Queues[waiter].events || !w.Queues[before.Queue].events {
		w.clocks[0].join(ended)
	}
}

// recorded returns what is known once the last record of an event, of the node with a number, in a step has
// happened: where its queue has no events, that the queue is empty.
func (w *Clockwork) recorded(node int32, step int32) clock {
	at := w.last[step][node] - 1
	if at == flow.None {
		return nil
	}
	if q := &w.Queues[w.Layout.Places[at].Queue]; !q.events {
		at = q.last
	}
	return w.End(at)
}

// submit notes that the node at a place is on its queue.
func (w *Clockwork) submit(at int32) {
	p := &w.Layout.Places[at]
	w.Queues[p.Queue].last = at
	w.clocks[p.Queue][p.Queue] = at
	w.ended[at] = w.keep(w.clocks[p.Queue])
	w.last[p.step][p.Id] = at + 1
}

// keep keeps a clock as c is now, and returns its number.
func (w *Clockwork) keep(c clock) int32 {
	if w.many%perBlock == 0 {
		w.kept = append(w.kept, make([]int32, perBlock*len(c)))
	}
	w.many++
	copy(w.clock(w.many), c)
	return w.many
}

// clock returns the one that was kept under a number.
func (w *Clockwork) clock(number int32) clock {
	in, size := int(number-1)%perBlock, len(w.Queues)
	return w.kept[(number-1)/perBlock][in*size : (in+1)*size]
}

// End returns which nodes have ended when the one at a place has; for the host's, when it begins.
// It is nil where the walk has not been yet.
func (w *Clockwork) End(at int32) clock {
	if w.ended[at] == 0 {
		return nil
	}
	return w.clock(w.ended[at])
}

// write numbers the events in the order in which they are recorded and writes them and the
// waits into the nodes.
func (w *Clockwork) write(c *pass.Context) {
	w.writeEvents(c)
	sum := 0
	for i := range w.Layout.Places {
		p := &w.Layout.Places[i]
		switch {
		case p.Queue != 0:
			if w.waiter[p.Id] > 0 {
				sum += w.writeWaits(c, p.node)
			}
		case p.waits != nil:
			sum += w.writeWaits(c, p.waits)
		}
	}
	if sum > 0 {
		c.Count("waits", int64(sum))
	}
}

// writeEvents numbers the events of nodes that others wait for.
func (w *Clockwork) writeEvents(c *pass.Context) {
	awaited := make([]bool, w.Layout.numbers.Nodes)
	for _, waits := range w.waits {
		for _, wait := range waits {
			awaited[w.Layout.Places[wait.at].Id] = true
		}
	}
	events := 0
	for i := range w.Layout.Places {
		p := &w.Layout.Places[i]
		if at := &awaited[p.Id]; *at {
			*at = false
			events++
			p.node.Submitted().Event = events
		}
	}
	c.Count("events", int64(events))
}

// writeWaits writes the waits of n, once, and returns how many there are.
func (w *Clockwork) writeWaits(c *pass.Context, n *ir.Node) int {
	at := w.Layout.numbers.Node(n)
	waits := w.waitsOf(at)
	w.waiter[at] = 0
	if len(waits) == 0 {
		return 0
	}
	n.Submitted().Waits = make([]ir.Wait, len(waits))
	for i, wait := range waits {
		before := w.Layout.Places[wait.at].node
		n.Submit.Waits[i] = ir.Wait{Event: before.Submit.Event, Prev: wait.prev}
		c.Cause(n, wait.rule, before.String(), wait.by.String())
	}
	slices.SortFunc(n.Submit.Waits, func(a, b ir.Wait) int {
		return cmp.Or(flow.BoolInt(a.Prev)-flow.BoolInt(b.Prev), a.Event-b.Event)
	})
	return len(waits)
}
