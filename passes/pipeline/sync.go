package pipeline

import (
	"cmp"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// Sync orders what runs on different queues, and on the host, where they touch the same bytes.
//
// Before: every value has an address, every node its queue. After: if two nodes of different queues touch common bytes
// and one of them writes, the second begins when the first has ended, in every iteration of a repeat and in steps that
// are under way together.
//
// Not earlier: where pass plan uses memory again, nodes have to keep their order, as they do for data flow. Not later:
// the proof needs the events.
//
// Each entry point is laid out as it is submitted (Layout) and walked once with a clock for each queue (Clocks), which
// finds the waits that are needed. Then they are written into the nodes, and an event for each node that is waited for.
// Last, nodes of one queue that do not touch what others write are allowed to run at the same time, if the target can
// do this: see together.
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
		{Name: pass.RuleSyncRAW, Doc: "it waits for a node on another queue, as it reads what that writes"},
		{Name: pass.RuleSyncWAR, Doc: "it waits for a node on another queue, as it overwrites what that reads"},
		{Name: pass.RuleSyncWAW, Doc: "it waits for a node on another queue, as it overwrites what that writes"},
		{Name: pass.RuleSyncTogether, Doc: "it may run at the same time as the node, which its queue runs before it: neither touches what the other one writes"},
	},
}

func synchronize(c *pass.Context, m *ir.Module) error {
	for _, f := range m.Funcs {
		if !HasQueues(f) {
			continue
		}
		layout := NewLayout(f, m.Plan.Pipeline)
		memory := newMemory(m, layout)
		waits := Walk(c.Targets, layout, memory).waits
		removeWaits(f)
		writeEvents(c, layout, waits)
		writeWaits(c, layout, waits)
		runTogether(c, memory, f, nil)
	}
	return nil
}

// removeWaits removes the order among queues of f and the bodies in it. A module that was read from text may have some.
func removeWaits(f *ir.Func) {
	for _, n := range f.Nodes {
		if n.Submit != nil {
			n.Submit.Event, n.Submit.Waits, n.Submit.Concurrent = 0, nil, false
		}
		if n.Body != nil {
			removeWaits(n.Body)
		}
	}
}

// writeEvents numbers the events of the nodes that others wait for, in the order in which they are recorded first.
func writeEvents(c *pass.Context, l *Layout, waits map[*ir.Node][]wait) {
	awaited := make(map[*ir.Node]bool)
	for _, list := range waits {
		for _, w := range list {
			awaited[l.Places[w.at].Node] = true
		}
	}
	events := 0
	for i := range l.Places {
		if n := l.Places[i].Node; awaited[n] {
			delete(awaited, n)
			events++
			n.Submitted().Event = events
		}
	}
	c.Count("events", int64(events))
}

// writeWaits writes the waits into the nodes that have them.
func writeWaits(c *pass.Context, l *Layout, waits map[*ir.Node][]wait) {
	sum := 0
	written := make(map[*ir.Node]bool)
	for i := range l.Places {
		n := l.Places[i].waits // may be nil: the host does not wait here
		if l.Places[i].Queue != host {
			n = l.Places[i].Node
		}
		list := waits[n]
		if len(list) == 0 || written[n] {
			continue
		}
		written[n] = true
		sum += len(list)
		s := n.Submitted()
		for _, w := range list {
			before := l.Places[w.at].Node
			s.Waits = append(s.Waits, ir.Wait{Event: before.Submit.Event, Prev: w.prev})
			c.Cause(n, w.rule, before.String(), w.by.String())
		}
		slices.SortFunc(s.Waits, func(a, b ir.Wait) int {
			return cmp.Or(flow.BoolInt(a.Prev)-flow.BoolInt(b.Prev), a.Event-b.Event)
		})
	}
	if sum > 0 {
		c.Count("waits", int64(sum))
	}
}
