package readback

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// gap is what happens between two nodes that do work: waits, barriers, the heads of iterations.
type gap struct {
	w    *walker
	node *ir.Node // that comes after; nil at the end

	host  []string     // what the host has to wait for before the barrier, if one is due
	own   []string     // what has to be waited for before the node is submitted
	empty map[int]bool // queues that have to be empty: of these the host's
	later map[int]bool // and these before the submission
	spare map[int]int  // how often each queue may be waited for

	barriers, heads int
	unmet           []string // what the host had not waited for at the last barrier
}

// gap demands what has to happen before a node, and nothing else. The order is the one that check
// assumes: the host waits, then all workers meet, then the node begins. A queue of a device
// without queues of its own is empty before workers meet.
func (w *walker) gap(n *ir.Node, at site) {
	g := w.newGap(n)
	g.demand(at.queue)
	for ; w.at < len(w.events) && g.takes(&w.events[w.at]); w.at++ {
	}
	g.close()
	for q := range w.busy {
		if !at.waits || q != at.queue {
			w.fail(n, "the host does not wait until queue %d is empty", q)
		}
	}
	switch {
	case w.c.facts.Profile && at.queue < 0:
		var share *shareLoop
		if w.at < len(w.events) {
			share = w.events[w.at].share
		}
		w.marked(fmt.Sprintf("%s %s %s", n.Func.Name, n.Op, n), share)
	case w.afterMark():
		w.fail(n, "a mark before what a device does")
	}
}

// newGap returns the gap before a node. Each queue that is busy may be waited for once.
func (w *walker) newGap(n *ir.Node) *gap {
	g := &gap{w: w, node: n, empty: make(map[int]bool), later: make(map[int]bool), spare: make(map[int]int)}
	for q := range w.busy {
		g.spare[q]++
	}
	return g
}

// afterMark reports whether the event before is a mark.
func (w *walker) afterMark() bool { return w.at > 0 && w.events[w.at-1].kind == markEvent }

// demand notes the events that have to have happened.
func (g *gap) demand(queue int) {
	for _, e := range g.w.waits {
		g.demandOf(e, &g.host, g.empty, -1)
	}
	if g.node == nil || g.node.Submit == nil {
		return
	}
	for _, e := range g.node.Submit.Waits {
		if g.node.Queue() == "" {
			g.demandOf(e, &g.host, g.empty, -1)
		} else {
			g.demandOf(e, &g.own, g.later, queue)
		}
	}
}

// demandOf notes one event. Where the queue that records it has no events, it has to be
// empty; where the one that waits has none, the host waits.
func (g *gap) demandOf(e ir.Wait, list *[]string, empty map[int]bool, queue int) {
	recorder, known := g.w.c.events[g.w.entry][e.Event]
	if !known {
		g.w.fail(g.node, "nothing records event %d, which it waits for", e.Event)
	}
	prev := ""
	if e.Prev {
		prev = "Prev"
	}
	switch {
	case !g.w.c.hasEvents(recorder):
		empty[recorder] = true
		g.spare[recorder]++
	case queue < 0 || !g.w.c.hasEvents(queue):
		*list = append(*list, fmt.Sprintf("Await%s(%d)", prev, e.Event))
	default:
		*list = append(*list, fmt.Sprintf("Wait%s(%d, %d)", prev, queue, e.Event))
	}
}

// takes reports whether an event is one that may happen between two nodes.
func (g *gap) takes(e *event) bool {
	w := g.w
	if w.afterMark() && e.kind != barrierEvent && e.kind != kernelEvent {
		w.fail(g.node, "a mark, and then %s", e)
	}
	switch e.kind {
	case barrierEvent:
		if e.first {
			w.fail(g.node, "a barrier that worker 0 alone comes to")
		}
		g.barrier()
	case stopEvent:
		g.heads++
		if w.at == 0 || w.events[w.at-1].kind != barrierEvent || e.first {
			w.fail(g.node, "the workers ask whether to stop, and there is no barrier before it")
		}
	case iterationsEvent:
		if len(w.loops) == 0 || w.loops[0] != e.count {
			w.fail(g.node, "a loop of %d iterations, the plan has %v", e.count, w.loops)
		}
		w.loops = w.loops[1:]
	case markEvent:
		if !w.c.facts.Profile || e.first {
			w.fail(g.node, "a mark of a profile that there is not")
		}
	case queueEvent:
		return g.waiting(e)
	default:
		return false
	}
	return true
}

// barrier notes that all workers meet, and what the host had not waited for by then.
func (g *gap) barrier() {
	w := g.w
	g.barriers++
	w.barriers++
	w.region = nil
	if w.c.facts.Profile {
		w.marked("barrier", nil)
	}
	g.unmet = slices.Clone(g.host)
	for q := range g.empty {
		g.unmet = append(g.unmet, fmt.Sprintf("Finish(%d)", q))
	}
	for q := range w.busy {
		g.unmet = append(g.unmet, fmt.Sprintf("Finish(%d)", q))
	}
}

// waiting reports whether an event is a wait, which has to be one that is due. A queue is
// waited for as often as there are reasons.
func (g *gap) waiting(e *event) bool {
	w := g.w
	switch e.what {
	case "Finish":
		if len(e.args) == 1 && e.first {
			if q, ok := e.args[0].n.IsConst(); ok && g.spare[int(q)] > 0 {
				g.spare[int(q)]--
				delete(g.empty, int(q))
				delete(g.later, int(q))
				delete(w.busy, int(q))
				return true
			}
		}
		w.fail(g.node, "%s for no reason, or by all workers", e)
	case "Wait", "WaitPrev", "Await", "AwaitPrev":
	default:
		return false
	}
	text := e.String()
	for _, list := range []*[]string{&g.host, &g.own} {
		if i := slices.Index(*list, text); i >= 0 && e.first {
			*list = slices.Delete(*list, i, i+1)
			return true
		}
	}
	w.fail(g.node, "%s, which is not due", text)
	return false
}

// close demands that all has happened that was due.
func (g *gap) close() {
	w := g.w
	switch {
	case len(g.host)+len(g.own)+len(g.empty)+len(g.later) > 0:
		w.fail(g.node, "no wait: %v %v, nor until a queue is empty: %d", g.host, g.own, len(g.empty)+len(g.later))
	case g.barriers != w.due:
		w.fail(g.node, "%d barriers before it, not %d", g.barriers, w.due)
	case w.due > 0 && len(g.unmet) > 0:
		w.fail(g.node, "the host waits after the barrier: %v", g.unmet)
	case g.heads != w.heads:
		w.fail(g.node, "the workers ask %d times whether to stop, not %d", g.heads, w.heads)
	case len(w.loops) > 0:
		w.fail(g.node, "no loop of %d iterations", w.loops[0])
	}
	w.due, w.heads, w.waits, w.loops = 0, 0, nil, nil
}

// gapEnd demands that nothing is left to be done.
func (w *walker) gapEnd() {
	g := w.newGap(nil)
	g.demand(-1)
	for ; w.at < len(w.events) && g.takes(&w.events[w.at]); w.at++ {
	}
	g.close()
	if w.at < len(w.events) {
		w.fail(nil, "%s, and the plan has nothing left", &w.events[w.at])
	}
	for q := range w.busy {
		w.fail(nil, "the host does not wait until queue %d is empty", q)
	}
	if w.c.facts.Profile {
		w.marked("end", nil)
	}
}

// marked demands that the event before is a mark of that name, in the same loop over shares.
func (w *walker) marked(want string, share *shareLoop) {
	if !w.afterMark() || w.events[w.at-1].share != share {
		fail("no mark of %s before %s", want, w.p.at(w.events[min(w.at, len(w.events)-1)].pos))
	}
	m := w.events[w.at-1].args[0]
	got := m.String()
	if i, ok := m.n.IsConst(); m.kind == number && ok && i >= 0 && i < int64(len(w.marks)) {
		got = w.marks[i]
		w.c.marked[int(i)] = true
	} else if m.kind == name && m.text == "runtime.MarkEnd" {
		got = "end"
	}
	if got != want {
		fail("%s: a mark of %s, not of %s", w.p.at(w.events[w.at-1].pos), got, want)
	}
}
